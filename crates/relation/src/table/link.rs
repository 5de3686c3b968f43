//! The primary hash table: entering rows, and growing it.

use super::index::Index;
use super::row::RowId;
use super::state::Table;

impl Table {
    /// Makes room in the primary hash table for so many more rows.
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
        primary.restart(known + more, self.rows.saturating_add(more as u32));
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
    }
}
