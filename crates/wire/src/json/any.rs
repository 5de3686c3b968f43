//! `google.protobuf.Any`: messages inside of bytes.

use super::mapping::Shape;
use super::write::{AnyParts, JsonSink, WriteProblem};
use crate::decode::{Decoder, ErrorKind};
use crate::merge::walk_merged;
use crate::schema::{FieldId, MessageId, Schema};
use crate::sink::{Flow, Sink, Stop};

/// The message that a type URL names.
pub(crate) fn message_of(schema: &Schema, type_url: &str) -> Option<MessageId> {
    let (_, name) = type_url.rsplit_once('/')?;
    schema.message_by_name(name)
}

/// Writes the message inside of an `Any` as JSON.
pub(super) fn write(sink: &mut JsonSink<'_, '_>, any: &AnyParts) -> Flow {
    let schema = sink.mapping.schema();
    let Ok(type_url) = std::str::from_utf8(&any.type_url) else { return Err(Stop) };
    let message = message_of(schema, type_url);
    let entry = |&id: &MessageId| sink.mapping.message(id).shape == Shape::Entry;
    let Some(message) = message.filter(|id| !entry(id)) else {
        return Err(sink.refuse(format!("an Any holds a `{type_url}`, which is not known")));
    };
    let (decoder, mark) = (Decoder::new(schema), sink.mark());
    sink.open_in_any(message, type_url);
    let mut inside = Inside(sink);
    let error = match decoder.decode(message, &any.value, &mut inside) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    if error.kind != ErrorKind::Stopped {
        return Err(sink.refuse(format!("the bytes of an Any are no {type_url}: {error}")));
    }
    if sink.problem() != Some(&WriteProblem::NeedsMerge) {
        return Err(Stop);
    }
    sink.return_to(&mark);
    sink.open_in_any(message, type_url);
    let walked = walk_merged(&decoder, message, &any.value, &mut Inside(sink));
    sink.go_on(&mark);
    walked.map_err(|_| Stop)
}

/// The sink, for a message that is already open.
struct Inside<'k, 'm, 's>(&'k mut JsonSink<'m, 's>);

impl<'a> Sink<'a> for Inside<'_, '_, '_> {
    fn end_message(&mut self, _: MessageId) -> Flow {
        self.0.close_in_any()
    }

    fn start_sub(&mut self, field: FieldId) -> Flow {
        self.0.start_sub(field)
    }

    fn end_sub(&mut self, field: FieldId) -> Flow {
        self.0.end_sub(field)
    }

    fn i64(&mut self, field: FieldId, value: i64) -> Flow {
        self.0.i64(field, value)
    }

    fn u64(&mut self, field: FieldId, value: u64) -> Flow {
        self.0.u64(field, value)
    }

    fn i32(&mut self, field: FieldId, value: i32) -> Flow {
        self.0.i32(field, value)
    }

    fn u32(&mut self, field: FieldId, value: u32) -> Flow {
        self.0.u32(field, value)
    }

    fn f64(&mut self, field: FieldId, value: f64) -> Flow {
        self.0.f64(field, value)
    }

    fn f32(&mut self, field: FieldId, value: f32) -> Flow {
        self.0.f32(field, value)
    }

    fn bool(&mut self, field: FieldId, value: bool) -> Flow {
        self.0.bool(field, value)
    }

    fn start_string(&mut self, field: FieldId, length: usize) -> Flow {
        self.0.start_string(field, length)
    }

    fn string(&mut self, field: FieldId, piece: &'a str) -> Flow {
        self.0.string(field, piece)
    }

    fn raw_string(&mut self, field: FieldId, piece: &'a [u8]) -> Flow {
        self.0.raw_string(field, piece)
    }

    fn end_string(&mut self, field: FieldId) -> Flow {
        self.0.end_string(field)
    }

    fn start_bytes(&mut self, field: FieldId, length: usize) -> Flow {
        self.0.start_bytes(field, length)
    }

    fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> Flow {
        self.0.bytes(field, piece)
    }

    fn end_bytes(&mut self, field: FieldId) -> Flow {
        self.0.end_bytes(field)
    }

    fn unknown(&mut self, number: u32, raw: &'a [u8]) -> Flow {
        self.0.unknown(number, raw)
    }

    fn unknown_element(&mut self, number: u32, value: u64) -> Flow {
        self.0.unknown_element(number, value)
    }
}
