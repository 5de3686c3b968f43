//! Names of stages that read and write messages.

/// The prefix of their names.
pub(super) const PREFIX: &str = "proto:";
/// Follows the prefix for the encoder.
const ENCODE: &str = "encode ";
/// Whether messages are decoded or encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Decode,
    Encode,
}

/// The direction and message type of a stage name; `None` for stages of another family.
pub(crate) fn named(stage: &str) -> Option<(Direction, &str)> {
    let rest = stage.strip_prefix(PREFIX)?;
    Some(match rest.strip_prefix(ENCODE) {
        Some(message) => (Direction::Encode, message.trim_start()),
        None => (Direction::Decode, rest),
    })
}
