//! Schemas known at run time, and the Protocol Buffers wire format walked by them.
//!
//! ```text
//! .proto texts, descriptors --.
//! SchemaBuilder --build-------+--> Schema --> descriptors, .proto text
//!                                    |
//!                            .-------'
//!          bytes --Decoder---+--> events of a Sink
//!          bytes <--Encode---+--- puts of a Writer
//! ```
//! Nothing here holds a message: the decoder walks the bytes once and tells a [`Sink`] what it
//! meets; who wants a tree, a row or a column builds it there.
//!
//! Knows nothing of tuples, nodes or processes and is usable by itself.
//!
//! ```
//! use tidemill_wire::{Decoder, Event, Label, Scalar, SchemaBuilder, encode, events};
//!
//! let mut builder = SchemaBuilder::new("demo");
//! let point = builder.message("Point");
//! let x = builder.field(point, "x", 1, Scalar::Sint64, Label::Optional);
//! let name = builder.field(point, "name", 2, Scalar::String, Label::Optional);
//! let schema = builder.build().unwrap();
//!
//! let bytes = encode::to_vec(&schema, |to| {
//!     to.put_i64(x, -3);
//!     to.put_string(name, "here");
//! });
//! assert_eq!(bytes, b"\x08\x05\x12\x04here");
//!
//! let mut seen = Vec::new();
//! let mut sink = events(|event| {
//!     seen.push(event);
//!     Ok(())
//! });
//! Decoder::new(&schema).decode(point, &bytes, &mut sink).unwrap();
//! assert!(seen.contains(&Event::I64(x, -3)));
//! assert!(seen.contains(&Event::String(name, "here")));
//! ```

pub mod decode;
pub mod delimited;
pub mod encode;
pub mod json;
mod merge;
pub mod message;
pub mod proto;
pub mod schema;
pub mod select;
pub mod sink;
pub mod text;
pub mod varint;

pub use decode::{DecodeError, Decoder, ErrorKind};
pub use encode::Writer;
pub use encode::table::{EncodeError, Encoder};
pub use message::{AccessError, MapOrder, Message, MessageMut, MessageRef, Value};
pub use schema::{
    EnumId, FieldId, FieldType, Label, MessageId, OneofId, Scalar, Schema, SchemaBuilder,
    SchemaError,
};
pub use sink::{Event, Flow, Sink, Stop, events};
