//! The `Value` message: any value of the language, with its type.
//!
//! Writing is a walk over the value; reading keeps a stack of the lists that are open, since
//! elements are read before their list is complete. A message that sets nothing is null.

use tidemill_relation::{Id, SeqBuilder, Value};
use tidemill_wire::{FieldId, SinkResult, Stop, Writer};

use super::protocol::ValueFields;

/// How deep lists may nest on the wire: each level is two messages, of which a decoder takes 100
/// with the envelope's own.
pub const NESTING_MAX: usize = 48;

/// True if the value nests no deeper than [`NESTING_MAX`], so that peers can read it.
pub fn fits(value: Value<'_>) -> bool {
    fits_within(value, NESTING_MAX)
}

fn fits_within(value: Value<'_>, levels: usize) -> bool {
    match value.as_seq() {
        None => true,
        Some(seq) => levels > 0 && seq.iter().all(|element| fits_within(element, levels - 1)),
    }
}

/// Puts the fields of a `Value` message; the value [`fits`].
pub(crate) fn put(to: &mut Writer<'_>, fields: &ValueFields, value: Value<'_>) {
    let (field, seq) = match value {
        Value::Null => return to.put_bool(fields.null, true),
        Value::Bool(value) => return to.put_bool(fields.b, value),
        Value::Int(value) => return to.put_i64(fields.i, value),
        Value::Double(value) => return to.put_f64(fields.d, value),
        Value::Str(value) => return to.put_string(fields.s, value),
        Value::Bytes(value) => return to.put_bytes(fields.x, value),
        Value::Id(value) => return to.put_bytes(fields.id, &value.to_be_bytes()),
        Value::Time(value) => return to.put_i64(fields.time, value),
        Value::Interval(value) => return to.put_i64(fields.interval, value),
        Value::List(seq) => (fields.list, seq),
        Value::Vector(seq) => (fields.vector, seq),
        Value::Matrix(seq) => (fields.matrix, seq),
    };
    to.put_message(field, |to| {
        for element in seq {
            to.put_message(fields.element, |to| put(to, fields, element));
        }
    });
}

/// An identifier from its 20 bytes.
pub(super) fn id_from_bytes(bytes: &[u8]) -> Result<Id, Stop> {
    Ok(Id::from_be_bytes(bytes.try_into().map_err(|_| Stop)?))
}

/// The kind of an open sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SeqKind {
    List,
    Vector,
    Matrix,
}

/// A value while its message is read.
#[derive(Debug)]
pub(crate) enum Slot<'a> {
    Plain(Value<'a>),
    Seq(SeqKind, SeqBuilder),
}

impl Slot<'_> {
    /// Appends the value to `out`.
    pub(crate) fn push_to(&self, out: &mut SeqBuilder) {
        out.push(match self {
            Slot::Plain(value) => *value,
            Slot::Seq(SeqKind::List, seq) => Value::List(seq.as_seq()),
            Slot::Seq(SeqKind::Vector, seq) => Value::Vector(seq.as_seq()),
            Slot::Seq(SeqKind::Matrix, seq) => Value::Matrix(seq.as_seq()),
        });
    }
}

/// Reads `Value` messages from a decoder's events; the sink that owns it hands on what happens
/// between [`ValueReader::begin`] and [`ValueReader::finish`].
#[derive(Debug)]
pub(crate) struct ValueReader<'f, 'a> {
    fields: &'f ValueFields,
    /// The value being read, below it the lists that it is an element of.
    open: Vec<Slot<'a>>,
}

impl<'f, 'a> ValueReader<'f, 'a> {
    pub(crate) fn new(fields: &'f ValueFields) -> ValueReader<'f, 'a> {
        ValueReader { fields, open: Vec::new() }
    }

    /// A `Value` message begins.
    pub(crate) fn begin(&mut self) {
        self.open.push(Slot::Plain(Value::Null));
    }

    /// A `Value` message begins that is to be merged with one read before.
    pub(crate) fn resume(&mut self, before: Slot<'a>) {
        self.open.push(before);
    }

    /// The message is complete.
    pub(crate) fn finish(&mut self) -> Slot<'a> {
        self.open.pop().unwrap_or(Slot::Plain(Value::Null))
    }

    /// A message inside a `Value` begins: a list or an element of one.
    pub(crate) fn start_sub(&mut self, field: FieldId) -> SinkResult {
        let Some(kind) = self.seq_kind(field) else {
            self.begin();
            return Ok(());
        };
        match self.open.last_mut() {
            // The same member again: the two are merged.
            Some(Slot::Seq(open, _)) if *open == kind => {}
            Some(slot) => *slot = Slot::Seq(kind, SeqBuilder::new()),
            None => return Err(Stop),
        }
        Ok(())
    }

    /// A message inside a `Value` is complete.
    pub(crate) fn end_sub(&mut self, field: FieldId) -> SinkResult {
        if field == self.fields.element {
            let element = self.finish();
            return match self.open.last_mut() {
                Some(Slot::Seq(_, seq)) => {
                    element.push_to(seq);
                    Ok(())
                }
                _ => Err(Stop),
            };
        }
        match self.open.last() {
            Some(Slot::Seq(SeqKind::Matrix, rows)) if !is_matrix(rows) => Err(Stop),
            _ => Ok(()),
        }
    }

    pub(crate) fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        self.set(match field {
            field if field == self.fields.i => Value::Int(value),
            field if field == self.fields.time => Value::Time(value),
            _ => Value::Interval(value),
        })
    }

    pub(crate) fn f64(&mut self, value: f64) -> SinkResult {
        self.set(Value::Double(value))
    }

    pub(crate) fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        self.set(if field == self.fields.null { Value::Null } else { Value::Bool(value) })
    }

    pub(crate) fn string(&mut self, value: &'a str) -> SinkResult {
        self.set(Value::Str(value))
    }

    pub(crate) fn bytes(&mut self, field: FieldId, value: &'a [u8]) -> SinkResult {
        self.set(if field == self.fields.id {
            Value::Id(id_from_bytes(value)?)
        } else {
            Value::Bytes(value)
        })
    }

    fn set(&mut self, value: Value<'a>) -> SinkResult {
        *self.open.last_mut().ok_or(Stop)? = Slot::Plain(value);
        Ok(())
    }

    fn seq_kind(&self, field: FieldId) -> Option<SeqKind> {
        let kind = match field {
            field if field == self.fields.list => SeqKind::List,
            field if field == self.fields.vector => SeqKind::Vector,
            field if field == self.fields.matrix => SeqKind::Matrix,
            _ => return None,
        };
        Some(kind)
    }
}

/// True for vectors of equal length.
fn is_matrix(rows: &SeqBuilder) -> bool {
    let mut width = None;
    rows.as_seq().iter().all(|row| match row {
        Value::Vector(row) => *width.get_or_insert(row.len()) == row.len(),
        _ => false,
    })
}
