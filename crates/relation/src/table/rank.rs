//! The rank of live rows: the order in which they were derived.
//!
//! A row that views derive is younger than the rows of its table that it was derived from. So a
//! derivation from rows that are older than its result supports it, and cannot be circular. Ids are
//! ranks, except for rows that were put back, which get a new rank.

use std::collections::HashMap;

use super::row::RowId;

/// The ranks of rows that were put back: how many rows came before, and how many were put back
/// before.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranks {
    put_back: HashMap<u32, (u32, u64)>,
    last: u64,
}

impl Ranks {
    #[inline]
    fn rank(&self, row: RowId) -> (u32, u64) {
        if self.put_back.is_empty() {
            (row.0 + 1, 0)
        } else {
            self.put_back.get(&row.0).copied().unwrap_or((row.0 + 1, 0))
        }
    }

    /// Whether a row has a lower rank than another.
    #[inline]
    pub(super) fn is_older(&self, row: RowId, than: RowId) -> bool {
        self.rank(row) < self.rank(than)
    }

    /// Gives a row of a table of `rows` rows the newest rank.
    pub(super) fn renew(&mut self, row: RowId, rows: u32) {
        self.last += 1;
        self.put_back.insert(row.0, (rows, self.last));
    }

    /// Gives rows their new ids after a compaction, which keeps `live` ones.
    pub(super) fn renumber(&mut self, live: &[RowId]) {
        let place = |row: u32| live.partition_point(|other| other.0 < row) as u32;
        let old = std::mem::take(&mut self.put_back);
        for (row, (before, number)) in old {
            let new = place(row);
            if live.get(new as usize) == Some(&RowId(row)) {
                self.put_back.insert(new, (place(before), number));
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.put_back.capacity() * size_of::<(u32, (u32, u64))>()
    }
}
