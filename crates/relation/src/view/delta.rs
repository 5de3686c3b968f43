//! The rows of a delta: which entries of a log start the strand of an atom.
//!
//! The log of a table has an entry in `fresh` for each row that became live in the commit, and one
//! in `gone` for each that ceased to be, in order; nothing is taken out. So an entry may be
//! outdated, and each delta takes those that still hold:
//!
//! | in this commit the row was | entries | is in |
//! |---|---|---|
//! | inserted | `fresh` | `Inserted`, `Blocking` |
//! | removed | `gone` | `Removed`, `Unblocking` |
//! | inserted, then removed | `fresh`, `gone` | `Removed`: something may follow from it already |
//! | removed, then put back | `gone`, `fresh` | `Inserted`, `Blocking`: the same may be retracted |
//!
//! An atom meets each entry once ([`Delta::met`]), whether it takes the row or not. An atom that is
//! negated has the deltas `Blocking` and `Unblocking`, the others `Removed` and `Inserted`.

use super::changes::ChangeLog;
use crate::plan::Atom;
use crate::table::{RowId, Table};

/// How many entries of the log of its relation an atom has met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    pub(super) fresh: usize,
    pub(super) gone: usize,
    pub(super) refreshed: usize,
}

/// The rows of an atom's relation that start a strand, by what they mean to the atom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Delta {
    /// Removed rows: what was derived from them is retracted.
    Removed,
    /// New rows of a negated atom: what was derived from their absence is retracted.
    Blocking,
    /// New rows: they derive.
    Inserted,
    /// Removed rows of a negated atom: their absence derives.
    Unblocking,
    /// Rows of soft state that were inserted again: they refresh what they derive.
    Refreshed,
}

impl Delta {
    /// The delta whose consequences an atom retracts.
    pub(super) fn retracting(atom: &Atom) -> Delta {
        if atom.negated { Delta::Blocking } else { Delta::Removed }
    }

    /// The entries of a log among which its rows are.
    pub(super) fn entries(self, log: &ChangeLog) -> &[RowId] {
        match self {
            Delta::Inserted | Delta::Blocking => &log.fresh,
            Delta::Removed | Delta::Unblocking => &log.gone,
            Delta::Refreshed => &log.refreshed,
        }
    }

    /// The number of entries met. An atom uses `fresh` and `gone` for one delta each, as it is
    /// negated or not.
    pub(super) fn met(self, cursor: &mut Cursor) -> &mut usize {
        match self {
            Delta::Inserted | Delta::Blocking => &mut cursor.fresh,
            Delta::Removed | Delta::Unblocking => &mut cursor.gone,
            Delta::Refreshed => &mut cursor.refreshed,
        }
    }

    /// Whether an entry is one of its rows: what a later entry has undone is not.
    pub(super) fn has(self, table: &Table, row: RowId) -> bool {
        match self {
            Delta::Inserted | Delta::Blocking | Delta::Refreshed => table.is_live(row),
            Delta::Removed => !table.is_live(row),
            // The absence of a row inserted and removed in this commit is not new.
            Delta::Unblocking => !table.is_live(row) && table.was_live(row),
        }
    }
}
