//! Rules and schemas: messages as tuples, and tuples as messages.
//!
//! ```text
//! stage("proto:pkg.Type", in, out)           in(@N, keys.., Bytes)   ->  out(@N, keys.., fields..)
//! stage("proto:encode pkg.Type", in, out)    in(@N, keys.., fields..) ->  out(@N, keys.., Bytes)
//! f_decode("pkg.Type", Bytes)                the fields as a list
//! f_encode("pkg.Type", [..])                 the bytes
//! ```
//! Fields are in the order of their numbers. A field that is not set is null if it has presence,
//! else its default; repeated fields are lists, maps lists of `[key, value]`, messages lists of
//! their fields, enums numbers. Extensions and unknown fields are left out.
//!
//! A message is decoded into memory by native code and read from there; encoded, it is built there
//! and written by native code. Code is made once per type and shared by all nodes of a run.

mod columns;
mod counts;
mod decode;
mod direction;
mod encode;
mod loaded;
mod select;

use std::sync::Arc;

use tidemill_overlog::stage::{
    Columns, Declaration, Failure, Family, Input, Missing, Next, Operator, Rows,
};
use tidemill_relation::limits::NESTING_MAX;
use tidemill_relation::{MessageError, Messages, OwnedValue, Seq, SeqBuilder, TypeSet, Value};
use tidemill_stdx::marks;

pub(crate) use counts::Failed;
pub use counts::{Counts, Reason};
pub(crate) use decode::MessageReader;
use direction::PREFIX;
pub(crate) use direction::{Direction, named};
use encode::MessageWriter;
pub(crate) use encode::scalar;
pub use loaded::Schemas;
use loaded::{DECODE_FUNCTION, ENCODE_FUNCTION};
pub(crate) use select::all_columns;
pub use select::{Selection, WrongPath};

/// The initial capacity of a row.
const ROW_BYTES: usize = 256;
/// The name of the column that holds the message.
const MESSAGE: &str = "message";

impl Family for Schemas {
    fn prefix(&self) -> &str {
        PREFIX
    }

    fn declaration(&self, name: &str) -> Result<Declaration, Missing> {
        let (direction, schema, message) = self.understand(name)?;
        let full_name = schema.full_name(message);
        let fields = columns::of(schema, message, direction, self.spans());
        let fields = || fields.iter().cloned();
        let mut declaration = Declaration::new(name.to_owned()).keeps_leading();
        match direction {
            Direction::Decode => {
                declaration = declaration.reads(MESSAGE, TypeSet::BYTES);
                declaration.outputs = Columns::Fixed(fields().collect());
            }
            Direction::Encode => {
                declaration.inputs = fields().collect();
                declaration = declaration.yields(MESSAGE, TypeSet::BYTES);
            }
        }
        declaration.source = self.spans().message(message);
        let count = fields().count();
        Ok(declaration.doc(format!("Messages of type `{full_name}`, which has {count} fields.")))
    }

    fn construct(&self, name: &str) -> Option<Box<dyn Operator>> {
        let (direction, schema, message) = self.understand(name).ok()?;
        let counts = self.counts(name);
        Some(match direction {
            Direction::Decode => {
                Box::new(Decode { reader: MessageReader::new(self, schema, message), counts })
            }
            Direction::Encode => {
                Box::new(Encode { writer: MessageWriter::new(self, schema, message), counts })
            }
        })
    }

    fn counters(&self, show: &mut dyn FnMut(&str, &str, u64)) {
        for (name, counts) in Schemas::counters(self) {
            counts.each(|counter, count| show(&name, counter, count));
        }
    }
}

/// Decodes the last column of inputs into columns.
struct Decode {
    reader: MessageReader,
    counts: Arc<Counts>,
}

impl Operator for Decode {
    fn start(&mut self, input: Input<'_>) -> Result<Box<dyn Rows>, Failure> {
        let mut row = SeqBuilder::with_capacity(ROW_BYTES);
        let done = match input.columns().split_last() {
            Some((Value::Bytes(bytes), leading)) => {
                leading.iter().for_each(|column| row.push(*column));
                marks::arrive("schemas/decode");
                self.reader.read(bytes, &mut row, NESTING_MAX)
            }
            _ => Err(Failed::new(Reason::WrongType, "the last column is no bytes")),
        };
        self.counts.note(done)?;
        Ok(Box::new(One(Some(row))))
    }
}

/// Encodes the last columns of inputs into a message.
struct Encode {
    writer: MessageWriter,
    counts: Arc<Counts>,
}

impl Operator for Encode {
    fn start(&mut self, input: Input<'_>) -> Result<Box<dyn Rows>, Failure> {
        let mut row = SeqBuilder::with_capacity(ROW_BYTES);
        let columns = input.columns();
        let leading = columns.len().saturating_sub(self.writer.fields());
        let (leading, fields) = columns.split_at(leading);
        leading.iter().for_each(|column| row.push(*column));
        marks::arrive("schemas/encode");
        let done = self.writer.write(fields.iter().copied(), |bytes| {
            row.push(Value::Bytes(bytes));
        });
        self.counts.note(done)?;
        Ok(Box::new(One(Some(row))))
    }
}

/// One row.
struct One(Option<SeqBuilder>);

impl Rows for One {
    fn next(&mut self, row: &mut SeqBuilder) -> Result<Next, Failure> {
        let Some(one) = self.0.take() else { return Ok(Next::End) };
        row.extend(one.as_seq());
        Ok(Next::Row)
    }
}

impl Messages for Schemas {
    fn decode(&self, message: &str, bytes: &[u8]) -> Result<OwnedValue, MessageError> {
        let (schema, message) =
            self.find(message).map_err(|missing| MessageError(missing.message))?;
        let mut fields = SeqBuilder::new();
        // The fields are in a list themselves.
        let depth = NESTING_MAX - 1;
        let done = MessageReader::new(self, schema, message).read(bytes, &mut fields, depth);
        self.counts(DECODE_FUNCTION).note(done)?;
        Ok(OwnedValue::new(Value::List(fields.as_seq())))
    }

    fn encode(&self, message: &str, fields: Seq<'_>) -> Result<Vec<u8>, MessageError> {
        let (schema, message) =
            self.find(message).map_err(|missing| MessageError(missing.message))?;
        let mut out = Vec::new();
        let mut writer = MessageWriter::new(self, schema, message);
        let done = writer.write(fields.iter(), |bytes| out.extend_from_slice(bytes));
        self.counts(ENCODE_FUNCTION).note(done)?;
        Ok(out)
    }

    fn missing(&self, message: &str) -> Option<(String, String)> {
        self.find(message).err().map(|Missing { message, help }| (message, help))
    }
}
