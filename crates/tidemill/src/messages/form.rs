//! The forms that messages have, and what comes of a conversion.

use std::fmt;

/// How messages are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One message, as its bytes.
    Binary,
    /// Messages behind their lengths, which are varints.
    Delimited,
    /// JSON values, one after the other; written one a line.
    Json,
    /// The text format, one message; written with an empty line between several.
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
    /// True if this build writes columns: with the feature `arrow`.
    pub const AVAILABLE: bool = cfg!(feature = "arrow");
}

/// What was converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Messages.
    pub messages: u64,
    /// Bytes of the input.
    pub input_bytes: u64,
    /// Bytes of the output.
    pub output_bytes: u64,
}

/// Why a conversion ended early; what came before it is written.
#[derive(Debug)]
pub enum ConvertError {
    /// A message is wrong.
    Message {
        /// Where in a text, from 1: line and column.
        place: Option<(usize, usize)>,
        /// Which message, from 1.
        number: u64,
        /// What is wrong.
        message: String,
    },
    /// The selected fields cannot be had in that form.
    Selection(String),
    /// There is no such decoder for this machine.
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
