//! The text format both ways: what configuration files, golden files and people write.
//!
//! ```text
//! message = (field [","|";"])*
//! field   = (name | "[" extension "]" | "[" url "/" type "]") [":"] value
//! value   = scalar | "{" message "}" | "<" message ">" | "[" value, ... "]"
//! ```
//!
//! ```
//! use tidemill_wire::json::Mapping;
//! use tidemill_wire::{Label, Scalar, SchemaBuilder, text};
//!
//! let mut builder = SchemaBuilder::new("demo");
//! let point = builder.message("Point");
//! builder.field(point, "x", 1, Scalar::Sint64, Label::Optional);
//! builder.field(point, "name", 2, Scalar::String, Label::Optional);
//! let schema = builder.build().unwrap();
//! let mapping = Mapping::new(&schema);
//!
//! let written = b"x: -0x3  # hexadecimal\n name: 'he' \"re\"";
//! let bytes = text::parse(&mapping, point, written).unwrap();
//! assert_eq!(bytes, b"\x08\x05\x12\x04here");
//! assert_eq!(text::print(&mapping, point, &bytes).unwrap(), "x: -3\nname: \"here\"\n");
//! ```

mod any;
mod lex;
mod literal;
mod names;
mod read;
mod sink;
mod unknown;
mod write;

use tidemill_stdx::region::Bump;

pub use read::{Required, TextReadOptions, read};
pub use sink::{Layout, PrintUnknown, TextPrintOptions, TextSink};

use crate::decode::{Decoder, ErrorKind};
use crate::encode::BinarySink;
use crate::json::{Mapping, PrintError, ReadError, WriteProblem};
use crate::merge::walk_merged;
use crate::schema::MessageId;

/// The text of the message in `bytes`.
///
/// # Errors
/// Bytes that are no such message.
pub fn print(
    mapping: &Mapping<'_>,
    message: MessageId,
    bytes: &[u8],
) -> Result<String, PrintError> {
    let mut sink = TextSink::new(mapping, TextPrintOptions::default());
    print_to(&mut sink, message, bytes)?;
    // The sink writes only UTF-8.
    String::from_utf8(sink.into_bytes()).map_err(|error| PrintError::Value(error.to_string()))
}

/// Writes the text of the message in `bytes` with a sink, which is reusable.
///
/// # Errors
/// Bytes that are no such message.
pub fn print_to(
    sink: &mut TextSink<'_, '_>,
    message: MessageId,
    bytes: &[u8],
) -> Result<(), PrintError> {
    let schema = sink.mapping.schema();
    print_with(sink, &Decoder::new(schema), message, bytes)
}

/// As [`print_to`], by a decoder of the sink's schema: a native one, or one of some fields.
///
/// # Errors
/// Bytes that are no such message; values that have no text.
pub fn print_with(
    sink: &mut TextSink<'_, '_>,
    decoder: &Decoder<'_>,
    message: MessageId,
    bytes: &[u8],
) -> Result<(), PrintError> {
    let start = sink.mark();
    let Err(error) = decoder.decode(message, bytes, sink) else { return Ok(()) };
    if error.kind != ErrorKind::Stopped || sink.problem() != Some(&WriteProblem::NeedsMerge) {
        return Err(PrintError::Bytes(error));
    }
    sink.return_to(&start);
    let walked = walk_merged(decoder, message, bytes, sink);
    walked.map_err(|error| PrintError::Value(error.to_string()))
}

/// The bytes of the message in `text`.
///
/// # Errors
/// The error in the text.
pub fn parse(mapping: &Mapping<'_>, message: MessageId, text: &[u8]) -> Result<Vec<u8>, ReadError> {
    let arena = Bump::new();
    let mut sink = BinarySink::new(mapping.schema());
    read(mapping, message, text, &arena, TextReadOptions::default(), &mut sink)?;
    Ok(sink.into_bytes())
}
