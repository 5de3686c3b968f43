//! The purpose of code, and why there may be none.

use std::fmt;

use super::records::Strings;
use crate::message::layout::Maps;
use crate::sink::Wants;

/// Why there is no native decoder.
#[derive(Debug)]
#[non_exhaustive]
pub enum NativeError {
    /// No code can be made for this machine, or there is no memory for it.
    Code(tidemill_jit::Error),
    /// The code of the types decoded before has reached the limit for all types together.
    TooMuchCode,
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no native decoder: ")?;
        match self {
            NativeError::Code(error) => error.fmt(f),
            NativeError::TooMuchCode => f.write_str("too much code for the types of one schema"),
        }
    }
}

impl std::error::Error for NativeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            NativeError::Code(error) => Some(error),
            NativeError::TooMuchCode => None,
        }
    }
}

/// The target of the code.
#[derive(Debug)]
pub(super) enum Serves {
    /// Sinks that need no other events.
    Sinks(Wants),
    /// Messages in memory of the schema.
    Messages(Maps, Strings),
}

/// Whether the text of the machine code is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// For [`Native::listing`](super::Native::listing).
    Kept,
    /// It is dropped.
    Dropped,
}
