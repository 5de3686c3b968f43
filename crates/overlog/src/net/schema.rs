//! A program's own messages: one per relation, and the identity that they give it.
//!
//! The text that `tidemill schema` prints is a whole `.proto` file:
//!
//! ```text
//! syntax = "proto3";
//! package <first file>;           `-` and whatever else no identifier has becomes `_`
//! message <relation> { ... }      sorted by message name; the n-th is relation number n
//! message Value ... Values ... Envelope ... Tuple ... Fragment ... Ack
//! ```
//! The shared messages always stand at the end, so that the file explains every byte of a
//! datagram. The identity is the first 8 bytes of the text's SHA-256, kept as a little-endian
//! number: as `fixed64` they stand on the wire as they stand in the hash. Two programs of one
//! identity agree in all that they send.
//!
//! A body holds the columns as fields `a1 .. an`, absent for null. A value that is not of its
//! column's type has no place in it: such a tuple goes by name and columns.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use tidemill_relation::{SeqBuilder, Value};
use tidemill_wire::{
    DecodeError, Decoder, FieldId, FieldType, Flow, Label, MessageId, Scalar, Schema,
    SchemaBuilder, SchemaError, Sink, Writer, encode,
};

use super::protocol::{Fields, ValueFields};
use super::values::{self, Reader, Slot};

/// The type of a column as the wire sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ColumnType {
    /// Integers, as `sint64`.
    Int,
    /// Doubles.
    Double,
    /// Truth values.
    Bool,
    /// Texts and addresses.
    Str,
    /// Bytes.
    Bytes,
    /// Ring identifiers, as 20 bytes, most significant first.
    Id,
    /// Times, as `sfixed64` of nanoseconds since the epoch.
    Time,
    /// Intervals, as `sint64` of nanoseconds.
    Interval,
    /// Lists, vectors, matrices, and columns of several types, as `Value`.
    Value,
}

impl ColumnType {
    fn field_type(self, value: MessageId) -> FieldType {
        FieldType::Scalar(match self {
            ColumnType::Int | ColumnType::Interval => Scalar::Sint64,
            ColumnType::Double => Scalar::Double,
            ColumnType::Bool => Scalar::Bool,
            ColumnType::Str => Scalar::String,
            ColumnType::Bytes | ColumnType::Id => Scalar::Bytes,
            ColumnType::Time => Scalar::Sfixed64,
            ColumnType::Value => return FieldType::Message(value),
        })
    }

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

/// One relation of a program.
#[derive(Clone, Debug)]
struct Relation {
    name: String,
    message: MessageId,
    columns: Box<[Column]>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    ty: ColumnType,
    field: FieldId,
}

/// The messages of a program; see the module.
#[derive(Clone, Debug)]
pub struct ProgramSchema {
    schema: Schema,
    fields: Fields,
    text: String,
    program: u64,
    /// Number `n` stands at `n - 1`.
    relations: Vec<Relation>,
    by_name: BTreeMap<String, u32>,
}

impl ProgramSchema {
    /// The messages of a program whose first file is `file`, a name or a path.
    ///
    /// # Errors
    /// Two relations that give one message (`a::b` beside `a__b`), a name that is no identifier.
    pub fn new<'r>(
        file: &str,
        relations: impl IntoIterator<Item = (&'r str, &'r [ColumnType])>,
    ) -> Result<ProgramSchema, SchemaError> {
        let mut sorted: Vec<(String, &str, &[ColumnType])> = relations
            .into_iter()
            .map(|(name, columns)| (name.replace("::", "__"), name, columns))
            .collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        let mut builder = SchemaBuilder::new(package(file));
        let messages: Vec<MessageId> =
            sorted.iter().map(|(message, ..)| builder.message(message)).collect();
        let fields = Fields::declare(&mut builder);
        let relations: Vec<Relation> = sorted
            .iter()
            .zip(messages)
            .map(|(&(_, name, columns), message)| {
                declare_relation(&mut builder, &fields.value, name, message, columns)
            })
            .collect();
        let schema = builder.build()?;
        let text = schema.to_string();
        let by_name = (1..).zip(&relations).map(|(number, r)| (r.name.clone(), number)).collect();
        Ok(ProgramSchema { program: identity(&text), schema, fields, text, relations, by_name })
    }

    /// The `.proto` text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The identity, as [`super::envelope::Envelope::program`] has it.
    pub fn program(&self) -> u64 {
        self.program
    }

    /// Number of relations; they are numbered from 1.
    pub fn len(&self) -> u32 {
        self.relations.len() as u32
    }

    /// True for a program without relations.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty()
    }

    /// The number of a relation.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// The name of a relation.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.relation(number).map(|relation| relation.name.as_str())
    }

    fn relation(&self, number: u32) -> Option<&Relation> {
        self.relations.get((number as usize).checked_sub(1)?)
    }

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

    /// Reads a body and appends its columns, as many as the relation has, to `out`; nothing if it
    /// is refused.
    ///
    /// # Errors
    /// What is wrong with the bytes, as in [`super::envelope::Envelope::decode`];
    /// [`BodyError::UnknownRelation`] for a number that the program does not have.
    pub fn decode_body(
        &self,
        number: u32,
        body: &[u8],
        out: &mut SeqBuilder,
    ) -> Result<(), BodyError> {
        let relation = self.relation(number).ok_or(BodyError::UnknownRelation)?;
        let columns = &relation.columns;
        let mut sink = BodySink {
            columns,
            first: columns.first().map_or(0, |column| column.field.index()),
            slots: columns.iter().map(|_| Slot::Plain(Value::Null)).collect(),
            reader: Reader::new(&self.fields.value),
            column: None,
        };
        Decoder::new(&self.schema)
            .decode(relation.message, body, &mut sink)
            .map_err(BodyError::Malformed)?;
        sink.slots.iter().for_each(|slot| slot.push_to(out));
        Ok(())
    }
}

/// Why a body was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BodyError {
    /// The program has no relation of that number.
    UnknownRelation,
    /// The bytes are not of the relation's message.
    Malformed(DecodeError),
}

/// The file's name without folders and ending, as an identifier.
fn package(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let package: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match package.as_bytes().first() {
        Some(first) if !first.is_ascii_digit() => package,
        _ => format!("_{package}"),
    }
}

fn identity(text: &str) -> u64 {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let [a, b, c, d, e, f, g, h, ..] = hash;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

fn declare_relation(
    builder: &mut SchemaBuilder,
    value: &ValueFields,
    name: &str,
    message: MessageId,
    columns: &[ColumnType],
) -> Relation {
    let columns = (1..)
        .zip(columns)
        .map(|(number, &ty)| {
            let name = format!("a{number}");
            let ty_on_wire = ty.field_type(value.message);
            Column { ty, field: builder.field(message, name, number, ty_on_wire, Label::Optional) }
        })
        .collect();
    Relation { name: name.into(), message, columns }
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
    reader: Reader<'f, 'a>,
    /// The column whose `Value` is being read.
    column: Option<usize>,
}

impl<'a> BodySink<'_, 'a> {
    fn set(&mut self, field: FieldId, value: Value<'a>) -> Flow {
        self.slots[field.index() - self.first] = Slot::Plain(value);
        Ok(())
    }

    fn ty(&self, field: FieldId) -> ColumnType {
        self.columns[field.index() - self.first].ty
    }
}

impl<'a> Sink<'a> for BodySink<'_, 'a> {
    fn start_sub(&mut self, field: FieldId) -> Flow {
        if self.column.is_some() {
            return self.reader.start_sub(field);
        }
        let column = field.index() - self.first;
        self.column = Some(column);
        // The same column again is merged with what it holds already.
        let held = std::mem::replace(&mut self.slots[column], Slot::Plain(Value::Null));
        self.reader.resume(held);
        Ok(())
    }

    fn end_sub(&mut self, field: FieldId) -> Flow {
        match self.column {
            Some(column) if self.columns[column].field == field => {
                self.slots[column] = self.reader.finish();
                self.column = None;
                Ok(())
            }
            _ => self.reader.end_sub(field),
        }
    }

    fn i64(&mut self, field: FieldId, value: i64) -> Flow {
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

    fn f64(&mut self, field: FieldId, value: f64) -> Flow {
        match self.column {
            Some(_) => self.reader.f64(value),
            None => self.set(field, Value::Double(value)),
        }
    }

    fn bool(&mut self, field: FieldId, value: bool) -> Flow {
        match self.column {
            Some(_) => self.reader.bool(field, value),
            None => self.set(field, Value::Bool(value)),
        }
    }

    fn string(&mut self, field: FieldId, piece: &'a str) -> Flow {
        match self.column {
            Some(_) => self.reader.string(piece),
            None => self.set(field, Value::Str(piece)),
        }
    }

    fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> Flow {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidemill_relation::{Id, Seq};

    const PING: &[ColumnType] = &[ColumnType::Str, ColumnType::Str, ColumnType::Int];
    const EVERY: &[ColumnType] = &[
        ColumnType::Int,
        ColumnType::Double,
        ColumnType::Bool,
        ColumnType::Str,
        ColumnType::Bytes,
        ColumnType::Id,
        ColumnType::Time,
        ColumnType::Interval,
        ColumnType::Value,
    ];

    fn schema() -> ProgramSchema {
        let relations = [("succ", PING), ("a::every", EVERY), ("aZ", &[][..])];
        ProgramSchema::new("dir.x/ping-pong.olg", relations).unwrap()
    }

    fn decode(schema: &ProgramSchema, number: u32, body: &[u8]) -> Result<Vec<String>, BodyError> {
        let mut out = SeqBuilder::new();
        schema.decode_body(number, body, &mut out)?;
        Ok(out.as_seq().iter().map(|value| format!("{value:?}")).collect())
    }

    #[test]
    fn the_text_names_every_message() {
        let schema = schema();
        let expected = "syntax = \"proto3\";

package ping_pong;

message aZ {}

message a__every {
  optional sint64 a1 = 1;
  optional double a2 = 2;
  optional bool a3 = 3;
  optional string a4 = 4;
  optional bytes a5 = 5;
  optional bytes a6 = 6;
  optional sfixed64 a7 = 7;
  optional sint64 a8 = 8;
  optional Value a9 = 9;
}

message succ {
  optional string a1 = 1;
  optional string a2 = 2;
  optional sint64 a3 = 3;
}

message Value {
  oneof v {
    sint64 i = 1;
    double d = 2;
    bool b = 3;
    string s = 4;
    bytes x = 5;
    bytes id = 6;
    sfixed64 time = 7;
    sint64 interval = 8;
    Values list = 9;
    Values vector = 10;
    Values matrix = 11;
    bool null = 12;
  }
}

message Values {
  repeated Value v = 1;
}

message Envelope {
  fixed64 program = 1;
  uint64 sequence = 2;
  repeated Tuple tuples = 3;
  Fragment fragment = 4;
  Ack ack = 5;
}

message Tuple {
  uint32 relation = 1;
  bytes body = 2;
  bool delete = 3;
  string name = 4;
  repeated Value columns = 5;
}

message Fragment {
  uint64 message = 1;
  uint32 index = 2;
  uint32 count = 3;
  uint32 total = 4;
  bytes data = 5;
}

message Ack {
  fixed64 incarnation = 1;
  fixed64 peer = 2;
  uint64 stream = 3;
  uint64 acknowledged = 4;
  uint64 cumulative = 5;
  bytes selective = 6;
  uint32 window = 7;
}
";
        assert_eq!(schema.text(), expected);
        let hash = Sha256::digest(expected.as_bytes());
        assert_eq!(schema.program().to_le_bytes(), hash[..8]);
        let names: Vec<_> = (1..=schema.len()).filter_map(|number| schema.name(number)).collect();
        assert_eq!(names, ["aZ", "a::every", "succ"]);
        assert_eq!((schema.number("a::every"), schema.number("a__every")), (Some(2), None));
    }

    #[test]
    fn packages_are_identifiers() {
        for (file, expected) in
            [("a-b.c.olg", "a_b_c"), ("2pc.olg", "_2pc"), ("x/y", "y"), ("", "_"), (".olg", "_")]
        {
            assert_eq!(package(file), expected);
        }
    }

    #[test]
    fn relations_of_one_message_are_refused() {
        let clash = ProgramSchema::new("p", [("a::b", PING), ("a__b", PING)]);
        assert_eq!(clash.unwrap_err(), SchemaError::DuplicateName("a__b".into()));
    }

    #[test]
    fn a_body_has_its_known_bytes() {
        let schema = schema();
        let succ = schema.number("succ").unwrap();
        let columns = [Value::Str("n"), Value::Null, Value::Int(-2)];
        let body = schema.encode_body(succ, &columns).unwrap();
        assert_eq!(body, b"\x0a\x01n\x18\x03");
        assert_eq!(decode(&schema, succ, &body).unwrap(), ["Str(\"n\")", "Null", "Int(-2)"]);
        // Unknown fields are skipped; the last of two counts.
        let odd = b"\x18\x05\x22\x00\x18\x03";
        assert_eq!(decode(&schema, succ, odd).unwrap(), ["Null", "Null", "Int(-2)"]);
    }

    #[test]
    fn values_of_other_types_have_no_body() {
        let schema = schema();
        let succ = schema.number("succ").unwrap();
        let good = [Value::Str("n"), Value::Str("m"), Value::Int(1)];
        assert!(schema.encode_body(succ, &good).is_some());
        for (i, bad) in [Value::Int(1), Value::Bytes(b"m"), Value::Double(1.0)].iter().enumerate() {
            let mut columns = good;
            columns[i] = *bad;
            assert_eq!(schema.encode_body(succ, &columns), None);
        }
        assert_eq!(schema.encode_body(succ, &good[..2]), None);
        assert_eq!(schema.encode_body(0, &good), None);
        assert_eq!(schema.encode_body(4, &good), None);
        assert_eq!(decode(&schema, 4, b""), Err(BodyError::UnknownRelation));
        assert_eq!(decode(&schema, 0, b""), Err(BodyError::UnknownRelation));
    }

    #[test]
    fn a_value_column_that_comes_twice_is_merged() {
        let schema = schema();
        let one = b"\x4a\x06\x4a\x04\x0a\x02\x08\x02"; // a9 = list [1]
        let mut out = SeqBuilder::new();
        schema.decode_body(2, &[&one[..], one].concat(), &mut out).unwrap();
        let list = out.as_seq().get(8).unwrap();
        assert_eq!(list.as_seq().unwrap().iter().collect::<Vec<_>>(), [Value::Int(1); 2]);
    }

    fn any_value() -> impl Strategy<Value = tidemill_relation::OwnedValue> {
        let own = |value: Value<'_>| tidemill_relation::OwnedValue::new(value);
        let leaf = prop_oneof![
            Just(own(Value::Null)),
            any::<bool>().prop_map(move |value| own(Value::Bool(value))),
            any::<i64>().prop_map(move |value| own(Value::Int(value))),
            any::<f64>().prop_map(move |value| own(Value::Double(value))),
            ".{0,8}".prop_map(move |value| own(Value::Str(&value))),
            any::<[u8; 20]>().prop_map(move |value| own(Value::Id(Id::from_be_bytes(value)))),
            any::<i64>().prop_map(move |value| own(Value::Time(value))),
        ];
        leaf.prop_recursive(4, 20, 4, move |inner| {
            prop::collection::vec(inner, 0..4).prop_map(move |elements| {
                let mut list = SeqBuilder::new();
                elements.iter().for_each(|element| list.push(element.get()));
                own(Value::List(list.as_seq()))
            })
        })
    }

    proptest! {
        #[test]
        fn bodies_come_back(
            int in any::<i64>(),
            double in any::<f64>(),
            text in ".{0,30}",
            bytes in prop::collection::vec(any::<u8>(), 0..30),
            id in any::<[u8; 20]>(),
            value in any_value(),
        ) {
            let schema = schema();
            let columns = [
                Value::Int(int),
                Value::Double(double),
                Value::Bool(int > 0),
                Value::Str(&text),
                Value::Bytes(&bytes),
                Value::Id(Id::from_be_bytes(id)),
                Value::Time(int),
                Value::Interval(int),
                value.get(),
            ];
            let body = schema.encode_body(2, &columns).unwrap();
            let expected: Vec<String> = columns.iter().map(|value| format!("{value:?}")).collect();
            prop_assert_eq!(decode(&schema, 2, &body).unwrap(), expected);
            for cut in 0..body.len() {
                let mut out = SeqBuilder::new();
                match schema.decode_body(2, &body[..cut], &mut out) {
                    Ok(()) => prop_assert_eq!(out.as_seq().len(), EVERY.len()),
                    Err(_) => prop_assert!(out.as_seq().is_empty()),
                }
            }
        }

        #[test]
        fn noise_is_a_body_or_an_error(body in prop::collection::vec(any::<u8>(), 0..100)) {
            let schema = schema();
            for number in 0..5 {
                let mut out = SeqBuilder::new();
                if schema.decode_body(number, &body, &mut out).is_err() {
                    prop_assert_eq!(out.as_seq().len(), Seq::EMPTY.len());
                }
            }
        }
    }
}
