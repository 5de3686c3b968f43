//! Messages into bytes by tables, backwards in one pass: the content of a sub-message is written
//! before its length, which is known then (`back.rs`). The tables are the steps of the schema, the
//! pass is in `walk.rs`.
//!
//! It needs no compilation and is the reference for the native encoder. Fields are written
//! ascending by number, extensions among them, then unknown fields as they came. Entries of maps
//! have key and value always; extensions of a set of messages are its items.

use super::back::{self, EncodeBuffer};
pub use super::error::{BYTES_MAX, DEPTH_MAX, EncodeError};
use super::length::Length;
use super::walk::Whole;
use crate::message::{MapOrder, MessageRef};

/// Encodes messages of any type; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoder {
    pub(super) order: MapOrder,
    pub(super) check_required: bool,
}

impl Encoder {
    /// An encoder that writes maps in the order in which they are stored and does not check
    /// required fields.
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Sets the order of entries of maps; by key, equal messages have equal bytes, but for the
    /// order of unknown fields.
    pub fn map_order(self, order: MapOrder) -> Encoder {
        Encoder { order, ..self }
    }

    /// Refuses messages that lack required fields.
    pub fn check_required(self) -> Encoder {
        Encoder { check_required: true, ..self }
    }

    /// The encoded message.
    ///
    /// # Errors
    /// It nests too deep or is too large; a required field is missing, if that is checked.
    pub fn encode(&self, message: MessageRef<'_>) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        self.append(message, &mut out)?;
        Ok(out)
    }

    /// Appends the encoded message to `out`; nothing if there is an error.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn append(&self, message: MessageRef<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self.whole(message)? {
            Some(whole) => back::append(out, |back, at| whole.write(back, at)),
            None => Ok(()),
        }
    }

    /// The encoded message in a buffer, until the next one: nothing is moved and, once it is large
    /// enough, no memory taken.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn encode_into<'b>(
        &self,
        message: MessageRef<'_>,
        buffer: &'b mut EncodeBuffer,
    ) -> Result<&'b [u8], EncodeError> {
        match self.whole(message)? {
            Some(whole) => buffer.write(|back, at| whole.write(back, at)),
            None => Ok(&[]),
        }
    }

    /// Bytes that the encoded message takes.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn len(&self, message: MessageRef<'_>) -> Result<usize, EncodeError> {
        self.check(message)?;
        let length = Length::new(message.schema);
        message.record.map_or(Ok(0), |record| length.of(message.layout, record, 0))
    }

    fn whole<'m>(&self, message: MessageRef<'m>) -> Result<Option<Whole<'m>>, EncodeError> {
        self.check(message)?;
        let (schema, order) = (message.schema, self.order);
        let whole =
            |record| Whole { schema, order, message: message.message_type(), record, depth: 0 };
        Ok(message.record.map(whole))
    }

    fn check(&self, message: MessageRef<'_>) -> Result<(), EncodeError> {
        if self.check_required
            && let Some(path) = message.missing_required()
        {
            return Err(EncodeError::MissingRequired { path });
        }
        Ok(())
    }
}
