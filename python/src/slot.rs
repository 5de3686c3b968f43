//! Direct access to slots: the common cases of reading and of setting numbers, by the layout of
//! records (`wire`'s `message/layout.rs`), without a lookup of the field and its type.
//!
//! Rare cases (absent fields, extensions, setting members of oneofs, closed enums) go through the
//! interface of messages.

use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyString};
use tidemill_wire::message::record::{List, View};
use tidemill_wire::message::{Shape, Value, ValueType};
use tidemill_wire::{FieldId, MessageId, Schema};

/// The slot of a field in the records of its message.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) id: FieldId,
    pub(crate) shape: Shape,
    pub(crate) kind: ValueType,
    /// True for strings that are checked to be UTF-8.
    utf8: bool,
    /// True for a number that can be stored directly: no oneof, no closed enum.
    plain: bool,
    /// True for a list of numbers that can be appended directly.
    plain_list: bool,
    extension: bool,
    offset: u32,
    presence_offset: u32,
    presence_mask: u64,
    cell_bytes: u32,
    /// The type of its messages.
    pub(crate) record: Option<MessageId>,
}

/// The address of a record.
pub(crate) type Record = NonNull<u8>;

impl Slot {
    pub(crate) fn of(schema: &Schema, id: FieldId) -> Slot {
        let layout = schema.layouts().field(id);
        let number =
            !matches!(layout.kind, ValueType::String | ValueType::Bytes | ValueType::Message);
        let single = layout.shape == Shape::Single && !layout.extension;
        Slot {
            id,
            shape: layout.shape,
            kind: layout.kind,
            utf8: layout.utf8,
            plain: number && single && layout.oneof.is_none() && !layout.closed,
            plain_list: number
                && layout.shape == Shape::List
                && !layout.extension
                && !layout.closed,
            extension: layout.extension,
            offset: layout.offset,
            presence_offset: layout.presence_offset(),
            presence_mask: layout.presence_mask(),
            cell_bytes: layout.cell.bytes(),
            record: layout.record,
        }
    }

    /// The slot, if the field is stored; `None` for extensions.
    ///
    /// # Safety
    /// The record is of the field's message.
    #[inline(always)]
    unsafe fn find(&self, record: Record) -> Option<NonNull<u8>> {
        if self.extension {
            return None;
        }
        // SAFETY: presence words and slots are within the record.
        unsafe {
            let word: u64 = record.add(self.presence_offset as usize).cast().read();
            (word & self.presence_mask != 0).then(|| record.add(self.offset as usize))
        }
    }

    /// The value of a single field that is stored and is no message.
    ///
    /// # Safety
    /// The record is of the field's message and does not change meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn scalar<'py>(
        &self,
        py: Python<'py>,
        record: Record,
    ) -> Option<Bound<'py, PyAny>> {
        if self.shape != Shape::Single {
            return None;
        }
        // SAFETY: the caller guarantees that the record is of the field's message and does not
        // change.
        unsafe { self.value(py, self.find(record)?) }
    }

    /// The record in a single field that is stored and holds a message.
    ///
    /// # Safety
    /// As of [`Slot::scalar`].
    #[inline(always)]
    pub(crate) unsafe fn message(&self, record: Record) -> Option<(Record, MessageId)> {
        if self.shape != Shape::Single || self.kind != ValueType::Message {
            return None;
        }
        // SAFETY: the caller guarantees that the record is of the field's message; the slot holds
        // the address of another.
        Some((unsafe { self.find(record)?.cast::<Record>().read() }, self.record?))
    }

    /// The list of a repeated field that is stored.
    ///
    /// # Safety
    /// As of [`Slot::scalar`].
    #[inline(always)]
    pub(crate) unsafe fn list(&self, record: Record) -> Option<List> {
        if self.shape != Shape::List {
            return None;
        }
        // SAFETY: the caller guarantees that the record is of the field's message; the slot holds a
        // list.
        Some(unsafe { self.find(record)?.cast::<List>().read() })
    }

    /// A cell of a list.
    #[inline(always)]
    pub(crate) fn cell(&self, list: &List, at: usize) -> Option<NonNull<u8>> {
        match at < list.len as usize {
            true => NonNull::new(list.start.wrapping_add(at * self.cell_bytes as usize)),
            false => None,
        }
    }

    /// The value in a cell; `None` for messages and for strings that need not be UTF-8.
    ///
    /// # Safety
    /// The cell is one of this field.
    #[inline(always)]
    pub(crate) unsafe fn value<'py>(
        &self,
        py: Python<'py>,
        at: NonNull<u8>,
    ) -> Option<Bound<'py, PyAny>> {
        // SAFETY: a cell holds a value of its kind; views live as long as the message.
        unsafe {
            Some(match self.kind {
                ValueType::F64 => PyFloat::new(py, at.cast::<f64>().read()).into_any(),
                ValueType::F32 => PyFloat::new(py, at.cast::<f32>().read().into()).into_any(),
                ValueType::I64 => at.cast::<i64>().read().into_pyobject(py).ok()?.into_any(),
                ValueType::U64 => at.cast::<u64>().read().into_pyobject(py).ok()?.into_any(),
                ValueType::I32 | ValueType::Enum => {
                    at.cast::<i32>().read().into_pyobject(py).ok()?.into_any()
                }
                ValueType::U32 => at.cast::<u32>().read().into_pyobject(py).ok()?.into_any(),
                ValueType::Bool => PyBool::new(py, at.read() != 0).to_owned().into_any(),
                ValueType::Bytes => PyBytes::new(py, at.cast::<View>().read().bytes()).into_any(),
                ValueType::String if self.utf8 => {
                    let bytes = at.cast::<View>().read().bytes();
                    PyString::new(py, std::str::from_utf8_unchecked(bytes)).into_any()
                }
                ValueType::String | ValueType::Message => return None,
            })
        }
    }

    /// Whether [`Slot::store`] stores values of the field.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether [`Slot::append`] appends values of the field.
    #[inline(always)]
    pub(crate) fn is_plain_list(&self) -> bool {
        self.plain_list
    }

    /// Appends numbers, given by their bits, as far as the list has room.
    ///
    /// # Safety
    /// The record is of the field's message, and nothing reads it meanwhile; the field is a plain
    /// list.
    pub(crate) unsafe fn append(&self, record: Record, bits: &[u64]) {
        // SAFETY: the caller guarantees that the record is of the field's message; the stored slot
        // is a list.
        let list = unsafe {
            let Some(slot) = self.find(record) else { return };
            slot.cast::<List>().as_mut()
        };
        let bits = &bits[..bits.len().min((list.capacity - list.len) as usize)];
        let end = list.start.wrapping_add(list.len as usize * self.cell_bytes as usize);
        for (at, &value) in bits.iter().enumerate() {
            // SAFETY: `bits` is truncated to the free cells after the last.
            unsafe {
                match self.cell_bytes {
                    8 => end.cast::<u64>().add(at).write(value),
                    4 => end.cast::<u32>().add(at).write(value as u32),
                    _ => end.add(at).write(value as u8),
                }
            }
        }
        list.len += bits.len() as u32;
    }

    /// Stores a number of the field's kind; false for another, which is not stored.
    ///
    /// # Safety
    /// The record is of the field's message, and nothing reads it meanwhile; the field is plain.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, record: Record, value: &Value<'_>) -> bool {
        // SAFETY: the slot is within the record and has room for its kind.
        unsafe {
            let slot = record.add(self.offset as usize);
            match (self.kind, value) {
                (ValueType::F64, Value::F64(value)) => slot.cast().write(*value),
                (ValueType::F32, Value::F32(value)) => slot.cast().write(*value),
                (ValueType::I64, Value::I64(value)) => slot.cast().write(*value),
                (ValueType::U64, Value::U64(value)) => slot.cast().write(*value),
                (ValueType::I32, Value::I32(value)) => slot.cast().write(*value),
                (ValueType::Enum, Value::Enum(value)) => slot.cast().write(*value),
                (ValueType::U32, Value::U32(value)) => slot.cast().write(*value),
                (ValueType::Bool, Value::Bool(value)) => slot.write(u8::from(*value)),
                _ => return false,
            }
            let word = record.add(self.presence_offset as usize).cast::<u64>();
            word.write(word.read() | self.presence_mask);
        }
        true
    }
}

/// The bits of a number in a cell, in the lowest bytes; 0 for other values.
#[inline(always)]
pub(crate) fn bits(value: &Value<'_>) -> u64 {
    match *value {
        Value::F64(value) => value.to_bits(),
        Value::F32(value) => value.to_bits().into(),
        Value::I64(value) => value as u64,
        Value::U64(value) => value,
        Value::I32(value) | Value::Enum(value) => u64::from(value as u32),
        Value::U32(value) => value.into(),
        Value::Bool(value) => value.into(),
        _ => 0,
    }
}
