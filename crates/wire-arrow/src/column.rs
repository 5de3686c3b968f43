//! One column while rows are appended to it.
//!
//! A column is padded lazily: rows without a value are appended as absent just before the next
//! value, or at the end of the batch. So a row costs only the fields that it has.

use tidemill_wire::{EnumId, FieldId};

use crate::bits::Bits;

/// The cardinality of a field in its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    One { nullable: bool },
    List,
    Map,
}

/// A field at one position of the tree of messages.
pub(crate) struct Column {
    pub(crate) field: FieldId,
    pub(crate) rows: Rows,
    pub(crate) items: Items,
    /// The oneof of the record that it is a member of.
    pub(crate) oneof: Option<usize>,
}

/// The items of each row.
pub(crate) struct Rows {
    pub(crate) form: Form,
    /// By row: whether it has an item; kept for nullable columns.
    pub(crate) present: Bits,
    /// By row: the index of the first item of its list; kept for lists and maps.
    pub(crate) starts: Vec<i32>,
}

/// The items of a column.
pub(crate) enum Items {
    I64(Vec<i64>),
    U64(Vec<u64>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    F64(Vec<f64>),
    F32(Vec<f32>),
    Bool(Bits),
    Enum(EnumId, Vec<i32>),
    Text(Texts, Checked),
    Bytes(Texts),
    /// Rows of that record, which has their number.
    Record(usize),
}

/// Whether the strings of a field are checked to be UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Checked {
    ByDecoder,
    No,
}

/// Strings or bytes, concatenated.
#[derive(Default)]
pub(crate) struct Texts {
    pub(crate) data: Vec<u8>,
    /// By item: its end.
    pub(crate) ends: Vec<i32>,
}

/// The error of a batch with a column of more than 2 GiB of text, or of more than 2^31 list items.
#[derive(Debug)]
pub(crate) struct Full;

/// An end in the type of Arrow.
pub(crate) fn end(length: usize) -> Result<i32, Full> {
    i32::try_from(length).map_err(|_| Full)
}

impl Texts {
    pub(crate) fn pad(&mut self, count: usize) {
        let end = self.ends.last().copied().unwrap_or(0);
        self.ends.resize(self.ends.len().max(count), end);
    }

    pub(crate) fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.data.truncate(self.ends.last().copied().unwrap_or(0) as usize);
    }

    /// Ends the item whose pieces were appended to the data.
    #[inline]
    pub(crate) fn close(&mut self) -> Result<(), Full> {
        self.ends.push(end(self.data.len())?);
        Ok(())
    }
}

impl Rows {
    pub(crate) fn new(form: Form) -> Rows {
        Rows { form, present: Bits::default(), starts: Vec::new() }
    }

    /// Records that `row` gets an item, after `count` others.
    #[inline(always)]
    pub(crate) fn enter(&mut self, row: usize, count: usize) -> Result<(), Full> {
        match self.form {
            Form::One { nullable: true } => self.present.set(row, true),
            Form::One { nullable: false } => {}
            Form::List | Form::Map => {
                if self.starts.len() <= row {
                    let start = end(count)?;
                    self.starts.resize(row + 1, start);
                }
            }
        }
        Ok(())
    }
}

impl Items {
    /// The number of items; `None` for records, whose caller knows it.
    pub(crate) fn len(&self) -> Option<usize> {
        Some(match self {
            Items::I64(values) => values.len(),
            Items::U64(values) => values.len(),
            Items::I32(values) | Items::Enum(_, values) => values.len(),
            Items::U32(values) => values.len(),
            Items::F64(values) => values.len(),
            Items::F32(values) => values.len(),
            Items::Bool(values) => values.len(),
            Items::Text(texts, _) | Items::Bytes(texts) => texts.ends.len(),
            Items::Record(_) => return None,
        })
    }

    /// Appends defaults until there are `count`.
    pub(crate) fn pad(&mut self, count: usize) {
        match self {
            Items::I64(values) => pad(values, count),
            Items::U64(values) => pad(values, count),
            Items::I32(values) | Items::Enum(_, values) => pad(values, count),
            Items::U32(values) => pad(values, count),
            Items::F64(values) => pad(values, count),
            Items::F32(values) => pad(values, count),
            Items::Bool(values) => values.pad(count),
            Items::Text(texts, _) | Items::Bytes(texts) => texts.pad(count),
            Items::Record(_) => {}
        }
    }

    pub(crate) fn truncate(&mut self, count: usize) {
        match self {
            Items::I64(values) => values.truncate(count),
            Items::U64(values) => values.truncate(count),
            Items::I32(values) | Items::Enum(_, values) => values.truncate(count),
            Items::U32(values) => values.truncate(count),
            Items::F64(values) => values.truncate(count),
            Items::F32(values) => values.truncate(count),
            Items::Bool(values) => values.truncate(count),
            Items::Text(texts, _) | Items::Bytes(texts) => texts.truncate(count),
            Items::Record(_) => {}
        }
    }
}

fn pad<T: Clone + Default>(values: &mut Vec<T>, count: usize) {
    values.resize(values.len().max(count), T::default());
}

/// Appends a value for `row`, or replaces the row's earlier one.
#[inline]
pub(crate) fn put<T: Copy + Default>(
    rows: &mut Rows,
    values: &mut Vec<T>,
    row: usize,
    value: T,
) -> Result<(), Full> {
    rows.enter(row, values.len())?;
    if values.len() != row && matches!(rows.form, Form::One { .. }) {
        put_apart(values, row, value);
    } else {
        values.push(value);
    }
    Ok(())
}

/// Rows before it lack a value, or this one has a value already.
#[inline(never)]
fn put_apart<T: Copy + Default>(values: &mut Vec<T>, row: usize, value: T) {
    if values.len() <= row {
        values.resize(row + 1, T::default());
    }
    values[row] = value;
}
