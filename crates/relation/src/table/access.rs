//! The look-up of rows, and the rows that a reader sees.

use super::row::RowId;

/// The look-up of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// All rows, oldest first.
    Scan,
    /// By the columns of the primary key.
    Primary,
    /// By the columns of a secondary index, given by its number.
    Index(u32),
    /// By all columns but the last of an ordered index, given by its number, and
    /// [limits](super::Limit) of the last.
    Ordered(u32),
}

/// Which rows a reader sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visible {
    /// Live rows.
    Live,
    /// Live rows with ids below this one.
    Below(RowId),
    /// Live rows with ids from the first on and below the second.
    Within(RowId, RowId),
    /// Live rows of a lower rank than this one.
    OlderThan(RowId),
    /// Rows that were live at some time in this commit.
    Ever,
    /// Rows that were live when this commit began.
    Before,
}
