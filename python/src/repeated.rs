//! Repeated fields as Python objects: the interface of lists on the elements of a message.

use std::cell::Cell;

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple};
use tidemill_wire::FieldId;
use tidemill_wire::message::{ListMut, ListRef, Value, ValueType};

use crate::dict::Dicts;
use crate::error;
use crate::fill;
use crate::message::PyMessage;
use crate::slot::Slot;
use crate::value;

/// A repeated field of a message; each use reads its current elements.
#[pyclass(name = "RepeatedField", module = "tidemill", frozen, sequence)]
pub(crate) struct PyRepeated {
    message: Py<PyMessage>,
    field: FieldId,
    slot: Slot,
}

impl PyRepeated {
    #[inline]
    pub(crate) fn new(message: &Bound<'_, PyMessage>, slot: Slot) -> PyRepeated {
        PyRepeated { message: message.clone().unbind(), field: slot.id, slot }
    }

    pub(crate) fn is_field(&self, message: &PyMessage, field: FieldId) -> bool {
        self.field == field && self.message.get().is_same(message)
    }

    #[inline]
    fn read<T>(&self, look: impl FnOnce(ListRef<'_>) -> PyResult<T>) -> PyResult<T> {
        self.message.get().read(|message| match message.get(self.field).map_err(error::access)? {
            Value::List(list) => look(list),
            _ => Err(PyTypeError::new_err("this is no repeated field")),
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(ListMut<'_>) -> Result<T, tidemill_wire::AccessError>,
    ) -> PyResult<T> {
        self.message.get().change(|mut message| change(message.list_mut(self.field)?))
    }

    #[inline]
    fn len(&self) -> PyResult<usize> {
        if let Some(record) = self.message.get().record() {
            // SAFETY: the record is of the field's message.
            if let Some(list) = unsafe { self.slot.list(record) } {
                return Ok(list.len as usize);
            }
        }
        self.read(|list| Ok(list.len()))
    }

    fn holds_messages(&self) -> bool {
        let schema = &self.message.get().shared().schema;
        schema.field(self.field).field_type().message().is_some()
    }

    /// The position of a Python index, which may count from the end.
    fn place(&self, index: isize) -> PyResult<usize> {
        let len = self.len()?;
        let at = if index < 0 { index.saturating_add_unsigned(len) } else { index };
        match usize::try_from(at) {
            Ok(at) if at < len => Ok(at),
            _ => Err(PyIndexError::new_err(format!("index {index} of {len} elements"))),
        }
    }

    /// The element at an index, if there is one.
    #[inline]
    fn element<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let message = self.message.get();
        if let Some(record) = message.record() {
            // SAFETY: the record is of the field's message, and nothing else runs during the read.
            if let Some(list) = unsafe { self.slot.list(record) } {
                let Some(cell) = self.slot.cell(&list, at) else { return Ok(None) };
                if let (ValueType::Message, Some(ty)) = (self.slot.kind, self.slot.record) {
                    // SAFETY: cells of such lists hold addresses of records.
                    let inner = message.element(unsafe { cell.cast().read() }, ty);
                    return Ok(Some(Bound::new(py, inner)?.into_any()));
                }
                // SAFETY: the cell is one of the field's list.
                if let Some(value) = unsafe { self.slot.value(py, cell) } {
                    return Ok(Some(value));
                }
            }
        }
        self.read(|list| match list.get(at) {
            None => Ok(None),
            Some(Value::Message(inner)) => {
                let message = self.message.bind(py);
                let inner = PyMessage::inside(message, inner.place(), self.field)?;
                Ok(Some(Bound::new(py, inner)?.into_any()))
            }
            Some(value) => value::to_python(py, &value),
        })
    }

    fn elements<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut out = Vec::with_capacity(self.len()?);
        while let Some(element) = self.element(py, out.len())? {
            out.push(element);
        }
        Ok(out)
    }

    /// Removes the elements at these ascending indexes.
    fn remove_all(&self, places: &[usize]) -> PyResult<()> {
        let Some(&first) = places.first() else {
            return self.message.get().make().map(|_| ());
        };
        self.change(|mut list| {
            let (mut kept, mut next) = (first, 0);
            for at in first..list.len() {
                if places.get(next) == Some(&at) {
                    next += 1;
                } else {
                    list.swap(kept, at)?;
                    kept += 1;
                }
            }
            list.truncate(kept);
            Ok(())
        })
    }

    /// Moves the elements from `from` on to before index `at`.
    fn move_up(&self, at: usize, from: usize) -> PyResult<()> {
        self.change(|mut list| {
            let len = list.len();
            if at < from && from < len {
                reverse(&mut list, at, from)?;
                reverse(&mut list, from, len)?;
                reverse(&mut list, at, len)?;
            }
            Ok(())
        })
    }

    fn find(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        from: usize,
    ) -> PyResult<Option<usize>> {
        let mut at = from;
        while let Some(element) = self.element(py, at)? {
            if element.eq(value)? {
                return Ok(Some(at));
            }
            at += 1;
        }
        Ok(None)
    }

    /// Permutes the elements to the order of `order`, which has each index once.
    fn permute(&self, order: &[usize]) -> PyResult<()> {
        self.change(|mut list| {
            if list.len() != order.len() {
                return Ok(());
            }
            // The current index of each original element, and its inverse.
            let mut now: Vec<usize> = (0..order.len()).collect();
            let mut holds: Vec<usize> = (0..order.len()).collect();
            for (at, &wanted) in order.iter().enumerate() {
                let from = now[wanted];
                list.swap(at, from)?;
                let moved = holds[at];
                (holds[at], holds[from]) = (wanted, moved);
                (now[wanted], now[moved]) = (at, from);
            }
            Ok(())
        })
    }
}

fn reverse(
    list: &mut ListMut<'_>,
    from: usize,
    end: usize,
) -> Result<(), tidemill_wire::AccessError> {
    (0..(end - from) / 2).try_for_each(|i| list.swap(from + i, end - 1 - i))
}

/// The indexes of a slice, in its order.
fn places(slice: &Bound<'_, PySlice>, len: usize) -> PyResult<Vec<usize>> {
    let len = isize::try_from(len).map_err(|_| PyIndexError::new_err("too long"))?;
    let found = slice.indices(len)?;
    let place = |i: usize| found.start.saturating_add((i as isize).saturating_mul(found.step));
    Ok((0..found.slicelength).filter_map(|i| usize::try_from(place(i)).ok()).collect())
}

#[pymethods]
impl PyRepeated {
    fn __len__(&self) -> PyResult<usize> {
        self.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let mut out = Vec::new();
            for at in places(slice, self.len()?)? {
                out.extend(self.element(py, at)?);
            }
            return Ok(PyList::new(py, out)?.into_any());
        }
        let index: isize = index.extract()?;
        let at = self.place(index)?;
        self.element(py, at)?.ok_or_else(|| PyIndexError::new_err(index))
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let Ok(slice) = index.cast::<PySlice>() else {
            let at = self.place(index.extract()?)?;
            return self.message.get().fill(|to| to.replace(self.field, at, value));
        };
        let values = fill::collect(value)?;
        let at = places(slice, self.len()?)?;
        let step = slice.indices(self.len()? as isize)?;
        if step.step != 1 {
            if values.len() != at.len() {
                let text = format!("{} elements for a slice of {}", values.len(), at.len());
                return Err(PyValueError::new_err(text));
            }
            let mut pairs = at.iter().zip(&values);
            return pairs.try_for_each(|(&at, value)| {
                self.message.get().fill(|to| to.replace(self.field, at, value))
            });
        }
        // The new elements are first appended, so that a value that does not fit changes nothing.
        let before = self.len()?;
        let values = PyList::new(py, values)?;
        self.extend(&values)?;
        let start = at.first().copied().unwrap_or(step.start.max(0) as usize).min(before);
        self.move_up(start, before)?;
        let added = self.len()? - before;
        let old: Vec<usize> = at.iter().map(|at| at + added).collect();
        self.remove_all(&old)
    }

    fn __delitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let mut at = places(slice, self.len()?)?;
            at.sort_unstable();
            return self.remove_all(&at);
        }
        let at = self.place(index.extract()?)?;
        self.change(|mut list| list.remove(at))
    }

    fn __iter__(this: &Bound<'_, PyRepeated>) -> PyElements {
        PyElements { list: this.clone().unbind(), at: Cell::new(0) }
    }

    fn __contains__(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.find(py, value, 0)?.is_some())
    }

    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let same = match (op, other.cast::<PyRepeated>(), other.cast::<PyList>()) {
            (CompareOp::Eq | CompareOp::Ne, Ok(other), _) => {
                PyList::new(py, self.elements(py)?)?
                    .eq(PyList::new(py, other.get().elements(py)?)?)?
            }
            (CompareOp::Eq | CompareOp::Ne, _, Ok(other)) => {
                PyList::new(py, self.elements(py)?)?.eq(other)?
            }
            _ => return Ok(py.NotImplemented()),
        };
        let result = same == matches!(op, CompareOp::Eq);
        Ok(result.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __iadd__(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        self.extend(values)
    }

    fn __add__<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut all = self.elements(py)?;
        all.extend(fill::collect(values)?);
        PyList::new(py, all)
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.elements(py)?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let list = py.get_type::<PyList>();
        (list, (self.__copy__(py)?,)).into_pyobject(py)
    }

    /// A list of the elements.
    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.__copy__(py)
    }

    /// Appends an element: a value, a dict or a message.
    fn append(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.message.get().fill(|to| to.push(self.field, value))
    }

    /// Appends a new message with those fields, and returns it.
    #[pyo3(signature = (**fields))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        fields: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !self.holds_messages() {
            return Err(PyTypeError::new_err("`add` is for repeated messages; use `append`"));
        }
        let empty = PyDict::new(py);
        self.append(fields.unwrap_or(&empty))?;
        let last = self.len()?.saturating_sub(1);
        self.element(py, last)?.ok_or_else(|| PyIndexError::new_err(last))
    }

    /// Appends elements.
    fn extend(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        if values.is_none() {
            return Ok(());
        }
        self.message.get().fill(|to| to.extend(self.field, values))
    }

    /// Appends the elements of another field.
    #[pyo3(name = "MergeFrom")]
    fn merge_from(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        self.extend(values)
    }

    /// Inserts an element before the one at an index.
    fn insert(&self, index: isize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let before = self.len()?;
        let at = if index < 0 { index.saturating_add_unsigned(before).max(0) } else { index };
        self.append(value)?;
        let last = self.len()?.saturating_sub(1);
        self.move_up((at as usize).min(before), last)
    }

    /// Removes an element and returns it: the last one, or that at an index.
    #[pyo3(signature = (index = -1))]
    fn pop<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let at = self.place(index)?;
        let element = self.element(py, at)?.ok_or_else(|| PyIndexError::new_err(index))?;
        self.change(|mut list| list.remove(at))?;
        Ok(element)
    }

    /// Removes the first element that is equal to a value.
    fn remove(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.find(py, value, 0)? {
            Some(at) => self.change(|mut list| list.remove(at)),
            None => Err(PyValueError::new_err("the value is not in the field")),
        }
    }

    /// The index of the first element that is equal to a value, between `start` and `stop`.
    #[pyo3(signature = (value, start = 0, stop = isize::MAX))]
    fn index(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        start: isize,
        stop: isize,
    ) -> PyResult<usize> {
        let len = self.len()?;
        let at = |index: isize| match index < 0 {
            true => index.saturating_add_unsigned(len).max(0) as usize,
            false => index as usize,
        };
        let found = self.find(py, value, at(start))?.filter(|&found| found < at(stop));
        found.ok_or_else(|| PyValueError::new_err("the value is not in the field"))
    }

    /// The number of elements that are equal to a value.
    fn count(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (mut from, mut count) = (0, 0);
        while let Some(at) = self.find(py, value, from)? {
            (from, count) = (at + 1, count + 1);
        }
        Ok(count)
    }

    /// Removes all elements.
    fn clear(&self) -> PyResult<()> {
        if self.len()? == 0 {
            return Ok(());
        }
        self.change(|mut list| {
            list.clear();
            Ok(())
        })
    }

    /// Reverses the order.
    fn reverse(&self) -> PyResult<()> {
        self.change(|mut list| {
            let len = list.len();
            reverse(&mut list, 0, len)
        })
    }

    /// Sorts as ``list.sort`` does.
    #[pyo3(signature = (*, key = None, reverse = false))]
    fn sort(&self, py: Python<'_>, key: Option<&Bound<'_, PyAny>>, reverse: bool) -> PyResult<()> {
        let mut keys = self.elements(py)?;
        if let Some(key) = key {
            keys = keys.iter().map(|element| key.call1((element,))).collect::<PyResult<_>>()?;
        }
        let by = PyList::new(py, keys)?;
        let order = PyList::new(py, 0..by.len())?;
        let options = PyDict::new(py);
        options.set_item("key", by.getattr("__getitem__")?)?;
        options.set_item("reverse", reverse)?;
        order.call_method("sort", (), Some(&options))?;
        if self.len()? != order.len() {
            return Err(PyValueError::new_err("the field was changed while it was sorted"));
        }
        match order.len() {
            0 | 1 => Ok(()),
            _ => self.permute(&order.extract::<Vec<usize>>()?),
        }
    }

    /// The elements as plain values.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let shared = self.message.get().shared();
        self.read(|list| Dicts { py, shared }.list(list))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.to_list(py)?.repr()?.to_string())
    }
}

/// An iterator of the elements of a repeated field, each read when it is reached.
#[pyclass(module = "tidemill", frozen)]
pub(crate) struct PyElements {
    list: Py<PyRepeated>,
    at: Cell<usize>,
}

// SAFETY: the cell is used only with the interpreter's lock held; the module requires the lock.
unsafe impl Sync for PyElements {}

#[pymethods]
impl PyElements {
    fn __iter__(this: Py<PyElements>) -> Py<PyElements> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let at = self.at.get();
        if at == usize::MAX {
            return Ok(None);
        }
        let element = self.list.get().element(py, at)?;
        self.at.set(if element.is_some() { at + 1 } else { usize::MAX });
        Ok(element)
    }

    fn __length_hint__(&self) -> PyResult<usize> {
        Ok(self.list.get().len()?.saturating_sub(self.at.get()))
    }
}
