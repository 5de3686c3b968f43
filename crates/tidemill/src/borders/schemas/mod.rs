//! Rules and schemas: messages as tuples, and tuples as messages.
//!
//! ```text
//! stage("proto:pkg.Type", in, out)           in(@N, keys.., Bytes)   ->  out(@N, keys.., fields..)
//! stage("proto:encode pkg.Type", in, out)    in(@N, keys.., fields..) ->  out(@N, keys.., Bytes)
//! f_decode("pkg.Type", Bytes)                the fields as a list
//! f_encode("pkg.Type", [..])                 the bytes
//! ```
//! Fields stand by number. A field that is not set is null if it has presence, else its default;
//! repeated fields are lists, maps lists of `[key, value]`, messages lists of their fields, enums
//! numbers. Extensions and unknown fields are left out.
//!
//! A message is decoded into memory by native code and read from there; encoded, it is built there
//! and written by native code. Code is made once per type and shared by all nodes of a run.

mod columns;
mod counts;
mod decode;
mod direction;
mod encode;
mod select;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tidemill_diag::nearest;
use tidemill_overlog::stage::{
    Columns, Declaration, Failure, Family, Input, Missing, Next, Operator, Rows,
};
use tidemill_relation::limits::NESTING_MAX;
use tidemill_relation::{Messages, OwnedValue, Seq, SeqBuilder, TypeSet, Value};
use tidemill_stdx::marks;
use tidemill_stdx::sorted::SortedMap;
use tidemill_wire::decode::{Listing, Native, Strings, Tables};
use tidemill_wire::proto::Spans;
use tidemill_wire::{Decoder, EncoderCode, MessageId, Schema};

pub(crate) use counts::Failed;
pub use counts::{Counts, Reason};
pub(crate) use decode::MessageReader;
use direction::PREFIX;
pub(crate) use direction::{Direction, named};
use encode::MessageWriter;
pub(crate) use encode::scalar;
pub(crate) use select::all_columns;
pub use select::{Selection, WrongPath};

/// The borders of the functions.
const DECODE_FUNCTION: &str = "f_decode";
const ENCODE_FUNCTION: &str = "f_encode";
/// What most rows have room in.
const ROW_BYTES: usize = 256;
/// The column that is the message.
const MESSAGE: &str = "message";

/// The schemas of a program as rules see them. Clones are the same.
#[derive(Clone)]
pub struct Schemas(Arc<Inner>);

struct Inner {
    /// `None` where the program has none: then every name is an error that says so.
    schema: Option<Schema>,
    spans: Spans,
    /// What decodes into messages, made when it is first needed; only tables where no code can be
    /// made for this machine.
    code: OnceLock<(Tables, Option<Native>)>,
    /// By type. A lock, as nodes may be on several threads; it is taken when a node is made.
    encoders: Mutex<SortedMap<MessageId, EncoderCode>>,
    /// By name of the border. Likewise.
    counts: Mutex<SortedMap<String, Arc<Counts>>>,
}

/// None.
impl Default for Schemas {
    fn default() -> Schemas {
        Schemas::new(None, Spans::default())
    }
}

impl Schemas {
    /// The message types of a schema, which stand there in the program's sources.
    pub fn new(schema: Option<Schema>, spans: Spans) -> Schemas {
        let schemas = Schemas(Arc::new(Inner {
            schema,
            spans,
            code: OnceLock::new(),
            encoders: Mutex::default(),
            counts: Mutex::default(),
        }));
        // Those who show counters expect the same ones each time; stages have theirs before a run.
        if schemas.is_some() {
            for border in [DECODE_FUNCTION, ENCODE_FUNCTION] {
                schemas.counts(border);
            }
        }
        schemas
    }

    /// True if there are message types.
    pub fn is_some(&self) -> bool {
        self.0.schema.is_some()
    }

    /// The schema, and the type of that name.
    fn find(&self, message: &str) -> Result<(&Schema, MessageId), Missing> {
        let Some(schema) = &self.0.schema else {
            let message = format!("`{message}` needs a schema, and none belongs to the program");
            let help = "give the file of the schema, .proto or .fds, beside the rules".to_owned();
            return Err(Missing { message, help });
        };
        if let Some(found) = schema.message_by_name(message) {
            return Ok((schema, found));
        }
        let messages = || {
            let all = schema.messages().map(|id| schema.message(id));
            all.filter(|one| !one.is_map_entry()).map(|one| &**one.full_name())
        };
        let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        let of_that_name = || messages().find(|name| last(name) == last(message));
        let close = nearest(message, messages()).or_else(of_that_name);
        let help = match close {
            Some(close) => format!("there is `{close}`"),
            None => match messages().next() {
                Some(one) => format!("write the full name of a message, such as `{one}`"),
                None => "the schemas have no messages".to_owned(),
            },
        };
        let message = format!("the schemas of the program have no message `{message}`");
        Err(Missing { message, help })
    }

    /// The schema, and the type of that name; or what is wrong with the name, and what helps.
    pub(crate) fn message(&self, name: &str) -> Result<(&Schema, MessageId), (String, String)> {
        self.find(name).map_err(|Missing { message, help }| (message, help))
    }

    /// Where the names of messages and fields stand.
    pub(crate) fn spans(&self) -> &Spans {
        &self.0.spans
    }

    /// What a stage of that name does.
    fn understand(&self, name: &str) -> Result<(Direction, &Schema, MessageId), Missing> {
        let (direction, message) = named(name).unwrap_or((Direction::Decode, name));
        let (schema, message) = self.find(message)?;
        Ok((direction, schema, message))
    }

    fn counts(&self, border: &str) -> Arc<Counts> {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(border.to_owned()).or_default().clone()
    }

    /// The counters of each border that a node has opened, by name.
    pub fn counters(&self) -> Vec<(String, Arc<Counts>)> {
        let counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(name, counts)| (name.clone(), counts.clone())).collect()
    }

    /// A decoder of messages of the schema.
    pub(crate) fn decoder<'s>(&'s self, schema: &'s Schema) -> Decoder<'s> {
        let (tables, native) = self.0.code.get_or_init(|| {
            let tables = Tables::new(schema);
            let native = Native::for_messages(schema, &tables, Strings::Viewed, Listing::Dropped);
            (tables, native.ok())
        });
        let decoder = Decoder::with(schema, tables);
        match native {
            Some(native) => decoder.native(native),
            None => decoder,
        }
    }

    /// The code that encodes messages of a type; `None` where none can be made.
    pub(crate) fn encoder(&self, schema: &Schema, message: MessageId) -> Option<EncoderCode> {
        let mut encoders = self.0.encoders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = encoders.get(&message) {
            return Some(code.clone());
        }
        let code = EncoderCode::compile(schema, message).ok()?;
        encoders.insert(message, code.clone());
        Some(code)
    }
}

impl fmt::Debug for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages = self.0.schema.as_ref().map(|schema| schema.messages().len());
        f.debug_struct("Schemas").field("messages", &messages).finish_non_exhaustive()
    }
}

impl Family for Schemas {
    fn prefix(&self) -> &str {
        PREFIX
    }

    fn declaration(&self, name: &str) -> Result<Declaration, Missing> {
        let (direction, schema, message) = self.understand(name)?;
        let full_name = schema.full_name(message);
        let fields = columns::of(schema, message, direction, &self.0.spans);
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
        declaration.source = self.0.spans.message(message);
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

/// Turns the last column of inputs, a message, into columns.
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
        self.counts.note(done).map_err(Failure::Operator)?;
        Ok(Box::new(One(Some(row))))
    }
}

/// Turns the last columns of inputs into a message.
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
        self.counts.note(done).map_err(Failure::Operator)?;
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
    fn decode(&self, message: &str, bytes: &[u8]) -> Result<OwnedValue, String> {
        let (schema, message) = self.find(message).map_err(|missing| missing.message)?;
        let mut fields = SeqBuilder::new();
        // They are in a list themselves.
        let depth = NESTING_MAX - 1;
        let done = MessageReader::new(self, schema, message).read(bytes, &mut fields, depth);
        self.counts(DECODE_FUNCTION).note(done)?;
        Ok(OwnedValue::new(Value::List(fields.as_seq())))
    }

    fn encode(&self, message: &str, fields: Seq<'_>) -> Result<Vec<u8>, String> {
        let (schema, message) = self.find(message).map_err(|missing| missing.message)?;
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
