//! What files are made of, and what is wrong with what is not written.

use std::io;

use tidemill_relation::TypeSet;

/// A column of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub types: TypeSet,
}

/// What becomes of files of earlier runs whose names follow the time. Others are replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Existing {
    /// The new ones get a number.
    Kept,
    /// They are replaced, so that a simulation repeats.
    Replaced,
}

/// Why a tuple was not written.
pub(super) enum Wrong {
    /// It has other values than the file has columns for.
    Misfit,
    /// The file cannot be written.
    Failed(String),
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Wrong {
        Wrong::Failed(error.to_string())
    }
}
