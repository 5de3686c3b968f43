//! Decode errors with their place.

use std::fmt::{self, Write};

use super::state::DecodeState;
use super::tables::Tables;
use super::tally::Tally;
use crate::schema::{FieldId, Schema};

/// The kinds of errors of bytes, and a stop by the sink.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorKind {
    /// The input ends inside a field.
    Truncated,
    /// A field reaches over the end of the sub-message it stands in.
    PastParent,
    /// A varint of more than ten bytes.
    VarintTooLong,
    /// Field number 0, or above the highest.
    BadFieldNumber,
    /// Wire type 6 or 7.
    BadWireType,
    /// The end of a group that is not open, or of another than the innermost.
    EndGroup,
    /// A packed list ends inside an element.
    PackedLength,
    /// A string that is not UTF-8.
    InvalidUtf8,
    /// Sub-messages or groups nest too deep.
    TooDeep,
    /// The input is longer than the limit, or says that it will be.
    TooLarge,
    /// A message without one of its required fields, which the path names.
    MissingRequired,
    /// The sink stopped the walk.
    Stopped,
}

impl ErrorKind {
    /// A short name for counters and messages.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Truncated => "truncated",
            ErrorKind::PastParent => "past-parent",
            ErrorKind::VarintTooLong => "varint-too-long",
            ErrorKind::BadFieldNumber => "bad-field-number",
            ErrorKind::BadWireType => "bad-wire-type",
            ErrorKind::EndGroup => "end-group",
            ErrorKind::PackedLength => "packed-length",
            ErrorKind::InvalidUtf8 => "invalid-utf8",
            ErrorKind::TooDeep => "too-deep",
            ErrorKind::TooLarge => "too-large",
            ErrorKind::MissingRequired => "missing-required",
            ErrorKind::Stopped => "stopped",
        }
    }
}

/// A fault and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// Where the tag of the failing field begins, in bytes from the start of the input. Of a
    /// missing field: where that of its message begins.
    pub offset: usize,
    /// The failing field by names from the outermost message, `person.phones[3].number`; an
    /// extension by its full name in brackets, a field without a name by its number; a field whose
    /// tag could not be read is missing.
    pub path: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind.name(), self.offset)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, " in {}", self.path) }
    }
}

impl std::error::Error for DecodeError {}

/// The error of this kind at the current field of `state`; `tally` has read up to its tag.
#[cold]
pub(super) fn error(
    kind: ErrorKind,
    schema: &Schema,
    tables: &Tables,
    state: &DecodeState,
    tally: &Tally,
) -> DecodeError {
    let mut path = String::new();
    let frames = state.frames.as_slice();
    for (depth, frame) in frames.iter().enumerate() {
        let entry = tables.entry(frame.entry);
        let index = entry.repeated.then(|| tally.count_at(depth, frame.start, entry.number()));
        // The element around it was counted when it began.
        add(&mut path, schema, entry.field, index.flatten().and_then(|count| count.checked_sub(1)));
    }
    if state.number != 0 {
        let node = tables.node(state.node);
        match schema.field_by_number(node.message, state.number) {
            Some(id) => {
                let entry = tables.find(node, state.number);
                let repeated = tables.entries().get(entry as usize).is_some_and(|one| one.repeated);
                let index =
                    repeated.then(|| tally.count(frames, state.tag_start, state.number)).flatten();
                add(&mut path, schema, id, index);
            }
            None => {
                separate(&mut path);
                // Writing to a string cannot fail.
                let _ = write!(path, "{}", state.number);
            }
        }
    }
    DecodeError { kind, offset: state.tag_start, path }
}

fn separate(path: &mut String) {
    if !path.is_empty() {
        path.push('.');
    }
}

fn add(path: &mut String, schema: &Schema, field: FieldId, index: Option<u32>) {
    separate(path);
    let field = schema.field(field);
    // Writing to a string cannot fail.
    let _ = match field.extension_name() {
        Some(name) => write!(path, "[{name}]"),
        None => write!(path, "{}", field.name()),
    };
    if let Some(index) = index {
        let _ = write!(path, "[{index}]");
    }
}
