//! Merged events: each field once, lists in one piece.
//!
//! In bytes a field that is no list may come twice, and lists may be spread. Text forms need them
//! together; so such bytes are decoded to a message in memory first, which is walked.

use std::fmt;

use crate::decode::Decoder;
use crate::message::{Message, MessageError};
use crate::schema::MessageId;
use crate::sink::Sink;

/// Why bytes were not walked as one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MergeError {
    /// They are no such message, or it does not fit in memory.
    Message(MessageError),
    /// The sink stopped.
    Stopped,
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::Message(error) => error.fmt(f),
            MergeError::Stopped => f.write_str("the sink stopped"),
        }
    }
}

impl<E: Into<MessageError>> From<E> for MergeError {
    fn from(error: E) -> MergeError {
        MergeError::Message(error.into())
    }
}

/// Walks the message that `bytes` are, merged.
///
/// # Errors
/// Bytes that are no such message; the sink keeps the reason of a stop.
pub(crate) fn walk_merged<S: for<'b> Sink<'b>>(
    decoder: &Decoder<'_>,
    message: MessageId,
    bytes: &[u8],
    sink: &mut S,
) -> Result<(), MergeError> {
    let mut whole = Message::new(decoder.schema(), message)?;
    decoder.decode(message, bytes, &mut whole.builder())?;
    whole.walk(sink).map_err(|_| MergeError::Stopped)
}
