//! Merged events: each field once, lists in one piece.
//!
//! In bytes a field that is no list may come twice, and lists may be spread. Text forms need them
//! together; so such bytes are decoded to a message in memory first, which is walked.

use crate::decode::Decoder;
use crate::message::Message;
use crate::schema::MessageId;
use crate::sink::Sink;

/// Walks the message that `bytes` are, merged.
///
/// # Errors
/// Bytes that are no such message; the sink keeps the reason of a stop.
pub(crate) fn walk_merged<S: for<'b> Sink<'b>>(
    decoder: &Decoder<'_>,
    message: MessageId,
    bytes: &[u8],
    sink: &mut S,
) -> Result<(), String> {
    let whole = Message::new(decoder.schema(), message);
    let mut whole = whole.map_err(|error| error.to_string())?;
    let decoded = decoder.decode(message, bytes, &mut whole.builder());
    decoded.map_err(|error| error.to_string())?;
    whole.walk(sink).map_err(|_| "the sink stopped".to_owned())
}
