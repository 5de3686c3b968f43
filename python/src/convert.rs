//! Values between Python and messages.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyString};
use tidemill_wire::message::{FieldName, ListRef, MapRef, MessageMut, MessageRef, Value};
use tidemill_wire::schema::Field;
use tidemill_wire::{FieldId, FieldType, Label, Scalar, Schema};

use crate::error;
use crate::message::PyMessage;
use crate::path::Key;

/// A scalar as Python has it; enum values by number.
pub(crate) fn scalar<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::F64(value) => value.into_pyobject(py)?.into_any(),
        Value::F32(value) => value.into_pyobject(py)?.into_any(),
        Value::I64(value) => value.into_pyobject(py)?.into_any(),
        Value::U64(value) => value.into_pyobject(py)?.into_any(),
        Value::I32(value) | Value::Enum(value) => value.into_pyobject(py)?.into_any(),
        Value::U32(value) => value.into_pyobject(py)?.into_any(),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::String(value) => PyString::new(py, value).into_any(),
        Value::Bytes(value) => PyBytes::new(py, value).into_any(),
        Value::Message(message) => to_dict(py, *message)?.into_any(),
        Value::List(list) => to_list(py, *list)?.into_any(),
        Value::Map(map) => map_to_dict(py, *map)?.into_any(),
    })
}

/// The fields that are set, as plain values.
pub(crate) fn to_dict<'py>(
    py: Python<'py>,
    message: MessageRef<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let schema = message.schema();
    for (id, value) in message.fields() {
        dict.set_item(key_of(schema.field(id)), scalar(py, &value)?)?;
    }
    Ok(dict)
}

/// The key of a field in dicts.
fn key_of(field: &Field) -> String {
    match field.extension_name() {
        Some(name) => format!("[{name}]"),
        None => field.name().to_owned(),
    }
}

/// A list of plain values.
pub(crate) fn to_list<'py>(py: Python<'py>, list: ListRef<'_>) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::empty(py);
    for value in list.iter() {
        out.append(scalar(py, &value)?)?;
    }
    Ok(out)
}

/// A dict of plain values.
pub(crate) fn map_to_dict<'py>(py: Python<'py>, map: MapRef<'_>) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (key, value) in map.iter() {
        out.set_item(scalar(py, &key)?, scalar(py, &value)?)?;
    }
    Ok(out)
}

/// Sets the fields that a dict has.
pub(crate) fn assign_fields(mut to: MessageMut<'_>, fields: &Bound<'_, PyDict>) -> PyResult<()> {
    for (name, value) in fields {
        let name: String = name.extract()?;
        let id = field_id(&to.as_ref(), &name)?;
        assign(to.reborrow(), id, &value)?;
    }
    Ok(())
}

/// The field of that name.
pub(crate) fn field_id(message: &MessageRef<'_>, name: &str) -> PyResult<FieldId> {
    let schema = message.schema();
    FieldName::find(name, schema, message.message_type()).ok_or_else(|| {
        let of = schema.full_name(message.message_type());
        pyo3::exceptions::PyAttributeError::new_err(format!("{of} has no field {name}"))
    })
}

/// Sets a field to whatever Python has for it; `None` clears it.
pub(crate) fn assign(
    mut to: MessageMut<'_>,
    id: FieldId,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    to.clear(id).map_err(error::access)?;
    if value.is_none() {
        return Ok(());
    }
    let schema = to.as_ref().schema().clone();
    let field = schema.field(id);
    if is_map(&schema, field) {
        for item in value.cast::<PyMapping>()?.items()?.iter() {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            insert(to.reborrow(), id, &key, &value)?;
        }
        return Ok(());
    }
    if field.label() == Label::Repeated {
        for element in value.try_iter()? {
            push(to.reborrow(), id, &element?)?;
        }
        return Ok(());
    }
    match field.field_type() {
        FieldType::Message(_) | FieldType::Group(_) => {
            fill(to.message_mut(id).map_err(error::access)?, value)
        }
        _ => with_scalar(&schema, field, value, |value| to.set(id, value).map_err(error::access)),
    }
}

/// Appends to a repeated field.
pub(crate) fn push(mut to: MessageMut<'_>, id: FieldId, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let schema = to.as_ref().schema().clone();
    let mut list = to.list_mut(id).map_err(error::access)?;
    match schema.field(id).field_type() {
        FieldType::Message(_) | FieldType::Group(_) => {
            fill(list.push_message().map_err(error::access)?, value)
        }
        _ => with_scalar(&schema, schema.field(id), value, |value| {
            list.push(value).map_err(error::access)
        }),
    }
}

/// Replaces an element of a repeated field.
pub(crate) fn replace(
    mut to: MessageMut<'_>,
    id: FieldId,
    index: usize,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let schema = to.as_ref().schema().clone();
    let mut list = to.list_mut(id).map_err(error::access)?;
    match schema.field(id).field_type() {
        FieldType::Message(_) | FieldType::Group(_) => {
            let mut element = list.message_mut(index).map_err(error::access)?;
            element.clear_all();
            fill(element, value)
        }
        _ => with_scalar(&schema, schema.field(id), value, |value| {
            list.set(index, value).map_err(error::access)
        }),
    }
}

/// Sets the entry of a map.
pub(crate) fn insert(
    mut to: MessageMut<'_>,
    id: FieldId,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let schema = to.as_ref().schema().clone();
    let key = map_key(&schema, id, key)?;
    let entry = entry_fields(&schema, id)?;
    let mut map = to.map_mut(id).map_err(error::access)?;
    match entry[1].field_type() {
        FieldType::Message(_) | FieldType::Group(_) => {
            let mut at = map.message_mut(key.value()).map_err(error::access)?;
            at.clear_all();
            fill(at, value)
        }
        _ => with_scalar(&schema, &entry[1], value, |value| {
            map.insert(key.value(), value).map_err(error::access)
        }),
    }
}

/// A key as the map has it.
pub(crate) fn map_key(schema: &Schema, id: FieldId, key: &Bound<'_, PyAny>) -> PyResult<Key> {
    let entry = entry_fields(schema, id)?;
    with_scalar(schema, &entry[0], key, |value| {
        Key::of(&value).ok_or_else(|| PyTypeError::new_err("this cannot be a key"))
    })
}

/// Key and value of the entries of a map.
fn entry_fields(schema: &Schema, id: FieldId) -> PyResult<&[Field]> {
    let entry = schema.field(id).field_type().message();
    let fields = entry.map(|entry| schema.message(entry).field_defs());
    fields.filter(|fields| fields.len() == 2).ok_or_else(|| PyTypeError::new_err("this is no map"))
}

pub(crate) fn is_map(schema: &Schema, field: &Field) -> bool {
    field.label() == Label::Repeated
        && field.field_type().message().is_some_and(|inner| schema.message(inner).is_map_entry())
}

/// Fills an empty message from a dict or another message.
fn fill(mut to: MessageMut<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(dict) = value.cast::<PyDict>() {
        return assign_fields(to, dict);
    }
    let Ok(message) = value.cast::<PyMessage>() else {
        return Err(wrong("a dict or a message", value));
    };
    let message = message.get();
    message.read(value.py(), |from| {
        if from.message_type() != to.message_type() || !from.schema().is_same(to.as_ref().schema())
        {
            return Err(PyTypeError::new_err(format!(
                "a message of type {} is needed",
                to.as_ref().schema().full_name(to.message_type())
            )));
        }
        to.merge(from).map_err(error::access)
    })
}

fn wrong(needed: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let ty = value.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    PyTypeError::new_err(format!("{needed} is needed, not {ty}"))
}

/// A Python value as the scalar that the field holds; enum values by name or number.
fn with_scalar<T>(
    schema: &Schema,
    field: &Field,
    value: &Bound<'_, PyAny>,
    take: impl FnOnce(Value<'_>) -> PyResult<T>,
) -> PyResult<T> {
    let scalar = match field.field_type() {
        FieldType::Scalar(scalar) => scalar,
        FieldType::Enum(id) => {
            let Ok(name) = value.extract::<String>() else {
                return take(Value::Enum(value.extract()?));
            };
            return match schema.enum_def(id).value_by_name(&name) {
                Some(known) => take(Value::Enum(known.number())),
                None => {
                    let of = schema.enum_def(id).full_name();
                    Err(PyValueError::new_err(format!("{of} has no value {name}")))
                }
            };
        }
        FieldType::Message(_) | FieldType::Group(_) => return Err(wrong("a message", value)),
    };
    match scalar {
        Scalar::Double => take(Value::F64(value.extract()?)),
        Scalar::Float => {
            let double: f64 = value.extract()?;
            let single = double as f32;
            if single.is_infinite() && double.is_finite() {
                return Err(PyOverflowError::new_err("too great for a float field"));
            }
            take(Value::F32(single))
        }
        Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => take(Value::I64(value.extract()?)),
        Scalar::Uint64 | Scalar::Fixed64 => take(Value::U64(value.extract()?)),
        Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => take(Value::I32(value.extract()?)),
        Scalar::Uint32 | Scalar::Fixed32 => take(Value::U32(value.extract()?)),
        Scalar::Bool => take(Value::Bool(value.extract()?)),
        Scalar::String => {
            let text = value.cast::<PyString>().map_err(|_| wrong("str", value))?.to_owned();
            // Not `to_str`, which the stable interface has not in all versions.
            take(Value::String(&text.to_cow()?))
        }
        Scalar::Bytes => {
            let bytes: &[u8] = value.extract().map_err(|_| wrong("bytes", value))?;
            take(Value::Bytes(bytes))
        }
    }
}
