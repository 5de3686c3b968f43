//! The text of a small program, known bodies, bodies that round-trip, and hostile ones.

use super::*;
use crate::net::plain;
use proptest::prelude::*;
use tidemill_relation::value::Type;
use tidemill_relation::{Id, OwnedValue, Seq, SeqBuilder, Value};

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

fn any_value() -> impl Strategy<Value = OwnedValue> {
    let own = |value: Value<'_>| OwnedValue::new(value);
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

    /// Bodies as they are written, and with a few bytes changed: what is read in one loop, the
    /// decoder reads as well.
    #[test]
    fn plain_bodies_are_what_the_decoder_reads(
        int in any::<i64>(),
        text in ".{0,20}",
        id in any::<[u8; 20]>(),
        value in any_value(),
        nulls in any::<u16>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let schema = schema();
        let mut columns = [
            Value::Int(int),
            Value::Double(int as f64),
            Value::Bool(int > 0),
            Value::Str(&text),
            Value::Bytes(text.as_bytes()),
            Value::Id(Id::from_be_bytes(id)),
            Value::Time(int),
            Value::Interval(int),
            value.get(),
        ];
        for (at, column) in columns.iter_mut().enumerate() {
            if nulls >> at & 1 == 1 {
                *column = Value::Null;
            }
        }
        let relation = schema.relation(2).unwrap();
        let mut body = schema.encode_body(2, &columns).unwrap();
        let types = || EVERY.iter().copied();
        let has_parts = columns[8].as_seq().is_some() || columns[8].type_of() == Type::Null;
        let is_plain = plain::body(types(), &body, &mut SeqBuilder::new()).is_some();
        prop_assert!(is_plain || has_parts);
        for (at, byte) in changes {
            if !body.is_empty() {
                let at = at.index(body.len());
                body[at] = byte;
            }
        }
        let (mut read, mut decoded) = (SeqBuilder::new(), SeqBuilder::new());
        if plain::body(types(), &body, &mut read).is_some() {
            prop_assert_eq!(schema.decode_any(relation, &body, &mut decoded), Ok(()));
            let text = |row: &SeqBuilder| format!("{:?}", Vec::from_iter(row.as_seq()));
            prop_assert_eq!(text(&read), text(&decoded));
        } else {
            prop_assert!(read.as_seq().is_empty());
        }
    }
}
