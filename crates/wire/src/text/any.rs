//! `google.protobuf.Any` as text: the message that is in it, where its type is known.

use super::write::TextSink;
use crate::decode::{Decoder, ErrorKind};
use crate::json::{WriteProblem, message_of};
use crate::merge::walk_merged;
use crate::schema::{FieldId, MessageId};
use crate::sink::{Flow, Sink};

/// Writes the message inside of an `Any`; false if that cannot be done, and nothing is written.
pub(super) fn expand(sink: &mut TextSink<'_, '_>, type_url: &[u8], value: &[u8]) -> bool {
    let schema = sink.mapping.schema();
    let type_url = std::str::from_utf8(type_url).ok();
    let Some((type_url, message)) =
        type_url.and_then(|type_url| Some((type_url, message_of(schema, type_url)?)))
    else {
        return false;
    };
    let (decoder, mark) = (Decoder::new(schema), sink.mark());
    sink.open_any(message, type_url);
    let error = match decoder.decode(message, value, &mut Inside(sink)) {
        Ok(()) => return true,
        Err(error) => error,
    };
    let merge =
        error.kind == ErrorKind::Stopped && sink.problem() == Some(&WriteProblem::NeedsMerge);
    sink.return_to(&mark);
    if merge {
        sink.open_any(message, type_url);
        if walk_merged(&decoder, message, value, &mut Inside(sink)).is_ok() {
            return true;
        }
        sink.return_to(&mark);
    }
    false
}

/// The sink, for a message that is already open.
struct Inside<'k, 'm, 's>(&'k mut TextSink<'m, 's>);

impl<'a> Sink<'a> for Inside<'_, '_, '_> {
    fn end_message(&mut self, _: MessageId) -> Flow {
        self.0.close_any()
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
