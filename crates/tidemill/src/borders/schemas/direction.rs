//! Names of stages that read and write messages.

/// What names of this family begin with.
pub(super) const PREFIX: &str = "proto:";
/// What follows it for the way back.
const ENCODE: &str = "encode ";
/// Which way messages go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Decode,
    Encode,
}

/// What a stage of that name does, with messages of which type; nothing, if it is of another
/// family.
pub(crate) fn named(stage: &str) -> Option<(Direction, &str)> {
    let rest = stage.strip_prefix(PREFIX)?;
    Some(match rest.strip_prefix(ENCODE) {
        Some(message) => (Direction::Encode, message.trim_start()),
        None => (Direction::Decode, rest),
    })
}
