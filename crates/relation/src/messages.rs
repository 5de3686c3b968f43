//! Messages that rules read and write by the name of their type, for `f_decode` and `f_encode`.
//! This crate knows no schema; the host of a program may have some.

use std::fmt;

use crate::flat::{OwnedValue, Seq};

/// The message types of a program.
pub trait Messages: fmt::Debug + Send + Sync {
    /// The fields of a message of this type, by number.
    ///
    /// # Errors
    /// Why these bytes are none.
    fn decode(&self, message: &str, bytes: &[u8]) -> Result<OwnedValue, String>;

    /// The message of this type whose fields, by number, have these values.
    ///
    /// # Errors
    /// Why there is none.
    fn encode(&self, message: &str, fields: Seq<'_>) -> Result<Vec<u8>, String>;

    /// If no type has this name, the error and the help.
    fn missing(&self, message: &str) -> Option<(String, String)>;
}
