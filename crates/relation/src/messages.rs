//! Messages that rules read and write by the name of their type, for `f_decode` and `f_encode`.
//! This crate knows no schema; the host of a program may have some.

use std::fmt;

use crate::flat::{OwnedValue, Seq};

/// Why bytes are no message, or values make none: a sentence without a final period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageError(pub String);

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MessageError {}

/// The message types of a program.
pub trait Messages: fmt::Debug + Send + Sync {
    /// The fields of a message of this type, by number.
    ///
    /// # Errors
    /// Why these bytes are none.
    fn decode(&self, message: &str, bytes: &[u8]) -> Result<OwnedValue, MessageError>;

    /// The message of this type whose fields, by number, have these values.
    ///
    /// # Errors
    /// Why there is none.
    fn encode(&self, message: &str, fields: Seq<'_>) -> Result<Vec<u8>, MessageError>;

    /// If no type has this name, the error and the help.
    fn missing(&self, message: &str) -> Option<(String, String)>;
}
