//! Messages as plain Python values.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tidemill_wire::message::{ListRef, MapRef, MessageRef, Value};

use crate::error;
use crate::shared::Shared;
use crate::value;

/// The maximal nesting of messages that become dicts.
const DEPTH_MAX: u32 = 200;

/// Writes dicts of messages of one schema. Finalizers may run meanwhile, so the caller holds the
/// [`Reading`](crate::tree::Reading).
pub(crate) struct Dicts<'s, 'py> {
    pub(crate) py: Python<'py>,
    pub(crate) shared: &'s Shared,
}

impl<'py> Dicts<'_, 'py> {
    /// The fields that are set.
    pub(crate) fn message(&self, message: MessageRef<'_>) -> PyResult<Bound<'py, PyDict>> {
        self.nested(message, 0)
    }

    /// The elements of a repeated field.
    pub(crate) fn list(&self, list: ListRef<'_>) -> PyResult<Bound<'py, PyList>> {
        self.elements(list, 0)
    }

    /// The entries of a map.
    pub(crate) fn map(&self, map: MapRef<'_>) -> PyResult<Bound<'py, PyDict>> {
        self.entries(map, 0)
    }

    fn nested(&self, message: MessageRef<'_>, depth: u32) -> PyResult<Bound<'py, PyDict>> {
        if depth > DEPTH_MAX {
            return Err(error::too_deep());
        }
        let dict = PyDict::new(self.py);
        for (id, value) in message.fields() {
            dict.set_item(self.shared.key(self.py, id), self.value(&value, depth)?)?;
        }
        Ok(dict)
    }

    #[inline]
    fn value(&self, value: &Value<'_>, depth: u32) -> PyResult<Bound<'py, PyAny>> {
        if let Some(scalar) = value::to_python(self.py, value)? {
            return Ok(scalar);
        }
        Ok(match value {
            Value::Message(message) => self.nested(*message, depth + 1)?.into_any(),
            Value::List(list) => self.elements(*list, depth)?.into_any(),
            Value::Map(map) => self.entries(*map, depth)?.into_any(),
            _ => self.py.None().into_bound(self.py),
        })
    }

    fn elements(&self, list: ListRef<'_>, depth: u32) -> PyResult<Bound<'py, PyList>> {
        let py = self.py;
        if let Some(values) = list.as_f64s() {
            return PyList::new(py, values);
        }
        if let Some(values) = list.as_i32s() {
            return PyList::new(py, values);
        }
        if let Some(values) = list.as_i64s() {
            return PyList::new(py, values);
        }
        if let Some(values) = list.as_u64s() {
            return PyList::new(py, values);
        }
        let mut values = Vec::with_capacity(list.len());
        for value in list.iter() {
            values.push(self.value(&value, depth)?);
        }
        PyList::new(py, values)
    }

    fn entries(&self, map: MapRef<'_>, depth: u32) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(self.py);
        for (key, value) in map.iter() {
            out.set_item(self.value(&key, depth)?, self.value(&value, depth)?)?;
        }
        Ok(out)
    }
}
