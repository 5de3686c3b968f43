//! Reading and printing JSON with the mapping of Protocol Buffers, and JSON without a schema.
//!
//! ```text
//! bytes --Decoder--> JsonSink --> text        text --read--> Sink --> bytes (BinarySink)
//! ```
//! No document is built in between. Well-known messages have their own forms: times, durations,
//! field masks, structs, wrappers, and `Any`, whose content must be of a type that the schema has.
//!
//! | part | holds |
//! |---|---|
//! | [`Mapping`] | names of a schema's fields and forms of its messages |
//! | [`JsonSink`], [`print()`] | events into text |
//! | [`print_message`] | messages in memory into the same text, without events |
//! | [`read()`], [`parse`] | text into events |
//! | [`plain`] | JSON without a schema |
//! | `lex`, `number`, `check` | words and numbers, and what is only passed over |
//! | `digits`, `scan` | the inner loops over digits and strings |
//!
//! ```
//! use tidemill_wire::json::{self, Mapping};
//! use tidemill_wire::{Label, Scalar, SchemaBuilder};
//!
//! let mut builder = SchemaBuilder::new("demo");
//! let point = builder.message("Point");
//! builder.field(point, "x", 1, Scalar::Sint64, Label::Optional);
//! builder.field(point, "full_name", 2, Scalar::String, Label::Optional);
//! let schema = builder.build().unwrap();
//! let mapping = Mapping::new(&schema);
//!
//! let bytes = json::parse(&mapping, point, br#"{"fullName": "here", "x": -3}"#).unwrap();
//! assert_eq!(bytes, b"\x12\x04here\x08\x05");
//! let text = json::print(&mapping, point, &bytes).unwrap();
//! assert_eq!(text, r#"{"fullName":"here","x":"-3"}"#);
//! ```

mod any;
mod check;
mod cursor;
pub(crate) mod digits;
mod error;
mod lex;
mod mapping;
mod names;
mod number;
mod options;
pub mod plain;
pub(crate) mod print;
mod read;
mod records;
pub(crate) mod scan;
mod sink;
mod special;
mod split;
mod steps;
pub(crate) mod time;
mod write;

use std::fmt;

use tidemill_stdx::region::Bump;

pub(crate) use any::message_of;
pub use error::ReadError;
pub(crate) use error::{Fault, utf8};
pub(crate) use mapping::EnumName;
pub use mapping::Mapping;
pub(crate) use names::{Cardinality, FieldMap, JsonNames, MessageForm, ValueForm};
pub use options::{Defaults, Enums, Names, PrintOptions, ReadOptions, Unknown};
pub use read::read;
pub use records::print_message;
pub use sink::{JsonSink, WriteProblem};
pub use split::Splitter;
pub(crate) use steps::JsonSteps;

use crate::decode::{DecodeError, Decoder, ErrorKind};
use crate::encode::BinarySink;
use crate::merge::walk_merged;
use crate::schema::MessageId;

/// Why bytes cannot be printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrintError {
    /// The bytes are no message of that type.
    Bytes(DecodeError),
    /// A value has no text.
    Value(String),
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrintError::Bytes(error) => error.fmt(f),
            PrintError::Value(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for PrintError {}

/// The JSON of the message that `bytes` are.
///
/// # Errors
/// Bytes that are no such message; values that have no JSON.
pub fn print(
    mapping: &Mapping<'_>,
    message: MessageId,
    bytes: &[u8],
) -> Result<String, PrintError> {
    let mut sink = JsonSink::new(mapping, PrintOptions::default());
    print_to(&mut sink, message, bytes)?;
    // The sink writes only text.
    String::from_utf8(sink.into_bytes()).map_err(|error| PrintError::Value(error.to_string()))
}

/// Writes the JSON of the message that `bytes` are with a sink, which keeps its memory for more.
///
/// # Errors
/// Bytes that are no such message; values that have no JSON.
pub fn print_to(
    sink: &mut JsonSink<'_, '_>,
    message: MessageId,
    bytes: &[u8],
) -> Result<(), PrintError> {
    let schema = sink.mapping.schema();
    print_with(sink, &Decoder::new(schema), message, bytes)
}

/// The same, by a decoder of the sink's schema: a native one, or one of some fields.
///
/// # Errors
/// Bytes that are no such message; values that have no text.
pub fn print_with(
    sink: &mut JsonSink<'_, '_>,
    decoder: &Decoder<'_>,
    message: MessageId,
    bytes: &[u8],
) -> Result<(), PrintError> {
    let start = sink.out.len();
    let Err(error) = decoder.decode(message, bytes, sink) else { return Ok(()) };
    if error.kind != ErrorKind::Stopped {
        return Err(PrintError::Bytes(error));
    }
    match sink.problem() {
        Some(WriteProblem::NeedsMerge) => {}
        Some(WriteProblem::Value(what)) => return Err(PrintError::Value(what.clone())),
        None => return Err(PrintError::Bytes(error)),
    }
    sink.out.truncate(start);
    let mark = sink.mark();
    sink.return_to(&mark);
    let walked = walk_merged(decoder, message, bytes, sink);
    sink.go_on(&mark);
    walked.map_err(|error| match sink.problem() {
        Some(WriteProblem::Value(what)) => PrintError::Value(what.clone()),
        _ => PrintError::Value(error.to_string()),
    })
}

/// The bytes of the message that `text` is.
///
/// # Errors
/// The text is malformed.
pub fn parse(mapping: &Mapping<'_>, message: MessageId, text: &[u8]) -> Result<Vec<u8>, ReadError> {
    let arena = Bump::new();
    let mut sink = BinarySink::new(mapping.schema());
    read(mapping, message, text, &arena, ReadOptions::default(), &mut sink)?;
    Ok(sink.into_bytes())
}
