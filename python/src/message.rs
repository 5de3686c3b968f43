//! Messages, repeated fields and maps as Python objects.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use tidemill_wire::encode::table::Encoder;
use tidemill_wire::json::{self, JsonSink, Mapping, PrintOptions};
use tidemill_wire::message::{ListRef, MapRef, Message, MessageMut, MessageRef, Value};
use tidemill_wire::{FieldId, MessageId};

use crate::batch::Codes;
use crate::convert;
use crate::error::{self, EncodeError};
use crate::path::{self, Key, Step};
use crate::schema::PyMessageType;

/// What a message can be asked besides its fields.
const METHODS: [&str; 8] =
    ["has", "clear", "which", "type", "to_dict", "to_json", "encode", "merge"];

/// The outermost message with all that is in it.
#[pyclass(module = "tidemill")]
pub(crate) struct Tree {
    pub(crate) message: Message<'static>,
    pub(crate) codes: Arc<Codes>,
}

/// A message in a tree.
#[pyclass(name = "Message", module = "tidemill", frozen)]
pub(crate) struct PyMessage {
    tree: Py<Tree>,
    path: Vec<Step>,
    ty: MessageId,
}

impl PyMessage {
    /// The outermost one.
    pub(crate) fn whole(tree: Py<Tree>, ty: MessageId) -> PyMessage {
        PyMessage { tree, path: Vec::new(), ty }
    }

    pub(crate) fn read<T>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(MessageRef<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let tree = self.tree.borrow(py);
        look(path::read(tree.message.as_ref(), &self.path)?)
    }

    /// Changes the message; what `change` reports comes back as it is.
    fn write<T>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(MessageMut<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut tree = self.tree.borrow_mut(py);
        path::write(tree.message.as_mut(), &self.path, |message| Ok(change(message)))?
    }

    fn inner(&self, py: Python<'_>, step: Step, ty: MessageId) -> PyMessage {
        let mut path = self.path.clone();
        path.push(step);
        PyMessage { tree: self.tree.clone_ref(py), path, ty }
    }

    fn same(&self, py: Python<'_>) -> PyMessage {
        PyMessage { tree: self.tree.clone_ref(py), path: self.path.clone(), ty: self.ty }
    }

    fn id(&self, py: Python<'_>, name: &str) -> PyResult<FieldId> {
        self.read(py, |message| convert::field_id(&message, name))
    }

    fn get<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let id = self.id(py, name)?;
        self.read(py, |message| match message.get(id).map_err(error::access)? {
            Value::Message(inner) => {
                let inner = self.inner(py, Step::Field(id), inner.message_type());
                Ok(Bound::new(py, inner)?.into_any())
            }
            Value::List(_) => {
                let list = PyRepeated { message: self.same(py), field: id };
                Ok(Bound::new(py, list)?.into_any())
            }
            Value::Map(_) => {
                let map = PyMap { message: self.same(py), field: id };
                Ok(Bound::new(py, map)?.into_any())
            }
            value => convert::scalar(py, &value),
        })
    }

    fn set(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self.id(py, name)?;
        let value = detached(value, &self.tree)?;
        self.write(py, |message| convert::assign(message, id, &value))
    }
}

/// A value that does not lie in the tree that is about to be changed.
fn detached<'py>(value: &Bound<'py, PyAny>, tree: &Py<Tree>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    if let Ok(message) = value.cast::<PyMessage>() {
        let message = message.get();
        if message.tree.is(tree) {
            return Ok(message.to_dict(py)?.into_any());
        }
    } else if let Ok(list) = value.cast::<PyRepeated>() {
        return Ok(list.get().to_list(py)?.into_any());
    } else if let Ok(map) = value.cast::<PyMap>() {
        return Ok(map.get().to_dict(py)?.into_any());
    } else if let Ok(list) = value.cast::<PyList>() {
        let out = PyList::empty(py);
        for element in list {
            out.append(detached(&element, tree)?)?;
        }
        return Ok(out.into_any());
    } else if let Ok(dict) = value.cast::<PyDict>() {
        let out = PyDict::new(py);
        for (key, element) in dict {
            out.set_item(key, detached(&element, tree)?)?;
        }
        return Ok(out.into_any());
    }
    Ok(value.clone())
}

#[pymethods]
impl PyMessage {
    /// Fields are looked for first: what every object has would end in an exception for each of
    /// them. Methods keep their names; a field that has one of those is read as `message["name"]`.
    fn __getattribute__<'py>(
        this: &Bound<'py, PyMessage>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, text) = (this.py(), name.to_str()?);
        if !text.starts_with("__") && !METHODS.contains(&text) {
            return this.get().get(py, text);
        }
        // SAFETY: both are objects that live, and the result is a new one, or none and an error.
        unsafe {
            let found = pyo3::ffi::PyObject_GenericGetAttr(this.as_ptr(), name.as_ptr());
            Bound::from_owned_ptr_or_err(py, found)
        }
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.get(py, name)
    }

    fn __setattr__(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.set(py, name, value)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.get(py, name)
    }

    fn __setitem__(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.set(py, name, value)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<PyMessage>() else { return Ok(false) };
        let other = other.get();
        self.read(py, |a| other.read(py, |b| Ok(a == b)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.r#type(py)?.schema.full_name(self.ty).to_owned();
        Ok(format!("<{name} {}>", self.to_dict(py)?.repr()?))
    }

    fn __dir__(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let ty = self.r#type(py)?;
        let fields = ty.schema.message(self.ty).field_defs();
        let fields = fields.iter().map(|field| field.name().to_owned());
        Ok(METHODS.map(String::from).into_iter().chain(fields).collect())
    }

    /// True if the field is set; of a list or map, if it is not empty.
    fn has(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let id = self.id(py, name)?;
        self.read(py, |message| message.has(id).map_err(error::access))
    }

    /// Takes a field away.
    fn clear(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let id = self.id(py, name)?;
        self.write(py, |mut message| message.clear(id).map_err(error::access))
    }

    /// The name of the member of the oneof that is set.
    fn which(&self, py: Python<'_>, oneof: &str) -> PyResult<Option<String>> {
        self.read(py, |message| {
            let schema = message.schema();
            let def = schema.message(message.message_type());
            let at = def.oneof_defs().iter().position(|one| one.name() == oneof);
            let Some(at) = at else {
                let text = format!("{} has no oneof {oneof}", def.full_name());
                return Err(pyo3::exceptions::PyAttributeError::new_err(text));
            };
            let which = message.which(def.oneofs()[at]).map_err(error::access)?;
            Ok(which.map(|id| schema.field(id).name().to_owned()))
        })
    }

    /// The message type.
    fn r#type(&self, py: Python<'_>) -> PyResult<PyMessageType> {
        let tree = self.tree.borrow(py);
        let (schema, codes) = (tree.message.schema().clone(), tree.codes.clone());
        Ok(PyMessageType { schema, message: self.ty, codes })
    }

    /// Plain values of the fields that are set.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.read(py, |message| convert::to_dict(py, message))
    }

    /// The message as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |message| {
            let mapping = Mapping::new(message.schema());
            let mut sink = JsonSink::new(&mapping, PrintOptions::default());
            json::print_message(&mut sink, message)
                .map_err(|error| error::Error::new_err(error.to_string()))?;
            String::from_utf8(sink.into_bytes())
                .map_err(|error| error::Error::new_err(error.to_string()))
        })
    }

    /// The serialized message; raises ``EncodeError`` if a required field is missing.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.read(py, |message| {
            let bytes = Encoder::new().check_required().encode(message);
            let bytes = bytes.map_err(|error| EncodeError::new_err(error.to_string()))?;
            Ok(PyBytes::new(py, &bytes))
        })
    }

    /// Merges a serialized message into this one.
    fn merge(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let ty = self.r#type(py)?;
        let mut other = ty.empty()?;
        other.decode_copied(data).map_err(|error| error::decode(py, &error))?;
        self.write(py, |mut message| message.merge(other.as_ref()).map_err(error::access))
    }
}

/// A repeated field.
#[pyclass(name = "RepeatedField", module = "tidemill", frozen)]
pub(crate) struct PyRepeated {
    message: PyMessage,
    field: FieldId,
}

impl PyRepeated {
    fn read<T>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(ListRef<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        self.message.read(py, |message| match message.get(self.field).map_err(error::access)? {
            Value::List(list) => look(list),
            _ => Err(PyTypeError::new_err("this is no repeated field")),
        })
    }

    /// Where an index of Python's, which may count from the end, is.
    fn at(&self, py: Python<'_>, index: isize) -> PyResult<usize> {
        let len = self.__len__(py)?;
        let at = if index < 0 { index + len as isize } else { index };
        match usize::try_from(at) {
            Ok(at) if at < len => Ok(at),
            _ => Err(PyIndexError::new_err(format!("index {index} of {len} elements"))),
        }
    }

    fn element<'py>(
        &self,
        py: Python<'py>,
        at: usize,
        value: &Value<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match value {
            Value::Message(inner) => {
                let step = Step::Element(self.field, at);
                let inner = self.message.inner(py, step, inner.message_type());
                Ok(Bound::new(py, inner)?.into_any())
            }
            value => convert::scalar(py, value),
        }
    }
}

#[pymethods]
impl PyRepeated {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |list| Ok(list.len()))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let at = self.at(py, index)?;
        self.read(py, |list| match list.get(at) {
            Some(value) => self.element(py, at, &value),
            None => Err(PyIndexError::new_err(at)),
        })
    }

    fn __setitem__(&self, py: Python<'_>, index: isize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let at = self.at(py, index)?;
        let value = detached(value, &self.message.tree)?;
        self.message.write(py, |message| convert::replace(message, self.field, at, &value))
    }

    fn __delitem__(&self, py: Python<'_>, index: isize) -> PyResult<()> {
        let at = self.at(py, index)?;
        self.message.write(py, |mut message| {
            let mut list = message.list_mut(self.field).map_err(error::access)?;
            list.remove(at).map_err(error::access)
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let out = PyList::empty(py);
        self.read(py, |list| {
            for (at, value) in list.iter().enumerate() {
                out.append(self.element(py, at, &value)?)?;
            }
            Ok(())
        })?;
        Ok(out.try_iter()?.into_any())
    }

    /// Appends an element: a value, a dict or a message.
    fn append(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = detached(value, &self.message.tree)?;
        self.message.write(py, |message| convert::push(message, self.field, &value))
    }

    /// Appends elements.
    fn extend(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values: Vec<Bound<'_, PyAny>> = values.try_iter()?.collect::<PyResult<_>>()?;
        values.iter().try_for_each(|value| self.append(py, value))
    }

    /// The elements as plain values.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.read(py, |list| convert::to_list(py, list))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.to_list(py)?.repr()?.to_string())
    }
}

/// A map field.
#[pyclass(name = "MapField", module = "tidemill", frozen)]
pub(crate) struct PyMap {
    message: PyMessage,
    field: FieldId,
}

impl PyMap {
    fn read<T>(&self, py: Python<'_>, look: impl FnOnce(MapRef<'_>) -> PyResult<T>) -> PyResult<T> {
        self.message.read(py, |message| match message.get(self.field).map_err(error::access)? {
            Value::Map(map) => look(map),
            _ => Err(PyTypeError::new_err("this is no map")),
        })
    }

    fn key(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Key> {
        let ty = self.message.r#type(py)?;
        convert::map_key(&ty.schema, self.field, key)
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        key: Key,
        value: &Value<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match value {
            Value::Message(inner) => {
                let step = Step::Entry(self.field, key);
                let inner = self.message.inner(py, step, inner.message_type());
                Ok(Bound::new(py, inner)?.into_any())
            }
            value => convert::scalar(py, value),
        }
    }
}

#[pymethods]
impl PyMap {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |map| Ok(map.len()))
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = self.key(py, key)?;
        self.read(py, |map| match map.get(known.value()).map_err(error::access)? {
            Some(value) => self.value(py, known.clone(), &value),
            None => Err(PyKeyError::new_err(key.to_string())),
        })
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let value = detached(value, &self.message.tree)?;
        self.message.write(py, |message| convert::insert(message, self.field, key, &value))
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let known = self.key(py, key)?;
        let there = self.message.write(py, |mut message| {
            let mut map = message.map_mut(self.field).map_err(error::access)?;
            map.remove(known.value()).map_err(error::access)
        })?;
        if there { Ok(()) } else { Err(PyKeyError::new_err(key.to_string())) }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(known) = self.key(py, key) else { return Ok(false) };
        self.read(py, |map| Ok(map.get(known.value()).map_err(error::access)?.is_some()))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.keys(py)?.try_iter()?.into_any())
    }

    /// The keys, in the order in which they came.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let out = PyList::empty(py);
        self.read(py, |map| {
            map.iter().try_for_each(|(key, _)| out.append(convert::scalar(py, &key)?))
        })?;
        Ok(out)
    }

    /// Pairs of keys and values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let out = PyList::empty(py);
        self.read(py, |map| {
            for (key, value) in map.iter() {
                let Some(known) = Key::of(&key) else { continue };
                let value = self.value(py, known, &value)?;
                out.append((convert::scalar(py, &key)?, value))?;
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The entries as plain values.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.read(py, |map| convert::map_to_dict(py, map))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.to_dict(py)?.repr()?.to_string())
    }
}
