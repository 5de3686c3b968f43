//! How rows are looked up, and which of them a reader sees.

use super::row::RowId;

/// How rows are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// All rows, oldest first.
    Scan,
    /// By the columns of the primary key.
    Primary,
    /// By the columns of a secondary index, given by its number.
    Index(u32),
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
