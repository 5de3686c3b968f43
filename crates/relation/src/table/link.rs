//! The primary hash table: entering rows, and growing it.
//!
//! While a matrix of [pairs](super::pairs) knows the rows, new ones need not be in the hash table:
//! they are entered together, before it is read. Then it is resized once, and the cache misses
//! overlap.
//!
//! **Invariant:** rows from `linked` on are live, and not in the hash table.

use super::index::Index;
use super::row::RowId;
use super::rowset::{FILL_AT_REST, FILL_MIN};
use super::state::Table;

impl Table {
    /// Enters the rows that are not in the primary hash table yet.
    #[inline]
    pub fn link(&mut self) {
        if self.linked < self.rows {
            self.link_rest();
        }
    }

    #[cold]
    fn link_rest(&mut self) {
        let rest = (self.rows - self.linked) as usize;
        if !self.primary.has_room(self.rows, rest) {
            return self.link_all(0);
        }
        let mut primary = std::mem::take(&mut self.primary);
        let hasher = self.hasher(&self.key);
        primary.fill_from((self.linked..self.rows).map(|row| (hasher.hash(RowId(row)), row)));
        self.primary = primary;
        self.linked = self.rows;
    }

    /// The first row with a primary key of this hash that `matches`.
    #[inline]
    pub(super) fn find_linked(
        &self,
        hash: u64,
        mut matches: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let found = self.primary.find(hash, &mut matches);
        // Rows are linked before code that searches often.
        found.or_else(|| (self.linked..self.rows).find(|row| matches(*row)))
    }

    /// All rows with a primary key of this hash that `matches`, in no order.
    pub(super) fn find_all_linked(
        &self,
        hash: u64,
        mut matches: impl FnMut(u32) -> bool,
    ) -> Vec<u32> {
        let mut found = self.primary.find_all(hash, &mut matches);
        found.extend((self.linked..self.rows).filter(|row| matches(*row)));
        found
    }

    /// Reserves room in the primary hash table for `rows` more rows.
    #[inline]
    pub(super) fn make_room(&mut self, rows: usize) {
        if !self.primary.has_room(self.rows, rows) {
            self.link_all(rows);
        }
    }

    /// Enters the next row of a bag into the chain of those that are equal.
    pub(super) fn link_equal(&mut self, row: RowId, hash: u64) {
        let mut equals = std::mem::replace(&mut self.equals, Index::new(Vec::new()));
        let same = |other| self.agree(&self.key, row, other);
        let hash_of = |row| self.hash_of(&self.key, row);
        equals.append(row, hash, same, hash_of);
        self.equals = equals;
    }

    /// Enters all rows into the primary hash table, with room for `more` and some beyond.
    pub(super) fn link_all(&mut self, more: usize) {
        let mut primary = std::mem::take(&mut self.primary);
        let known = self.live_rows as usize + self.dying_rows.len();
        let fill = if more > 0 { FILL_MIN } else { FILL_AT_REST };
        primary.restart(known + more, self.rows.saturating_add(more as u32), fill);
        let known = |row: &u32| self.live.get(*row) || self.dying.get(*row);
        match self.halves() {
            Some(hash) if self.live_rows == self.rows => {
                let rows = self.words.chunks_exact(2).map(hash);
                primary.fill_from(rows.zip(0..self.rows));
            }
            _ => {
                let hasher = self.hasher(&self.key);
                let rows = (0..self.rows).filter(known);
                primary.fill_from(rows.map(|row| (hasher.hash(RowId(row)), row)));
            }
        }
        self.primary = primary;
        self.linked = self.rows;
    }
}
