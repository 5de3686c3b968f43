//! Conversion of single values between Python and messages.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyString};
use tidemill_wire::message::{Value, ValueType};
use tidemill_wire::schema::Field;
use tidemill_wire::{FieldType, Scalar, Schema};

use crate::error;
use crate::input::Input;

/// A scalar as a Python value, enum values by number; `None` for messages, lists and maps.
#[inline]
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &Value<'_>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(match value {
        Value::F64(value) => PyFloat::new(py, *value).into_any(),
        Value::F32(value) => PyFloat::new(py, f64::from(*value)).into_any(),
        Value::I64(value) => value.into_pyobject(py)?.into_any(),
        Value::U64(value) => value.into_pyobject(py)?.into_any(),
        Value::I32(value) | Value::Enum(value) => value.into_pyobject(py)?.into_any(),
        Value::U32(value) => value.into_pyobject(py)?.into_any(),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::String(value) => PyString::new(py, value).into_any(),
        Value::Bytes(value) => PyBytes::new(py, value).into_any(),
        Value::Message(_) | Value::List(_) | Value::Map(_) => return Ok(None),
    }))
}

/// True for fields of numbers or booleans.
pub(crate) fn is_number(kind: ValueType) -> bool {
    !matches!(kind, ValueType::String | ValueType::Bytes | ValueType::Message)
}

/// Passes a Python value as a scalar of the field's type to `take`, which does not run the
/// interpreter; enum values by name or number.
#[inline]
pub(crate) fn with_scalar<T>(
    schema: &Schema,
    field: &Field,
    value: &Bound<'_, PyAny>,
    take: impl FnOnce(Value<'_>) -> PyResult<T>,
) -> PyResult<T> {
    match field.field_type() {
        FieldType::Scalar(Scalar::String) => {
            if let Ok(text) = value.cast::<PyString>() {
                return take(Value::String(text.to_str()?));
            }
            let bytes = Input::of(value).map_err(|_| error::wrong("str", value))?;
            match std::str::from_utf8(bytes.bytes()) {
                Ok(text) => take(Value::String(text)),
                Err(_) if !field.checks_utf8() => take(Value::Bytes(bytes.bytes())),
                Err(_) => {
                    let name = field.name();
                    Err(error::Error::new_err(format!("the bytes for {name} are not UTF-8")))
                }
            }
        }
        FieldType::Scalar(Scalar::Bytes) => {
            let bytes = Input::of(value).map_err(|_| error::wrong("bytes", value))?;
            take(Value::Bytes(bytes.bytes()))
        }
        FieldType::Message(_) | FieldType::Group(_) => Err(error::wrong("a message", value)),
        _ => take(number(schema, field, value)?),
    }
}

/// A Python number as a value of the field's type.
#[inline]
pub(crate) fn number(
    schema: &Schema,
    field: &Field,
    value: &Bound<'_, PyAny>,
) -> PyResult<Value<'static>> {
    let scalar = match field.field_type() {
        FieldType::Scalar(scalar) => scalar,
        FieldType::Enum(id) => {
            let Ok(name) = value.cast::<PyString>() else {
                return Ok(Value::Enum(integer(field, value)?));
            };
            let name = name.to_str()?;
            let def = schema.enum_def(id);
            let known = def.value_by_name(name).map(|known| Value::Enum(known.number()));
            return known.ok_or_else(|| {
                error::Error::new_err(format!("{} has no value {name}", def.full_name()))
            });
        }
        FieldType::Message(_) | FieldType::Group(_) => {
            return Err(error::wrong("a message", value));
        }
    };
    Ok(match scalar {
        Scalar::Double => Value::F64(float(field, value)?),
        Scalar::Float => {
            let double = float(field, value)?;
            let single = double as f32;
            if single.is_infinite() && double.is_finite() {
                let text = format!("{double} is out of range for the float {}", field.name());
                return Err(error::range(value.py(), text));
            }
            Value::F32(single)
        }
        Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => Value::I64(integer(field, value)?),
        Scalar::Uint64 | Scalar::Fixed64 => Value::U64(integer(field, value)?),
        Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => Value::I32(integer(field, value)?),
        Scalar::Uint32 | Scalar::Fixed32 => Value::U32(integer(field, value)?),
        Scalar::Bool => match value.cast::<PyBool>() {
            Ok(value) => Value::Bool(value.is_true()),
            Err(_) => Value::Bool(integer::<i64>(field, value)? != 0),
        },
        Scalar::String | Scalar::Bytes => return Err(error::wrong("a number", value)),
    })
}

#[inline]
fn integer<'py, T>(field: &Field, value: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    value.extract().map_err(|error| explain(field, "int", value, error))
}

#[inline]
fn float(field: &Field, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value.cast_exact::<PyFloat>() {
        Ok(value) => Ok(value.value()),
        Err(_) => value.extract().map_err(|error| explain(field, "float", value, error)),
    }
}

/// Turns the error of a conversion into one that names the field; an exception raised by Python
/// code is kept.
#[cold]
fn explain(field: &Field, needed: &str, value: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = value.py();
    if error.is_instance_of::<PyOverflowError>(py) {
        let value = value.repr().map_or_else(|_| "this".to_owned(), |text| text.to_string());
        let value: String = value.chars().take(80).collect();
        return error::range(py, format!("{value} is out of range for field {}", field.name()));
    }
    if error.is_instance_of::<PyTypeError>(py) {
        let ty = value.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        let text = format!("field {} needs {needed}, not {ty}", field.name());
        return PyTypeError::new_err(text);
    }
    error
}
