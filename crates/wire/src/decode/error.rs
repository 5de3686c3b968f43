//! What is wrong with a message, and where.

use std::fmt;

use super::Machine;

/// The kinds of fault that bytes can have, and the sink's wish to stop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorKind {
    /// The input ends inside a field.
    Truncated,
    /// A field reaches over the end of the sub-message it stands in.
    PastParent,
    /// A varint goes on after ten bytes.
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
    /// The input is longer than the limit.
    TooLarge,
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
            ErrorKind::Stopped => "stopped",
        }
    }
}

/// A fault and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Where the tag of the failing field begins, in bytes from the start of the input.
    pub offset: usize,
    /// The failing field by names from the outermost message, joined by dots; a field without a
    /// name by its number; a field whose tag could not be read is missing.
    pub path: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind.name(), self.offset)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, " in {}", self.path) }
    }
}

impl std::error::Error for DecodeError {}

impl<S> Machine<'_, '_, '_, S> {
    /// The error of that kind at the current field.
    #[cold]
    pub(super) fn error(&self, kind: ErrorKind) -> DecodeError {
        let mut path: Vec<String> =
            self.frames.iter().map(|frame| self.schema.field(frame.field).name().into()).collect();
        if self.number != 0 {
            let field = self.schema.field_by_number(self.message, self.number);
            path.push(match field {
                Some(field) => self.schema.field(field).name().into(),
                None => self.number.to_string(),
            });
        }
        DecodeError { kind, offset: self.tag_offset, path: path.join(".") }
    }
}
