//! Columns of files, and why a tuple could not be written.

use std::io;

use tidemill_relation::TypeSet;

/// A column of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The types of its values.
    pub types: TypeSet,
}

/// What to do with files of earlier runs whose names contain the time. Others are replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Existing {
    /// Keep them; new files get a number.
    Kept,
    /// Replace them, so that a simulation repeats.
    Replaced,
}

/// Why a tuple was not written.
pub(super) enum WriteError {
    /// Its values do not fit the columns of the file.
    Misfit,
    /// The file cannot be written.
    Failed(String),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> WriteError {
        WriteError::Failed(error.to_string())
    }
}
