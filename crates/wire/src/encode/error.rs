//! Limits of encoders, and why a message was not encoded.

use std::fmt;

/// The maximal nesting of encoded messages: more than any decoder takes by default.
pub const DEPTH_MAX: usize = 1000;

/// Bytes that an encoded message may have.
pub const BYTES_MAX: usize = i32::MAX as usize;

/// Why a message was not encoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EncodeError {
    /// A required field is missing: its path by names from the outermost message.
    MissingRequired {
        /// The names, joined by dots.
        path: String,
    },
    /// Messages nest deeper than [`DEPTH_MAX`].
    TooDeep,
    /// It would have 2 GiB or more.
    TooLarge,
    /// The message is of another schema than the encoder, or of another type than its code.
    WrongMessage,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::MissingRequired { path } => write!(f, "required field {path} is missing"),
            EncodeError::TooDeep => write!(f, "messages nest deeper than {DEPTH_MAX}"),
            EncodeError::TooLarge => f.write_str("the message would have 2 GiB or more"),
            EncodeError::WrongMessage => f.write_str("the encoder is for other messages"),
        }
    }
}

impl std::error::Error for EncodeError {}
