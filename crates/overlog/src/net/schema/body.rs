//! Tuples as their relation's message.
//!
//! A body holds the columns as fields `a1 .. an`, absent for null. A value that is not of its
//! column's type does not fit: such a tuple is sent by name and columns.

use tidemill_relation::{SeqBuilder, Value};
use tidemill_wire::{DecodeError, Decoder, FieldId, Sink, SinkResult, Writer, encode};

use super::{Column, ColumnType, ProgramSchema, Relation};
use crate::net::plain;
use crate::net::protocol::ValueFields;
use crate::net::values::{self, Slot, ValueReader};

/// Why a body was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BodyError {
    /// The program has no relation of that number.
    UnknownRelation,
    /// The bytes are not of the relation's message.
    Malformed(DecodeError),
}

impl ColumnType {
    /// True if a column of that type can hold the value in a body.
    fn holds(self, value: Value<'_>) -> bool {
        match (self, value) {
            (_, Value::Null)
            | (ColumnType::Int, Value::Int(_))
            | (ColumnType::Double, Value::Double(_))
            | (ColumnType::Bool, Value::Bool(_))
            | (ColumnType::Str, Value::Str(_))
            | (ColumnType::Bytes, Value::Bytes(_))
            | (ColumnType::Id, Value::Id(_))
            | (ColumnType::Time, Value::Time(_))
            | (ColumnType::Interval, Value::Interval(_)) => true,
            (ColumnType::Value, value) => values::fits(value),
            _ => false,
        }
    }
}

impl ProgramSchema {
    /// The body of a tuple; `None` if the relation is not known, has another number of columns,
    /// or a column cannot hold its value.
    pub fn encode_body(&self, number: u32, columns: &[Value<'_>]) -> Option<Vec<u8>> {
        let relation = self.relation(number)?;
        let typed = || relation.columns.iter().zip(columns.iter().copied());
        let holds = typed().all(|(column, value)| column.ty.holds(value));
        if relation.columns.len() != columns.len() || !holds {
            return None;
        }
        let fields = &self.fields.value;
        Some(encode::to_vec(&self.schema, |to| {
            typed().for_each(|(column, value)| put_column(to, fields, *column, value));
        }))
    }

    /// Reads a body and appends the relation's columns to `out`; appends nothing if it is refused.
    ///
    /// # Errors
    /// What is wrong with the bytes, as in [`crate::net::envelope::Envelope::decode`];
    /// [`BodyError::UnknownRelation`] for a number that the program does not have.
    pub fn decode_body(
        &self,
        number: u32,
        body: &[u8],
        out: &mut SeqBuilder,
    ) -> Result<(), BodyError> {
        let relation = self.relation(number).ok_or(BodyError::UnknownRelation)?;
        match plain::body(relation.columns.iter().map(|column| column.ty), body, out) {
            Some(()) => Ok(()),
            None => self.decode_any(relation, body, out),
        }
    }

    /// The same for bodies of any form.
    pub(super) fn decode_any(
        &self,
        relation: &Relation,
        body: &[u8],
        out: &mut SeqBuilder,
    ) -> Result<(), BodyError> {
        let columns = &relation.columns;
        let mut sink = BodySink {
            columns,
            first: columns.first().map_or(0, |column| column.field.index()),
            slots: columns.iter().map(|_| Slot::Plain(Value::Null)).collect(),
            reader: ValueReader::new(&self.fields.value),
            column: None,
        };
        Decoder::new(&self.schema)
            .decode(relation.message, body, &mut sink)
            .map_err(BodyError::Malformed)?;
        sink.slots.iter().for_each(|slot| slot.push_to(out));
        Ok(())
    }
}

fn put_column(to: &mut Writer<'_>, fields: &ValueFields, column: Column, value: Value<'_>) {
    match value {
        Value::Null => {}
        _ if column.ty == ColumnType::Value => {
            to.put_message(column.field, |to| values::put(to, fields, value));
        }
        Value::Int(value) | Value::Time(value) | Value::Interval(value) => {
            to.put_i64(column.field, value);
        }
        Value::Double(value) => to.put_f64(column.field, value),
        Value::Bool(value) => to.put_bool(column.field, value),
        Value::Str(value) => to.put_string(column.field, value),
        Value::Bytes(value) => to.put_bytes(column.field, value),
        Value::Id(value) => to.put_bytes(column.field, &value.to_be_bytes()),
        Value::List(_) | Value::Vector(_) | Value::Matrix(_) => {
            unreachable!("only columns of any type hold sequences")
        }
    }
}

struct BodySink<'f, 'a> {
    columns: &'f [Column],
    /// The index of the first column's field; the others follow it.
    first: usize,
    slots: Vec<Slot<'a>>,
    reader: ValueReader<'f, 'a>,
    /// The column whose `Value` is being read.
    column: Option<usize>,
}

impl<'a> BodySink<'_, 'a> {
    fn set(&mut self, field: FieldId, value: Value<'a>) -> SinkResult {
        self.slots[field.index() - self.first] = Slot::Plain(value);
        Ok(())
    }

    fn ty(&self, field: FieldId) -> ColumnType {
        self.columns[field.index() - self.first].ty
    }
}

impl<'a> Sink<'a> for BodySink<'_, 'a> {
    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        if self.column.is_some() {
            return self.reader.start_sub(field);
        }
        let column = field.index() - self.first;
        self.column = Some(column);
        // A repeated column is merged with its first value.
        let held = std::mem::replace(&mut self.slots[column], Slot::Plain(Value::Null));
        self.reader.resume(held);
        Ok(())
    }

    fn end_sub(&mut self, field: FieldId) -> SinkResult {
        match self.column {
            Some(column) if self.columns[column].field == field => {
                self.slots[column] = self.reader.finish();
                self.column = None;
                Ok(())
            }
            _ => self.reader.end_sub(field),
        }
    }

    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        if self.column.is_some() {
            return self.reader.i64(field, value);
        }
        let value = match self.ty(field) {
            ColumnType::Time => Value::Time(value),
            ColumnType::Interval => Value::Interval(value),
            _ => Value::Int(value),
        };
        self.set(field, value)
    }

    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        match self.column {
            Some(_) => self.reader.f64(value),
            None => self.set(field, Value::Double(value)),
        }
    }

    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        match self.column {
            Some(_) => self.reader.bool(field, value),
            None => self.set(field, Value::Bool(value)),
        }
    }

    fn string(&mut self, field: FieldId, piece: &'a str) -> SinkResult {
        match self.column {
            Some(_) => self.reader.string(piece),
            None => self.set(field, Value::Str(piece)),
        }
    }

    fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        if self.column.is_some() {
            return self.reader.bytes(field, piece);
        }
        let value = match self.ty(field) {
            ColumnType::Id => Value::Id(values::id_from_bytes(piece)?),
            _ => Value::Bytes(piece),
        };
        self.set(field, value)
    }
}
