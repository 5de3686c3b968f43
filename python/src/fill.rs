//! Stores plain Python values in messages.
//!
//! Conversions may run Python code (`__index__`, iterators), which may change the same message. So
//! a value is first converted and then stored; nothing is borrowed during the conversion, and
//! records keep their addresses while a [`Target`] lives.

use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};
use tidemill_wire::message::{AccessError, Message, MessageAddress, MessageMut, Shape, Value};
use tidemill_wire::schema::Field;
use tidemill_wire::{FieldId, MessageId, Schema};

use crate::error;
use crate::key::Key;
use crate::message::PyMessage;
use crate::shared::Shared;
use crate::slot::{Slot, bits};
use crate::tree::{Pin, Tree};
use crate::value::{is_number, number, with_scalar};
use crate::wellknown;

/// The maximal nesting of dicts that become messages.
const DEPTH_MAX: u32 = 200;

/// The maximal number of elements reserved in advance: the length that an object reports need not
/// be true.
const RESERVE_MAX: usize = 1 << 16;

/// A message that is being changed.
#[derive(Clone, Copy)]
pub(crate) struct Target<'t> {
    tree: &'t Arc<Tree>,
    place: MessageAddress,
    depth: u32,
}

impl<'t> Target<'t> {
    /// The message at an address with a record.
    ///
    /// # Safety
    /// The address is that of a message of the tree, which is pinned.
    pub(crate) unsafe fn new(
        tree: &'t Arc<Tree>,
        _: &'t Pin<'t>,
        place: MessageAddress,
    ) -> Target<'t> {
        Target { tree, place, depth: 0 }
    }

    fn shared(&self) -> &'t Arc<Shared> {
        self.tree.shared()
    }

    fn schema(&self) -> &'t Schema {
        &self.tree.shared().schema
    }

    fn field(&self, id: FieldId) -> &'t Field {
        self.schema().field(id)
    }

    fn shape(&self, id: FieldId) -> Shape {
        self.schema().layouts().field(id).shape
    }

    fn holds_messages(&self, id: FieldId) -> bool {
        self.field(id).field_type().message().is_some()
    }

    fn change<T>(
        &self,
        change: impl FnOnce(MessageMut<'_>) -> Result<T, AccessError>,
    ) -> PyResult<T> {
        // SAFETY: the address is of this tree, which is pinned while `self` lives.
        unsafe { self.tree.change(self.place, change) }
    }

    fn at(&self, place: MessageAddress) -> PyResult<Target<'t>> {
        if self.depth >= DEPTH_MAX {
            return Err(error::too_deep());
        }
        Ok(Target { place, depth: self.depth + 1, ..*self })
    }

    /// Sets the fields that a dict has.
    pub(crate) fn fields(&self, fields: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut entries = Entries::of(fields);
        while let Some((name, value)) = entries.next() {
            self.assign(field_id(self.shared(), self.place.message, &name)?, &value)?;
        }
        Ok(())
    }

    /// Sets a field to a Python value; `None` clears it.
    pub(crate) fn assign(&self, id: FieldId, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if value.is_none() {
            return self.change(|mut to| to.clear(id));
        }
        match self.shape(id) {
            Shape::Map => {
                let entries = pairs(value)?;
                self.change(|mut to| to.clear(id))?;
                entries.iter().try_for_each(|(key, value)| self.insert(id, key, value))
            }
            Shape::List => {
                let values = Elements::convert(self, id, value)?;
                self.change(|mut to| to.clear(id))?;
                values.append(self, id)
            }
            Shape::Single if self.holds_messages(id) => {
                let value = self.detached(value)?;
                let place = self.change(|mut to| {
                    to.clear(id)?;
                    Ok(to.message_mut(id)?.place())
                })?;
                self.at(place)?.message(&value)
            }
            Shape::Single => with_scalar(self.schema(), self.field(id), value, |value| {
                self.change(|mut to| to.set(id, value))
            }),
        }
    }

    /// Appends to a repeated field.
    pub(crate) fn push(&self, id: FieldId, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if !self.holds_messages(id) {
            return with_scalar(self.schema(), self.field(id), value, |value| {
                self.change(|mut to| to.list_mut(id)?.push(value))
            });
        }
        let value = self.detached(value)?;
        let (place, len) = self.change(|mut to| {
            let mut list = to.list_mut(id)?;
            let place = list.push_message()?.place();
            Ok((place, list.len()))
        })?;
        let filled = self.at(place).and_then(|to| to.message(&value));
        if filled.is_err() {
            // Back to the old length, unless the conversion has appended more.
            self.change(|mut to| {
                let mut list = to.list_mut(id)?;
                if list.len() == len {
                    list.truncate(len - 1);
                }
                Ok(())
            })?;
        }
        filled
    }

    /// Appends to a repeated field.
    pub(crate) fn extend(&self, id: FieldId, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = Elements::convert(self, id, values)?;
        let before = self.change(|mut to| Ok(to.list_mut(id)?.len()))?;
        let appended = values.append(self, id);
        if appended.is_err() {
            self.change(|mut to| {
                to.list_mut(id)?.truncate(before);
                Ok(())
            })?;
        }
        appended
    }

    /// Replaces an element of a repeated field.
    pub(crate) fn replace(
        &self,
        id: FieldId,
        index: usize,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if !self.holds_messages(id) {
            return with_scalar(self.schema(), self.field(id), value, |value| {
                self.change(|mut to| to.list_mut(id)?.set(index, value))
            });
        }
        let value = self.detached(value)?;
        let place = self.change(|mut to| {
            let mut list = to.list_mut(id)?;
            let mut element = list.message_mut(index)?;
            element.clear_all();
            Ok(element.place())
        })?;
        self.at(place)?.message(&value)
    }

    /// Sets the entry of a map.
    pub(crate) fn insert(
        &self,
        id: FieldId,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let schema = self.schema();
        let key = map_key(schema, id, key)?;
        let [_, of] = entry_fields(schema, id)?;
        if of.field_type().message().is_none() {
            return with_scalar(schema, of, value, |value| {
                self.change(|mut to| to.map_mut(id)?.insert(key.value(), value))
            });
        }
        let value = self.detached(value)?;
        let place = self.change(|mut to| {
            let mut map = to.map_mut(id)?;
            let mut at = map.message_mut(key.value())?;
            at.clear_all();
            Ok(at.place())
        })?;
        self.at(place)?.message(&value)
    }

    /// Merges a dict or another message into this one.
    pub(crate) fn message(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.fields(dict);
        }
        if let Ok(from) = value.cast::<PyMessage>() {
            return self.merge(from.get());
        }
        let of = self.schema().full_name(self.place.message);
        if let Some(fields) = wellknown::fields_of(of, value)? {
            return self.fields(&fields);
        }
        let Ok(entries) = pairs(value) else {
            return Err(error::wrong("a dict or a message", value));
        };
        for (name, value) in &entries {
            self.assign(field_id(self.shared(), self.place.message, name)?, value)?;
        }
        Ok(())
    }

    /// Merges a message of any tree.
    pub(crate) fn merge(&self, from: &PyMessage) -> PyResult<()> {
        let copy = match from.is_in(self.tree) {
            true => Some(from.copied()?),
            false => None,
        };
        match copy {
            Some(copy) => {
                let reading = copy.reading();
                // SAFETY: the outermost message of the copy.
                let from = unsafe { copy.at(&reading, copy.root()) };
                self.change(|mut to| to.merge(from))
            }
            None => from.read(|from| {
                self.check_type(from.schema(), from.message_type())?;
                self.change(|mut to| to.merge(from))
            }),
        }
    }

    fn check_type(&self, schema: &Schema, message: MessageId) -> PyResult<()> {
        if message == self.place.message && schema.is_same(self.schema()) {
            return Ok(());
        }
        let (needed, given) =
            (self.schema().full_name(self.place.message), schema.full_name(message));
        let text = match needed == given {
            false => format!("a message of type {needed} is needed, not {given}"),
            true => format!("the message is a {needed} of another schema"),
        };
        Err(PyTypeError::new_err(text))
    }

    /// Merges a message that belongs to no tree.
    pub(crate) fn merge_message(&self, from: &Message<'static>) -> PyResult<()> {
        self.change(|mut to| to.merge(from.as_ref()))
    }

    /// The value, copied if it is a message of this tree, which clearing might empty.
    fn detached<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match value.cast::<PyMessage>() {
            Ok(message) if message.get().is_in(self.tree) => {
                let copy = PyMessage::whole(message.get().copied()?);
                Ok(Bound::new(value.py(), copy)?.into_any())
            }
            _ => Ok(value.clone()),
        }
    }
}

/// Elements for a repeated field, converted as far as possible before anything changes.
enum Elements<'py> {
    /// Numbers of a plain list, as bits.
    Numbers(Slot, Vec<u64>),
    Values(Vec<Value<'static>>),
    Others(Vec<Bound<'py, PyAny>>),
}

impl<'py> Elements<'py> {
    fn convert(
        to: &Target<'_>,
        id: FieldId,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Elements<'py>> {
        let (schema, field, slot) = (to.schema(), to.field(id), Slot::of(to.schema(), id));
        if !is_number(slot.kind) {
            return Ok(Elements::Others(collect(values)?));
        }
        if !slot.is_plain_list() {
            let mut numbers = Vec::new();
            each(values, |value| {
                numbers.push(number(schema, field, value)?);
                Ok(())
            })?;
            return Ok(Elements::Values(numbers));
        }
        let mut numbers = Vec::with_capacity(values.len().unwrap_or(0).min(RESERVE_MAX));
        each(values, |value| {
            numbers.push(bits(&number(schema, field, value)?));
            Ok(())
        })?;
        Ok(Elements::Numbers(slot, numbers))
    }

    fn append(self, to: &Target<'_>, id: FieldId) -> PyResult<()> {
        match self {
            Elements::Numbers(_, numbers) if numbers.is_empty() => Ok(()),
            Elements::Numbers(slot, numbers) => {
                to.change(|mut to| to.list_mut(id)?.reserve(numbers.len()))?;
                to.tree.check_writable()?;
                if let Some(record) = to.place.record {
                    // SAFETY: the record is of the field's message, and nothing reads it.
                    unsafe { slot.append(record, &numbers) };
                }
                Ok(())
            }
            Elements::Values(numbers) => to.change(|mut to| {
                let mut list = to.list_mut(id)?;
                numbers.into_iter().try_for_each(|value| list.push(value))
            }),
            Elements::Others(values) => values.iter().try_for_each(|value| to.push(id, value)),
        }
    }
}

/// Passes each element of an iterable to `take`; those of lists by index, as `take` may change the
/// list.
#[inline]
fn each<'py>(
    values: &Bound<'py, PyAny>,
    mut take: impl FnMut(&Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    if let Ok(list) = values.cast_exact::<PyList>() {
        let mut at = 0;
        while at < list.len() {
            take(&list.get_item(at)?)?;
            at += 1;
        }
        return Ok(());
    }
    values.try_iter()?.try_for_each(|value| take(&value?))
}

/// The field of that name.
pub(crate) fn field_id(
    shared: &Shared,
    message: MessageId,
    name: &Bound<'_, PyAny>,
) -> PyResult<FieldId> {
    let Ok(name) = name.cast::<PyString>() else {
        return Err(error::wrong("the name of a field", name));
    };
    let found = shared.of(name.py(), message).names.field(shared, message, name)?;
    found.ok_or_else(|| no_field(&shared.schema, message, name))
}

#[cold]
pub(crate) fn no_field(schema: &Schema, message: MessageId, name: &Bound<'_, PyString>) -> PyErr {
    let of = schema.full_name(message);
    PyAttributeError::new_err(format!("{of} has no field {name}"))
}

/// A Python key as a key of the map.
pub(crate) fn map_key(schema: &Schema, id: FieldId, key: &Bound<'_, PyAny>) -> PyResult<Key> {
    let [of, _] = entry_fields(schema, id)?;
    with_scalar(schema, of, key, |value| {
        Key::of(&value).ok_or_else(|| PyTypeError::new_err("this cannot be a key"))
    })
}

/// The key and value fields of the entries of a map.
pub(crate) fn entry_fields(schema: &Schema, id: FieldId) -> PyResult<[&Field; 2]> {
    let entry = schema.field(id).field_type().message();
    match entry.map(|entry| schema.message(entry).field_defs()) {
        Some([key, value]) => Ok([key, value]),
        _ => Err(PyTypeError::new_err("this is no map")),
    }
}

/// The elements of any iterable.
pub(crate) fn collect<'py>(values: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(list) = values.cast_exact::<PyList>() {
        return Ok(list.iter().collect());
    }
    if let Ok(tuple) = values.cast_exact::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    values.try_iter()?.collect()
}

/// Keys and values of a mapping, or of an iterable of pairs.
pub(crate) fn pairs<'py>(
    value: &Bound<'py, PyAny>,
) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let mut out = Vec::new();
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut entries = Entries::of(dict);
        while let Some(entry) = entries.next() {
            out.push(entry);
        }
    } else if let Ok(mapping) = value.cast::<PyMapping>() {
        for item in mapping.items()?.iter() {
            out.push(item.extract()?);
        }
    } else {
        for item in value.try_iter()? {
            out.push(item?.extract()?);
        }
    }
    Ok(out)
}

/// The entries of a dict. Code that runs meanwhile may change it; then changed entries may be
/// included or not.
struct Entries<'d, 'py> {
    dict: &'d Bound<'py, PyDict>,
    at: ffi::Py_ssize_t,
}

impl<'d, 'py> Entries<'d, 'py> {
    fn of(dict: &'d Bound<'py, PyDict>) -> Entries<'d, 'py> {
        Entries { dict, at: 0 }
    }

    fn next(&mut self) -> Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = self.dict.py();
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the dict lives; `PyDict_Next` checks the position at each step, and the borrowed
        // references are owned here before anything else runs.
        unsafe {
            if ffi::PyDict_Next(self.dict.as_ptr(), &mut self.at, &mut key, &mut value) == 0 {
                return None;
            }
            Some((Bound::from_borrowed_ptr(py, key), Bound::from_borrowed_ptr(py, value)))
        }
    }
}
