//! The events that a decoder emits for its input.
//!
//! ```text
//! start_message
//!   scalar(field, value)*                      repeated ones once per element
//!   start_string  string*  end_string          likewise start_bytes ...
//!   start_sub     ...      end_sub             the events of the inner message stand between
//!   unknown
//! end_message
//! ```
//! A decoder that has the whole input passes each string in exactly one piece, so a sink for such
//! decoders needs only [`Sink::string`] and [`Sink::bytes`]. Pieces of a string end between
//! characters. Strings that the schema leaves unchecked (`proto2`) come as [`Sink::raw_string`],
//! which hands on what is UTF-8. Events come in the order of the bytes: a field that is no list may
//! come twice, and the later one replaces the earlier; a sub-message that comes twice must be
//! merged.

pub use crate::stop::{SinkResult, Stop};
pub use crate::wants::Wants;

use crate::message::Storage;
use crate::schema::{FieldId, MessageId};

/// Receives the events of one message; `'a` is the lifetime of strings and bytes.
///
/// Every method does nothing by default. `()` is the sink that only validates.
#[allow(unused_variables)]
pub trait Sink<'a> {
    /// The events that the sink handles. Decoders may omit all others: a sink that returns less
    /// than [`Wants::ALL`] does nothing in the other methods.
    #[inline]
    fn wants() -> Wants
    where
        Self: Sized,
    {
        Wants::ALL
    }

    /// The message in memory that it fills, which a native decoder may then fill directly.
    #[doc(hidden)]
    #[inline]
    fn storage(&mut self) -> Option<&mut dyn Storage> {
        None
    }

    /// The outermost message begins.
    #[inline]
    fn start_message(&mut self, message: MessageId) -> SinkResult {
        Ok(())
    }

    /// The outermost message is complete.
    #[inline]
    fn end_message(&mut self, message: MessageId) -> SinkResult {
        Ok(())
    }

    /// A field's message begins.
    #[inline]
    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        Ok(())
    }

    /// A field's message is complete.
    #[inline]
    fn end_sub(&mut self, field: FieldId) -> SinkResult {
        Ok(())
    }

    /// A value of type `int64`, `sint64` or `sfixed64`.
    #[inline]
    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        Ok(())
    }

    /// A value of type `uint64` or `fixed64`.
    #[inline]
    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        Ok(())
    }

    /// A value of type `int32`, `sint32` or `sfixed32`.
    #[inline]
    fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
        Ok(())
    }

    /// A value of type `uint32` or `fixed32`.
    #[inline]
    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        Ok(())
    }

    /// A double; the payload of a NaN is kept.
    #[inline]
    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        Ok(())
    }

    /// A single; the payload of a NaN is kept.
    #[inline]
    fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
        Ok(())
    }

    /// A truth value.
    #[inline]
    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        Ok(())
    }

    /// A string of `length` bytes begins.
    #[inline]
    fn start_string(&mut self, field: FieldId, length: usize) -> SinkResult {
        Ok(())
    }

    /// A piece of a string.
    #[inline]
    fn string(&mut self, field: FieldId, piece: &'a str) -> SinkResult {
        Ok(())
    }

    /// A piece of a string that the schema does not require to be UTF-8. By default it goes to
    /// [`Sink::string`] if it is UTF-8, else to [`Sink::bytes`].
    #[inline]
    fn raw_string(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        match std::str::from_utf8(piece) {
            Ok(text) => self.string(field, text),
            Err(_) => self.bytes(field, piece),
        }
    }

    /// The string is complete.
    #[inline]
    fn end_string(&mut self, field: FieldId) -> SinkResult {
        Ok(())
    }

    /// A string in one piece: by default start, piece and end.
    #[inline]
    fn whole_string(&mut self, field: FieldId, text: &'a str) -> SinkResult {
        self.start_string(field, text.len())?;
        self.string(field, text)?;
        self.end_string(field)
    }

    /// A value of `length` bytes begins.
    #[inline]
    fn start_bytes(&mut self, field: FieldId, length: usize) -> SinkResult {
        Ok(())
    }

    /// A piece of bytes.
    #[inline]
    fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        Ok(())
    }

    /// The bytes are complete.
    #[inline]
    fn end_bytes(&mut self, field: FieldId) -> SinkResult {
        Ok(())
    }

    /// A field that the schema does not have, or has with another wire type, or a number that a
    /// closed enum does not name; `raw` holds its tag and its value, a group with its end.
    #[inline]
    fn unknown(&mut self, number: u32, raw: &'a [u8]) -> SinkResult {
        Ok(())
    }

    /// A number that a closed enum does not name, in a packed list: it is kept like an unknown
    /// field of this number that holds the varint `value`.
    #[inline]
    fn unknown_element(&mut self, number: u32, value: u64) -> SinkResult {
        Ok(())
    }
}

impl Sink<'_> for () {
    #[inline]
    fn wants() -> Wants {
        Wants::NONE
    }

    // Validation accepts any bytes.
    #[inline]
    fn raw_string(&mut self, _: FieldId, _: &[u8]) -> SinkResult {
        Ok(())
    }
}

/// The events of [`Sink`] as values, without those that only announce strings and bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event<'a> {
    /// [`Sink::start_message`].
    StartMessage(MessageId),
    /// [`Sink::end_message`].
    EndMessage(MessageId),
    /// [`Sink::start_sub`].
    StartSub(FieldId),
    /// [`Sink::end_sub`].
    EndSub(FieldId),
    /// [`Sink::i64`].
    I64(FieldId, i64),
    /// [`Sink::u64`].
    U64(FieldId, u64),
    /// [`Sink::i32`].
    I32(FieldId, i32),
    /// [`Sink::u32`].
    U32(FieldId, u32),
    /// [`Sink::f64`].
    F64(FieldId, f64),
    /// [`Sink::f32`].
    F32(FieldId, f32),
    /// [`Sink::bool`].
    Bool(FieldId, bool),
    /// [`Sink::string`], one piece.
    String(FieldId, &'a str),
    /// [`Sink::bytes`], one piece.
    Bytes(FieldId, &'a [u8]),
    /// [`Sink::unknown`].
    Unknown(u32, &'a [u8]),
    /// [`Sink::unknown_element`].
    UnknownElement(u32, u64),
}

/// A closure as a sink; made by [`events`].
pub struct Events<F>(F);

/// Makes a sink of a closure that takes [`Event`]s.
pub fn events<'a, F: FnMut(Event<'a>) -> SinkResult>(handle: F) -> Events<F> {
    Events(handle)
}

/// As [`events`], for streams, whose strings live only for the call.
pub fn stream_events<F: for<'a> FnMut(Event<'a>) -> SinkResult>(handle: F) -> Events<F> {
    Events(handle)
}

impl<'a, F: FnMut(Event<'a>) -> SinkResult> Sink<'a> for Events<F> {
    #[inline]
    fn start_message(&mut self, message: MessageId) -> SinkResult {
        (self.0)(Event::StartMessage(message))
    }

    #[inline]
    fn end_message(&mut self, message: MessageId) -> SinkResult {
        (self.0)(Event::EndMessage(message))
    }

    #[inline]
    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        (self.0)(Event::StartSub(field))
    }

    #[inline]
    fn end_sub(&mut self, field: FieldId) -> SinkResult {
        (self.0)(Event::EndSub(field))
    }

    #[inline]
    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        (self.0)(Event::I64(field, value))
    }

    #[inline]
    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        (self.0)(Event::U64(field, value))
    }

    #[inline]
    fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
        (self.0)(Event::I32(field, value))
    }

    #[inline]
    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        (self.0)(Event::U32(field, value))
    }

    #[inline]
    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        (self.0)(Event::F64(field, value))
    }

    #[inline]
    fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
        (self.0)(Event::F32(field, value))
    }

    #[inline]
    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        (self.0)(Event::Bool(field, value))
    }

    #[inline]
    fn string(&mut self, field: FieldId, piece: &'a str) -> SinkResult {
        (self.0)(Event::String(field, piece))
    }

    #[inline]
    fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
        (self.0)(Event::Bytes(field, piece))
    }

    #[inline]
    fn unknown(&mut self, number: u32, raw: &'a [u8]) -> SinkResult {
        (self.0)(Event::Unknown(number, raw))
    }

    #[inline]
    fn unknown_element(&mut self, number: u32, value: u64) -> SinkResult {
        (self.0)(Event::UnknownElement(number, value))
    }
}
