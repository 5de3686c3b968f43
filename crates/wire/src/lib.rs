//! Schemas known at run time, and the Protocol Buffers wire format walked by them.
//!
//! ```text
//! .proto texts, descriptors --.
//! SchemaBuilder --build-------+--> Schema --> descriptors, .proto text
//!                                    |
//!                            .-------'
//!          bytes --Decoder---+--> events of a Sink --Builder--> Message
//!          bytes <--Encoder--+--- events, or a Message: get, set, merge, ==, walk
//! ```
//! The decoder walks the bytes once and gives a [`Sink`] the events of what it meets; rows and
//! columns are built there, and a tree is a [`Message`].
//!
//! A message of a type that is read at run time, from bytes and back:
//!
//! ```
//! use tidemill_wire::proto::{Texts, compile};
//! use tidemill_wire::Message;
//!
//! let text = r#"
//!     syntax = "proto3";
//!     package demo;
//!     message Person {
//!         string name = 1;
//!         repeated string mail = 2;
//!         map<string, Person> friends = 3;
//!         Place home = 4;
//!     }
//!     message Place { string town = 1; sint32 floor = 2; }
//! "#;
//! let compiled = compile(&["demo.proto"], &Texts::from_iter([("demo.proto", text)]));
//! let schema = compiled.schema.expect("what is wrong stands in `compiled.diagnostics`");
//!
//! let mut person = Message::new(&schema, "demo.Person")?;
//! person.set("name", "Ada")?;
//! let mut fields = person.as_mut();
//! fields.list_mut("mail")?.push("ada@example.org")?;
//! fields.message_mut("home")?.set("floor", -1)?;
//! fields.map_mut("friends")?.message_mut("Bob")?.set("name", "Robert")?;
//! let bytes = person.encode()?;
//!
//! // Strings stay in `bytes`, which outlives the message.
//! let again = Message::from_bytes(&schema, "demo.Person", &bytes)?;
//! assert!(again == person);
//! assert_eq!(again.get("name")?.as_str(), Some("Ada"));
//! let home = again.get("home")?.as_message().expect("the schema says so");
//! assert_eq!(home.get("floor")?.as_i32(), Some(-1));
//! assert_eq!(home.get("town")?.as_str(), Some(""), "its default");
//! let friends = again.get("friends")?.as_map().expect("the schema says so");
//! let bob = friends.get("Bob")?.and_then(|bob| bob.as_message()).expect("he is there");
//! assert_eq!(bob.get("name")?.as_str(), Some("Robert"));
//! for (field, value) in again.fields() {
//!     println!("{} = {value:?}", schema.field(field).name());
//! }
//!
//! // What does not fit is an error, never a panic.
//! assert!(person.set("name", 5).is_err());
//! assert!(person.get("shoe_size").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without messages, event by event:
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
//!
//! Knows nothing of tuples, nodes or processes and is usable by itself.

mod copy;
pub mod decode;
pub mod delimited;
pub mod encode;
mod escape;
mod inside;
pub mod json;
mod merge;
pub mod message;
mod packed;
pub mod proto;
pub mod schema;
pub mod sink;
mod stop;
pub mod text;
mod utf8;
pub mod varint;
mod wants;

#[cfg(feature = "native")]
pub use decode::Native;
pub use decode::{DecodeError, Decoder, ErrorKind, Stream, Tables};
#[cfg(feature = "native")]
pub use encode::native::{EncoderCode, NativeEncoder};
pub use encode::table::{EncodeError, Encoder};
pub use encode::{EncodeBuffer, Writer};
pub use message::{AccessError, MapOrder, Message, MessageMut, MessageRef, Value};
pub use schema::{
    EnumId, FieldId, FieldType, Label, MessageId, OneofId, Scalar, Schema, SchemaBuilder,
    SchemaError,
};
pub use sink::{Event, Sink, SinkResult, Stop, Wants, events};
