//! Map fields as Python objects: the interface of dicts on the entries of a message.

use std::cell::Cell;

use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyTuple};
use tidemill_wire::FieldId;
use tidemill_wire::message::{MapMut, MapRef, Value};

use crate::dict::Dicts;
use crate::error;
use crate::fill;
use crate::key::Key;
use crate::message::PyMessage;
use crate::value;

/// A map field of a message; each use reads its current entries.
#[pyclass(name = "MapField", module = "tidemill", frozen, mapping)]
pub(crate) struct PyMap {
    message: Py<PyMessage>,
    field: FieldId,
}

/// The part of an entry to return.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Value,
    Item,
}

impl PyMap {
    pub(crate) fn new(message: &Bound<'_, PyMessage>, field: FieldId) -> PyMap {
        PyMap { message: message.clone().unbind(), field }
    }

    fn read<T>(&self, look: impl FnOnce(MapRef<'_>) -> PyResult<T>) -> PyResult<T> {
        self.message.get().read(|message| match message.get(self.field).map_err(error::access)? {
            Value::Map(map) => look(map),
            _ => Err(PyTypeError::new_err("this is no map")),
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(MapMut<'_>) -> Result<T, tidemill_wire::AccessError>,
    ) -> PyResult<T> {
        self.message.get().change(|mut message| change(message.map_mut(self.field)?))
    }

    fn key(&self, key: &Bound<'_, PyAny>) -> PyResult<Key> {
        fill::map_key(&self.message.get().shared().schema, self.field, key)
    }

    fn value<'py>(&self, py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
        match value {
            Value::Message(inner) => {
                let message = self.message.bind(py);
                let inner = PyMessage::inside(message, inner.place(), self.field)?;
                Ok(Bound::new(py, inner)?.into_any())
            }
            value => Ok(value::to_python(py, value)?.unwrap_or(py.None().into_bound(py))),
        }
    }

    fn find<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let key = self.key(key)?;
        self.read(|map| {
            let found = map.get(key.value()).map_err(error::access)?;
            found.map(|value| self.value(py, &value)).transpose()
        })
    }

    fn entry<'py>(
        &self,
        py: Python<'py>,
        at: usize,
        part: Part,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.read(|map| {
            let Some((key, value)) = map.entry(at) else { return Ok(None) };
            Ok(Some(match part {
                Part::Key => self.value(py, &key)?,
                Part::Value => self.value(py, &value)?,
                Part::Item => {
                    let item = [self.value(py, &key)?, self.value(py, &value)?];
                    PyTuple::new(py, item)?.into_any()
                }
            }))
        })
    }

    fn all<'py>(&self, py: Python<'py>, part: Part) -> PyResult<Bound<'py, PyList>> {
        let mut out = Vec::new();
        while let Some(entry) = self.entry(py, out.len(), part)? {
            out.push(entry);
        }
        PyList::new(py, out)
    }

    fn len(&self) -> PyResult<usize> {
        self.read(|map| Ok(map.len()))
    }

    fn remove(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let known = self.key(key)?;
        match self.change(|mut map| map.remove(known.value()))? {
            true => Ok(()),
            false => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for item in self.all(py, Part::Item)?.iter() {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            dict.set_item(key, value)?;
        }
        Ok(dict)
    }
}

#[pymethods]
impl PyMap {
    fn __len__(&self) -> PyResult<usize> {
        self.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.find(py, key)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.message.get().fill(|to| to.insert(self.field, key, value))
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.remove(key)
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(known) = self.key(key) else { return Ok(false) };
        self.read(|map| Ok(map.get(known.value()).map_err(error::access)?.is_some()))
    }

    fn __iter__(this: &Bound<'_, PyMap>) -> PyResult<PyKeys> {
        let len = this.get().len()?;
        Ok(PyKeys { map: this.clone().unbind(), at: Cell::new(0), len })
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let same = if let Ok(other) = other.cast::<PyMap>() {
            self.plain(py)?.eq(other.get().plain(py)?)?
        } else if let Ok(other) = other.cast::<PyDict>() {
            self.plain(py)?.eq(other)?
        } else {
            return Ok(py.NotImplemented());
        };
        Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.plain(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let dict = py.get_type::<PyDict>();
        (dict, (self.plain(py)?,)).into_pyobject(py)
    }

    /// A dict of the entries.
    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.plain(py)
    }

    /// The keys, in order of insertion.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.all(py, Part::Key)
    }

    /// The values, in the order of the keys.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.all(py, Part::Value)
    }

    /// Pairs of keys and values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.all(py, Part::Item)
    }

    /// The value of a key, or `default`.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.find(py, key)?.or(default))
    }

    /// The message of a key, created if absent.
    fn get_or_create<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = self.key(key)?;
        self.change(|mut map| map.message_mut(known.value()).map(|_| ()))?;
        self.__getitem__(py, key)
    }

    /// The value of a key, which is set to `default` if absent.
    fn setdefault<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(value) = self.find(py, key)? {
            return Ok(value);
        }
        self.__setitem__(key, default)?;
        self.__getitem__(py, key)
    }

    /// Removes the entry of a key and returns its value, or `default`.
    #[pyo3(signature = (key, *default))]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if default.len() > 1 {
            return Err(PyTypeError::new_err("pop takes a key and one default at most"));
        }
        match self.find(py, key)? {
            Some(value) => {
                self.remove(key)?;
                Ok(value)
            }
            None if default.len() == 1 => default.get_item(0),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// Removes the last entry and returns its key and value.
    fn popitem<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let last = self.len()?.checked_sub(1);
        let item = last.and_then(|last| self.entry(py, last, Part::Item).transpose());
        let item = item.transpose()?.ok_or_else(|| PyKeyError::new_err("the map is empty"))?;
        self.remove(&item.get_item(0)?)?;
        Ok(item)
    }

    /// Sets entries, from a mapping or pairs, and by name.
    #[pyo3(signature = (entries = None, **named))]
    fn update(
        &self,
        entries: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let named = named.map(|named| named.as_any());
        for all in entries.into_iter().chain(named) {
            for (key, value) in fill::pairs(all)? {
                self.__setitem__(&key, &value)?;
            }
        }
        Ok(())
    }

    /// Sets the entries of another map.
    #[pyo3(name = "MergeFrom")]
    fn merge_from(&self, entries: &Bound<'_, PyAny>) -> PyResult<()> {
        self.update(Some(entries), None)
    }

    /// Removes all entries.
    fn clear(&self) -> PyResult<()> {
        self.change(|mut map| {
            map.clear();
            Ok(())
        })
    }

    /// The entries as plain values.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let shared = self.message.get().shared();
        self.read(|map| Dicts { py, shared }.map(map))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.to_dict(py)?.repr()?.to_string())
    }
}

/// An iterator of the keys of a map; an error if entries are added or removed meanwhile.
#[pyclass(module = "tidemill", frozen)]
pub(crate) struct PyKeys {
    map: Py<PyMap>,
    at: Cell<usize>,
    len: usize,
}

// SAFETY: the cell is used only with the interpreter's lock held; the module requires the lock.
unsafe impl Sync for PyKeys {}

#[pymethods]
impl PyKeys {
    fn __iter__(this: Py<PyKeys>) -> Py<PyKeys> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let map = self.map.get();
        if self.at.get() > self.len {
            return Ok(None);
        }
        if map.len()? != self.len {
            self.at.set(usize::MAX);
            return Err(PyRuntimeError::new_err("the map changed its size while it was walked"));
        }
        let at = self.at.get();
        self.at.set(at + 1);
        map.entry(py, at, Part::Key)
    }
}

/// Makes `isinstance(map, collections.abc.MutableMapping)` true, and the like for lists.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    PyMapping::register::<PyMap>(py)?;
    let abc = py.import("collections.abc")?;
    let register = |name: &str, ty: Bound<'_, pyo3::types::PyType>| {
        abc.getattr(name)?.call_method1("register", (ty,)).map(|_| ())
    };
    register("MutableMapping", py.get_type::<PyMap>())?;
    register("MutableSequence", py.get_type::<crate::repeated::PyRepeated>())
}
