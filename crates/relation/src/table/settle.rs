//! The end of a commit: dying rows are dead, and their memory is reclaimed.

use super::column;
use super::index::Index;
use super::ordered::OrderedIndex;
use super::row::RowId;
use super::state::{Column, Table, Traffic};

impl Table {
    /// Ends a commit: dying rows are dead; row ids given out so far are void.
    pub fn settle(&mut self) {
        self.link();
        self.pairs = None;
        let dying = std::mem::take(&mut self.dying_rows);
        let mut gone = 0;
        for &row in &dying {
            // Revived rows are in the list too.
            if !self.dying.get(row.0) {
                continue;
            }
            self.dying.clear_bit(row.0);
            gone += u32::from(row.0 < self.fresh_from);
            // A bag's rows stay in their chains until the table compacts itself.
            if !self.is_bag() {
                self.primary.remove(self.hash_of(&self.key, row), row.0);
            }
            if !self.heap.bytes.is_empty() {
                self.heap.dead += self.heap_bytes(row);
            }
        }
        self.dying_rows = dying;
        self.dying_rows.clear();
        self.traffic.inserted += u64::from(self.live_rows + gone - self.settled_rows);
        self.traffic.gone += u64::from(gone);
        self.settled_rows = self.live_rows;
        let dead = self.rows - self.live_rows;
        if dead > self.live_rows + 32 || self.heap.dead > self.heap.bytes.len() / 2 + 4096 {
            self.compact();
        }
        self.fresh_from = self.rows;
        // Memory that a large commit has reserved and not used is released.
        let words = self.words.len();
        if self.words.capacity() > words + words / 16 + 4096 {
            self.words.shrink_to(words + words / 32);
        }
    }

    /// The rows that have come and gone so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Continues the counts of a table that this one replaces, as if its rows had come and gone
    /// there.
    pub fn continues(&mut self, other: &Table) {
        let (rows, before) = (u64::from(self.settled_rows), u64::from(other.settled_rows));
        self.traffic = Traffic {
            inserted: other.traffic.inserted + rows.saturating_sub(before),
            gone: other.traffic.gone + before.saturating_sub(rows),
        };
    }

    /// Moves the live rows together, in order, and forgets the dead ones.
    fn compact(&mut self) {
        let live: Vec<RowId> = (0..self.rows).map(RowId).filter(|&r| self.is_live(r)).collect();
        if live.is_empty() {
            self.reset();
            return;
        }
        self.rewrite(self.columns.clone(), self.stride, live.iter().copied());
        self.heap.dead = 0;
        self.ranks.renumber(&live);
        if let Some(ages) = &mut self.ages {
            ages.renumber(|row| live.binary_search(&row).ok().map(|new| RowId(new as u32)));
        }
        let old_asserted = std::mem::take(&mut self.asserted);
        self.live.clear();
        self.indexes.iter_mut().for_each(Index::clear);
        self.ordered.iter_mut().for_each(OrderedIndex::clear);
        self.rows = live.len() as u32;
        self.linked = self.rows;
        for (new, old) in live.iter().enumerate() {
            let row = RowId(new as u32);
            self.live.set(row.0);
            if old_asserted.get(old.0) {
                self.asserted.set(row.0);
            }
        }
        if self.is_bag() {
            self.equals.clear();
            for row in (0..self.rows).map(RowId) {
                self.link_equal(row, self.hash_of(&self.key, row));
            }
        } else {
            self.link_all(0);
        }
    }

    fn reset(&mut self) {
        let spec = self.spec.clone();
        *self = Table::new(spec, self.secret);
    }

    fn heap_bytes(&self, row: RowId) -> usize {
        let of_column =
            |column: &Column| column::heap_bytes(&column.repr, self.column_words(column, row));
        self.columns.iter().map(of_column).sum()
    }
}
