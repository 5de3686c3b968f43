//! The tuples of an envelope, the content of a datagram or frame. The rest of it is the fabric's
//! ([`tidemill_fabric::head`]).

use tidemill_relation::{SeqBuilder, Value};
use tidemill_wire::{DecodeError, Decoder, FieldId, Sink, SinkResult, Writer, encode};

use super::protocol::{Fields, PROTOCOL};
use super::schema::ProgramSchema;
use super::values::{self, ValueReader};

/// The part of an envelope that concerns tuples.
#[derive(Clone, Debug, Default)]
pub struct Envelope<'a> {
    /// The identity of the sender's program, 0 if it does not say.
    pub program: u64,
    /// The tuples.
    pub tuples: Vec<Tuple<'a>>,
}

/// A tuple as received: either `relation` and `body`, or `name` and `columns`.
#[derive(Clone, Debug, Default)]
pub struct Tuple<'a> {
    /// The relation's number in the program, from 1; 0 if `name` says which.
    pub relation: u32,
    /// The columns as the relation's message.
    pub body: &'a [u8],
    /// Delete the row instead of inserting it.
    pub delete: bool,
    /// The relation's name.
    pub name: &'a str,
    /// The columns as values.
    pub columns: SeqBuilder,
}

/// A tuple to be sent.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// For a peer that runs the same program.
    Body {
        /// The relation's number.
        relation: u32,
        /// The relation's message, encoded.
        body: &'a [u8],
    },
    /// For any other.
    Columns {
        /// The relation's name.
        name: &'a str,
        /// The columns; each one [`values::fits`].
        columns: &'a [Value<'a>],
    },
}

/// Appends an envelope's field that holds one tuple.
pub fn append_tuple(out: &mut Vec<u8>, content: Content<'_>, delete: bool) {
    let fields = &PROTOCOL.fields;
    encode::append(&PROTOCOL.schema, out, |to| {
        to.put_message(fields.envelope.tuples, |to| put_tuple(to, fields, content, delete));
    });
}

fn put_tuple(to: &mut Writer<'_>, fields: &Fields, content: Content<'_>, delete: bool) {
    let tuple = &fields.tuple;
    match content {
        Content::Body { relation, body } => {
            to.put_u32(tuple.relation, relation);
            to.put_bytes(tuple.body, body);
            to.put_bool(tuple.delete, delete);
        }
        Content::Columns { name, columns } => {
            to.put_bool(tuple.delete, delete);
            to.put_string(tuple.name, name);
            for &value in columns {
                to.put_message(tuple.columns, |to| values::put(to, &fields.value, value));
            }
        }
    }
}

impl<'a> Envelope<'a> {
    /// Reads an envelope. Fields that are not known are skipped; of a field that comes twice the
    /// later one counts, and tuples add up.
    ///
    /// # Errors
    /// What is wrong with the bytes; [`tidemill_wire::ErrorKind::Stopped`] if a value is not what
    /// its type says: an ID of other than 20 bytes, a matrix that is none.
    pub fn decode(bytes: &'a [u8]) -> Result<Envelope<'a>, DecodeError> {
        let fields = &PROTOCOL.fields;
        let mut sink = EnvelopeSink {
            fields,
            envelope: Envelope::default(),
            reader: ValueReader::new(&fields.value),
            in_column: false,
        };
        Decoder::new(&PROTOCOL.schema).decode(fields.envelope.message, bytes, &mut sink)?;
        Ok(sink.envelope)
    }
}

/// The tuples of a message, as nodes of this program read it: names and columns. Empty if it cannot
/// be read.
pub fn tuples(schema: &ProgramSchema, bytes: &[u8]) -> Vec<(String, SeqBuilder)> {
    let Ok(envelope) = Envelope::decode(bytes) else { return Vec::new() };
    let one = |tuple: Tuple<'_>| {
        if tuple.relation == 0 {
            return Some((tuple.name.to_owned(), tuple.columns));
        }
        let mut columns = SeqBuilder::default();
        let is_known = envelope.program == schema.program();
        let read = is_known.then(|| schema.decode_body(tuple.relation, tuple.body, &mut columns));
        read?.ok()?;
        Some((schema.name(tuple.relation)?.to_owned(), columns))
    };
    envelope.tuples.into_iter().filter_map(one).collect()
}

struct EnvelopeSink<'f, 'a> {
    fields: &'f Fields,
    envelope: Envelope<'a>,
    reader: ValueReader<'f, 'a>,
    /// Inside `Tuple.columns`, where the reader takes everything.
    in_column: bool,
}

impl<'a> EnvelopeSink<'_, 'a> {
    fn tuple(&mut self, set: impl FnOnce(&mut Tuple<'a>)) -> SinkResult {
        self.envelope.tuples.last_mut().map(set);
        Ok(())
    }
}

impl<'a> Sink<'a> for EnvelopeSink<'_, 'a> {
    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        let fields = self.fields;
        if self.in_column {
            return self.reader.start_sub(field);
        }
        if field == fields.envelope.tuples {
            self.envelope.tuples.push(Tuple::default());
        } else if field == fields.tuple.columns {
            self.in_column = true;
            self.reader.begin();
        }
        Ok(())
    }

    fn end_sub(&mut self, field: FieldId) -> SinkResult {
        if field == self.fields.tuple.columns {
            self.in_column = false;
            let column = self.reader.finish();
            return self.tuple(|tuple| column.push_to(&mut tuple.columns));
        }
        if self.in_column { self.reader.end_sub(field) } else { Ok(()) }
    }

    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        self.reader.i64(field, value)
    }

    fn f64(&mut self, _: FieldId, value: f64) -> SinkResult {
        self.reader.f64(value)
    }

    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        if self.in_column {
            self.reader.bool(field, value)
        } else {
            self.tuple(|tuple| tuple.delete = value)
        }
    }

    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        if field == self.fields.envelope.program {
            self.envelope.program = value;
        }
        Ok(())
    }

    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        if field == self.fields.tuple.relation {
            return self.tuple(|tuple| tuple.relation = value);
        }
        Ok(())
    }

    fn string(&mut self, _: FieldId, piece: &'a str) -> SinkResult {
        if self.in_column {
            self.reader.string(piece)
        } else {
            self.tuple(|tuple| tuple.name = piece)
        }
    }

    fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        if self.in_column {
            return self.reader.bytes(field, piece);
        }
        if field == self.fields.tuple.body {
            return self.tuple(|tuple| tuple.body = piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_fabric::head::{Ack, Fragment, Head};
    use tidemill_relation::{Id, Seq};
    use tidemill_wire::ErrorKind;

    fn columns(bytes: &[u8]) -> Vec<String> {
        let envelope = Envelope::decode(bytes).unwrap();
        let columns = envelope.tuples[0].columns.as_seq().iter();
        columns.map(|value| format!("{value:?}")).collect()
    }

    #[test]
    fn a_tuple_has_its_known_bytes() {
        let mut bytes = Vec::new();
        let columns = [Value::Str("n1:1"), Value::Int(-1), Value::Null];
        append_tuple(&mut bytes, Content::Columns { name: "p", columns: &columns }, true);
        let expected =
            b"\x1a\x15\x18\x01\x22\x01p\x2a\x06\x22\x04n1:1\x2a\x02\x08\x01\x2a\x02\x60\x01";
        assert_eq!(bytes, expected);
        bytes.clear();
        append_tuple(&mut bytes, Content::Body { relation: 3, body: b"xy" }, false);
        assert_eq!(bytes, b"\x1a\x06\x08\x03\x12\x02xy");
    }

    /// The fabric's head and the tuples are parts of the same envelope.
    #[test]
    fn heads_and_tuples_share_an_envelope() {
        let fragment = Fragment { message: 1, index: 2, count: 3, total: 4, data: b"d" };
        let ack = Ack { incarnation: 9, selective: &[0x80], window: 256, ..Ack::default() };
        let (fragment, ack) = (Some(fragment), Some(ack));
        let head = Head { program: 7, sequence: 5, has_content: true, fragment, ack };
        let mut bytes = Vec::new();
        head.append(&mut bytes);
        append_tuple(&mut bytes, Content::Body { relation: 1, body: b"" }, true);
        let read = Envelope::decode(&bytes).unwrap();
        assert_eq!((read.program, read.tuples.len()), (7, 1));
        assert!(read.tuples[0].delete && read.tuples[0].relation == 1);
        assert_eq!(Head::decode(&bytes), Ok(head));
    }

    #[test]
    fn every_type_of_value_comes_back() {
        let mut row = SeqBuilder::new();
        row.push(Value::Double(-0.0));
        row.push(Value::Null);
        let mut rows = SeqBuilder::new();
        rows.push(Value::Vector(row.as_seq()));
        rows.push(Value::Vector(row.as_seq()));
        let mut list = SeqBuilder::new();
        list.push(Value::List(rows.as_seq()));
        let values = [
            Value::Null,
            Value::Bool(false),
            Value::Int(i64::MIN),
            Value::Double(f64::INFINITY),
            Value::Str(""),
            Value::Bytes(&[0]),
            Value::Id(Id::from_int(-2)),
            Value::Time(-1),
            Value::Interval(i64::MAX),
            Value::List(list.as_seq()),
            Value::Vector(row.as_seq()),
            Value::Matrix(rows.as_seq()),
            Value::List(Seq::EMPTY),
        ];
        let mut bytes = Vec::new();
        append_tuple(&mut bytes, Content::Columns { name: "p", columns: &values }, false);
        let expected: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        assert_eq!(columns(&bytes), expected);
    }

    #[test]
    fn oneofs_take_the_last_and_merge_the_same() {
        assert_eq!(columns(b"\x1a\x06\x2a\x04\x08\x02\x18\x01"), ["Bool(true)"]);
        assert_eq!(columns(b"\x1a\x02\x2a\x00"), ["Null"]);
        let one = b"\x4a\x04\x0a\x02\x08\x02"; // list [1]
        let twice = [b"\x1a\x0e\x2a\x0c", &one[..], one].concat();
        let read = Envelope::decode(&twice).unwrap();
        let list = read.tuples[0].columns.as_seq().get(0).unwrap();
        assert_eq!(list.as_seq().unwrap().len(), 2);
    }

    #[test]
    fn values_that_are_not_what_they_say_are_refused() {
        let short_id = b"\x1a\x05\x2a\x03\x32\x01\x07";
        assert_eq!(Envelope::decode(short_id).unwrap_err().kind, ErrorKind::Stopped);
        let row_is_int = b"\x1a\x08\x2a\x06\x5a\x04\x0a\x02\x08\x02";
        assert_eq!(Envelope::decode(row_is_int).unwrap_err().kind, ErrorKind::Stopped);
    }

    #[test]
    fn nesting_has_a_limit_that_peers_can_read() {
        let mut list = SeqBuilder::new();
        for level in 1..=values::NESTING_MAX {
            let mut outer = SeqBuilder::new();
            outer.push(Value::List(list.as_seq()));
            let value = outer.as_seq().get(0).unwrap();
            assert!(values::fits(value), "{level}");
            let mut bytes = Vec::new();
            append_tuple(&mut bytes, Content::Columns { name: "p", columns: &[value] }, false);
            assert!(Envelope::decode(&bytes).is_ok());
            list = outer;
        }
        assert!(!values::fits(Value::List(list.as_seq())));
    }
}
