//! The forms of messages, and the result of a conversion.

use std::fmt;

/// The form of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One message, as its encoding.
    Binary,
    /// Messages preceded by their lengths as varints.
    Delimited,
    /// A sequence of JSON values; written one per line.
    Json,
    /// The text format, one message; written with an empty line between messages.
    Text,
}

/// A file of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnForm {
    /// A stream of Arrow record batches.
    Arrow,
    /// A Parquet file.
    Parquet,
}

impl ColumnForm {
    /// Whether this build supports columns: with the feature `arrow`.
    pub const AVAILABLE: bool = cfg!(feature = "arrow");
}

/// The amount converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Messages.
    pub messages: u64,
    /// Bytes of the input.
    pub input_bytes: u64,
    /// Bytes of the output.
    pub output_bytes: u64,
}

/// Why a conversion ended early; earlier messages are written.
#[derive(Debug)]
pub enum ConvertError {
    /// A message is invalid.
    Message {
        /// The place in a text, from 1: line and column.
        place: Option<(usize, usize)>,
        /// The number of the message, from 1.
        number: u64,
        /// The error.
        message: String,
    },
    /// The selected fields cannot be represented in that form.
    Selection(String),
    /// This machine does not support the decoder.
    Engine(String),
    /// The input cannot be read.
    Read(std::io::Error),
    /// The output cannot be written.
    Write(std::io::Error),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConvertError::Message { place: Some(_), message, .. } => f.write_str(message),
            ConvertError::Message { place: None, number, message } => {
                write!(f, "message {number}: {message}")
            }
            ConvertError::Selection(what) => write!(f, "--select: {what}"),
            ConvertError::Engine(what) => write!(f, "--engine native: {what}"),
            ConvertError::Read(error) => write!(f, "cannot be read: {error}"),
            ConvertError::Write(error) => write!(f, "cannot be written: {error}"),
        }
    }
}

impl std::error::Error for ConvertError {}
