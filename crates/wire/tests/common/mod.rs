//! A schema with every kind of field, and a sink that records its events.

pub mod random;

use tidemill_wire::schema::FIELD_NUMBER_MAX;
use tidemill_wire::{
    DecodeError, Decoder, Event, FieldId, Label, MessageId, Scalar, Schema, SchemaBuilder, events,
};

/// All scalar types; field `n` of `All` has type `SCALARS[n - 1]`, field `n + 20` is a list of it.
pub const SCALARS: [Scalar; 15] = [
    Scalar::Double,
    Scalar::Float,
    Scalar::Int64,
    Scalar::Uint64,
    Scalar::Int32,
    Scalar::Fixed64,
    Scalar::Fixed32,
    Scalar::Bool,
    Scalar::String,
    Scalar::Bytes,
    Scalar::Uint32,
    Scalar::Sfixed32,
    Scalar::Sfixed64,
    Scalar::Sint32,
    Scalar::Sint64,
];

/// `message All { <scalars>, optional All child = 50;
/// oneof choice { bool left = 60; All right = 61; } optional sint64 far = 536870911; }`
pub struct All {
    pub schema: Schema,
    pub message: MessageId,
    pub single: Vec<FieldId>,
    pub list: Vec<FieldId>,
    pub child: FieldId,
    pub left: FieldId,
    pub right: FieldId,
    pub far: FieldId,
}

impl All {
    pub fn new() -> All {
        let mut b = SchemaBuilder::new("test");
        let message = b.message("All");
        let (mut single, mut list) = (Vec::new(), Vec::new());
        for (i, scalar) in SCALARS.into_iter().enumerate() {
            let number = i as u32 + 1;
            let name = scalar.name();
            single.push(b.field(message, format!("one_{name}"), number, scalar, Label::Optional));
            let name = format!("many_{name}");
            list.push(b.field(message, name, number + 20, scalar, Label::Repeated));
        }
        let child = b.field(message, "child", 50, message, Label::Optional);
        let choice = b.oneof(message, "choice");
        let left = b.oneof_field(choice, "left", 60, Scalar::Bool);
        let right = b.oneof_field(choice, "right", 61, message);
        let far = b.field(message, "far", FIELD_NUMBER_MAX, Scalar::Sint64, Label::Optional);
        let schema = b.build().expect("the schema is sound");
        All { schema, message, single, list, child, left, right, far }
    }

    /// The field of `single` with that type.
    pub fn one(&self, scalar: Scalar) -> FieldId {
        self.single[SCALARS.iter().position(|&s| s == scalar).expect("all are there")]
    }

    /// The field of `list` with that type.
    pub fn many(&self, scalar: Scalar) -> FieldId {
        self.list[SCALARS.iter().position(|&s| s == scalar).expect("all are there")]
    }

    /// All events but start and end of the whole message, and the result.
    pub fn decode<'a>(&self, bytes: &'a [u8]) -> (Vec<Event<'a>>, Result<(), DecodeError>) {
        let mut seen = Vec::new();
        let mut sink = events(|event| {
            if !matches!(event, Event::StartMessage(_) | Event::EndMessage(_)) {
                seen.push(event);
            }
            Ok(())
        });
        let result = Decoder::new(&self.schema).decode(self.message, bytes, &mut sink);
        (seen, result)
    }
}
