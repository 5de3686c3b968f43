//! Messages inside of `google.protobuf.Any`: a sink that has opened one itself, with its type,
//! receives only the events inside, and closes it itself.

use crate::schema::{FieldId, MessageId};
use crate::sink::{Sink, SinkResult};

/// A sink that opens messages of `Any` itself.
pub(crate) trait Opened {
    /// The message that it opened is complete.
    fn close_opened(&mut self) -> SinkResult;
}

/// The sink, for a message that is already open.
pub(crate) struct Inside<'k, S>(pub(crate) &'k mut S);

impl<'a, S: Opened + Sink<'a>> Sink<'a> for Inside<'_, S> {
    fn end_message(&mut self, _: MessageId) -> SinkResult {
        self.0.close_opened()
    }

    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        self.0.start_sub(field)
    }

    fn end_sub(&mut self, field: FieldId) -> SinkResult {
        self.0.end_sub(field)
    }

    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        self.0.i64(field, value)
    }

    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        self.0.u64(field, value)
    }

    fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
        self.0.i32(field, value)
    }

    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        self.0.u32(field, value)
    }

    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        self.0.f64(field, value)
    }

    fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
        self.0.f32(field, value)
    }

    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        self.0.bool(field, value)
    }

    fn start_string(&mut self, field: FieldId, length: usize) -> SinkResult {
        self.0.start_string(field, length)
    }

    fn string(&mut self, field: FieldId, piece: &'a str) -> SinkResult {
        self.0.string(field, piece)
    }

    fn raw_string(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        self.0.raw_string(field, piece)
    }

    fn end_string(&mut self, field: FieldId) -> SinkResult {
        self.0.end_string(field)
    }

    fn start_bytes(&mut self, field: FieldId, length: usize) -> SinkResult {
        self.0.start_bytes(field, length)
    }

    fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        self.0.bytes(field, piece)
    }

    fn end_bytes(&mut self, field: FieldId) -> SinkResult {
        self.0.end_bytes(field)
    }

    fn unknown(&mut self, number: u32, raw: &'a [u8]) -> SinkResult {
        self.0.unknown(number, raw)
    }

    fn unknown_element(&mut self, number: u32, value: u64) -> SinkResult {
        self.0.unknown_element(number, value)
    }
}
