//! Errors of a text, with their place.

use std::borrow::Cow;
use std::fmt;

/// Why a text was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The place in bytes from the start of the text.
    pub offset: usize,
    /// The field by names from the outermost message, joined by dots; empty for none.
    pub path: String,
    /// The error.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, " in {}", self.path) }
    }
}

impl std::error::Error for ReadError {}

/// An error that is propagated: it collects the names of the fields that it passes.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    at: usize,
    message: Cow<'static, str>,
    /// Innermost first.
    path: Vec<String>,
}

impl Fault {
    #[cold]
    pub(crate) fn new(at: usize, message: impl Into<Cow<'static, str>>) -> Fault {
        Fault(Box::new(Inner { at, message: message.into(), path: Vec::new() }))
    }

    /// The sink stopped.
    #[cold]
    pub(crate) fn stopped(at: usize) -> Fault {
        Fault::new(at, "the sink stopped")
    }

    /// Adds the field around it to the path.
    #[cold]
    pub(crate) fn within(mut self, name: &str) -> Fault {
        self.0.path.push(name.to_owned());
        self
    }

    /// The error in the form for callers.
    #[cold]
    pub(crate) fn explain(self, text: &[u8]) -> ReadError {
        let Inner { at, message, mut path } = *self.0;
        let before = &text[..at.min(text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        path.reverse();
        ReadError {
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
            column: String::from_utf8_lossy(&before[line_start..]).chars().count() + 1,
            offset: at,
            path: path.join("."),
            message: message.into_owned(),
        }
    }
}

/// The text, if it is UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, ReadError> {
    crate::utf8::text(bytes)
        .map_err(|error| Fault::new(error.valid_up_to(), "this is not UTF-8").explain(bytes))
}
