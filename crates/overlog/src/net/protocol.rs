//! The messages that every program shares, as wire schemas.
//!
//! ```text
//! Value     { oneof v { sint64 i = 1; double d = 2; bool b = 3; string s = 4; bytes x = 5;
//!             bytes id = 6; sfixed64 time = 7; sint64 interval = 8; Values list = 9;
//!             Values vector = 10; Values matrix = 11; bool null = 12; } }
//! Values    { repeated Value v = 1; }                     a matrix is its rows, as vectors
//! Envelope  { fixed64 program = 1; uint64 sequence = 2; repeated Tuple tuples = 3;
//!             Fragment fragment = 4; Ack ack = 5; }
//! Tuple     { uint32 relation = 1; bytes body = 2; bool delete = 3; string name = 4;
//!             repeated Value columns = 5; }
//! Fragment  { uint64 message = 1; uint32 index = 2; uint32 count = 3; uint32 total = 4;
//!             bytes data = 5; }                           see `tidemill_fabric::head`
//! Ack       { fixed64 incarnation = 1; fixed64 peer = 2; uint64 stream = 3;
//!             uint64 acknowledged = 4; uint64 cumulative = 5; bytes selective = 6;
//!             uint32 window = 7; }                        see `tidemill_fabric::head`
//! ```

use std::sync::LazyLock;

use tidemill_wire::{FieldId, Label, MessageId, Scalar, Schema, SchemaBuilder};

/// The shared messages by themselves: what an envelope is does not depend on the program.
///
/// A lock, though below the floor where locks begin: it guards only the first use, of tables that
/// are the same for every node and never change.
pub(super) static PROTOCOL: LazyLock<Protocol> = LazyLock::new(|| {
    let mut builder = SchemaBuilder::new("tidemill");
    let fields = Fields::declare(&mut builder);
    let schema = builder.build().expect("the definitions below are sound");
    Protocol { schema, fields }
});

/// A schema of the shared messages and where its fields are.
pub(super) struct Protocol {
    pub(super) schema: Schema,
    pub(super) fields: Fields,
}

/// The fields of all shared messages in some schema.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub(super) value: ValueFields,
    pub(super) envelope: EnvelopeFields,
    pub(super) tuple: TupleFields,
}

/// `Value` and `Values`.
#[derive(Clone, Debug)]
pub(crate) struct ValueFields {
    pub(super) message: MessageId,
    pub(super) i: FieldId,
    pub(super) d: FieldId,
    pub(super) b: FieldId,
    pub(super) s: FieldId,
    pub(super) x: FieldId,
    pub(super) id: FieldId,
    pub(super) time: FieldId,
    pub(super) interval: FieldId,
    pub(super) list: FieldId,
    pub(super) vector: FieldId,
    pub(super) matrix: FieldId,
    pub(super) null: FieldId,
    /// `Values.v`.
    pub(super) element: FieldId,
}

impl ValueFields {
    /// The fields of a `Value` and a `Values` that a schema has from a text.
    pub(crate) fn find(
        message: MessageId,
        field: impl Fn(&str) -> FieldId,
        element: FieldId,
    ) -> ValueFields {
        ValueFields {
            message,
            i: field("i"),
            d: field("d"),
            b: field("b"),
            s: field("s"),
            x: field("x"),
            id: field("id"),
            time: field("time"),
            interval: field("interval"),
            list: field("list"),
            vector: field("vector"),
            matrix: field("matrix"),
            null: field("null"),
            element,
        }
    }
}

/// `Envelope`.
#[derive(Clone, Debug)]
pub(super) struct EnvelopeFields {
    pub(super) message: MessageId,
    pub(super) program: FieldId,
    pub(super) tuples: FieldId,
}

/// `Tuple`.
#[derive(Clone, Debug)]
pub(super) struct TupleFields {
    pub(super) relation: FieldId,
    pub(super) body: FieldId,
    pub(super) delete: FieldId,
    pub(super) name: FieldId,
    pub(super) columns: FieldId,
}

impl Fields {
    /// Adds the shared messages to a schema.
    pub(super) fn declare(b: &mut SchemaBuilder) -> Fields {
        let value = ValueFields::declare(b);
        let envelope = b.message("Envelope");
        let tuple = b.message("Tuple");
        let fragment = b.message("Fragment");
        let ack = b.message("Ack");
        let program = b.field(envelope, "program", 1, Scalar::Fixed64, Label::Implicit);
        b.field(envelope, "sequence", 2, Scalar::Uint64, Label::Implicit);
        let tuples = b.field(envelope, "tuples", 3, tuple, Label::Repeated);
        b.field(envelope, "fragment", 4, fragment, Label::Implicit);
        b.field(envelope, "ack", 5, ack, Label::Implicit);
        declare_fragment(b, fragment);
        declare_ack(b, ack);
        Fields {
            envelope: EnvelopeFields { message: envelope, program, tuples },
            tuple: TupleFields {
                relation: b.field(tuple, "relation", 1, Scalar::Uint32, Label::Implicit),
                body: b.field(tuple, "body", 2, Scalar::Bytes, Label::Implicit),
                delete: b.field(tuple, "delete", 3, Scalar::Bool, Label::Implicit),
                name: b.field(tuple, "name", 4, Scalar::String, Label::Implicit),
                columns: b.field(tuple, "columns", 5, value.message, Label::Repeated),
            },
            value,
        }
    }
}

/// The fabric reads and writes this message by itself.
fn declare_fragment(b: &mut SchemaBuilder, fragment: MessageId) {
    b.field(fragment, "message", 1, Scalar::Uint64, Label::Implicit);
    b.field(fragment, "index", 2, Scalar::Uint32, Label::Implicit);
    b.field(fragment, "count", 3, Scalar::Uint32, Label::Implicit);
    b.field(fragment, "total", 4, Scalar::Uint32, Label::Implicit);
    b.field(fragment, "data", 5, Scalar::Bytes, Label::Implicit);
}

/// The fabric reads and writes this message, too.
fn declare_ack(b: &mut SchemaBuilder, ack: MessageId) {
    b.field(ack, "incarnation", 1, Scalar::Fixed64, Label::Implicit);
    b.field(ack, "peer", 2, Scalar::Fixed64, Label::Implicit);
    b.field(ack, "stream", 3, Scalar::Uint64, Label::Implicit);
    b.field(ack, "acknowledged", 4, Scalar::Uint64, Label::Implicit);
    b.field(ack, "cumulative", 5, Scalar::Uint64, Label::Implicit);
    b.field(ack, "selective", 6, Scalar::Bytes, Label::Implicit);
    b.field(ack, "window", 7, Scalar::Uint32, Label::Implicit);
}

impl ValueFields {
    fn declare(b: &mut SchemaBuilder) -> ValueFields {
        let message = b.message("Value");
        let values = b.message("Values");
        let v = b.oneof(message, "v");
        ValueFields {
            message,
            i: b.oneof_field(v, "i", 1, Scalar::Sint64),
            d: b.oneof_field(v, "d", 2, Scalar::Double),
            b: b.oneof_field(v, "b", 3, Scalar::Bool),
            s: b.oneof_field(v, "s", 4, Scalar::String),
            x: b.oneof_field(v, "x", 5, Scalar::Bytes),
            id: b.oneof_field(v, "id", 6, Scalar::Bytes),
            time: b.oneof_field(v, "time", 7, Scalar::Sfixed64),
            interval: b.oneof_field(v, "interval", 8, Scalar::Sint64),
            list: b.oneof_field(v, "list", 9, values),
            vector: b.oneof_field(v, "vector", 10, values),
            matrix: b.oneof_field(v, "matrix", 11, values),
            null: b.oneof_field(v, "null", 12, Scalar::Bool),
            element: b.field(values, "v", 1, message, Label::Repeated),
        }
    }
}
