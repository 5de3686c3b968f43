//! Insertion of tuples.

use super::column;
use super::row::RowId;
use super::state::Table;
use crate::value::Value;

/// The result of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// A new row; the live row with the same key, if there was one, is dying now.
    New {
        /// The row.
        row: RowId,
        /// The row that had its key.
        replaced: Option<RowId>,
    },
    /// The row had been deleted in this commit and is live again.
    Revived {
        /// The row.
        row: RowId,
        /// The row that had its key meanwhile.
        replaced: Option<RowId>,
    },
    /// An equal live row existed.
    Refreshed(RowId),
}

/// The table is full: 2^32 rows, or 4 GiB of long values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableFull;

impl std::fmt::Display for TableFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the table is full: 2^32 rows or 4 GiB of long values")
    }
}

impl std::error::Error for TableFull {}

impl Table {
    /// Inserts a tuple; see [`Inserted`].
    ///
    /// # Errors
    /// [`TableFull`], and the table is as before.
    pub fn insert(&mut self, values: &[Value<'_>], now_ns: u64) -> Result<Inserted, TableFull> {
        debug_assert_eq!(values.len(), self.spec.arity as usize);
        self.link();
        let hash = self.key_hash_of(values);
        let bag = self.is_bag();
        let mut replaced = None;
        if !bag && let Some(row) = self.find_hashed(hash, values) {
            if self.row_equals(row, values) {
                self.touch(row, now_ns);
                return Ok(Inserted::Refreshed(row));
            }
            replaced = Some(row);
        }
        let revived = if self.dying_rows.is_empty() || bag {
            None
        } else {
            self.find_equal_where(hash, values, |row| self.dying.get(row.0))
        };
        let row = match revived {
            Some(row) => row,
            None => self.append(hash, values)?,
        };
        if let Some(replaced) = replaced {
            self.remove(replaced);
        }
        self.touch(row, now_ns);
        if revived.is_some() {
            self.revive(row);
            return Ok(Inserted::Revived { row, replaced });
        }
        Ok(Inserted::New { row, replaced })
    }

    fn append(&mut self, hash: u64, values: &[Value<'_>]) -> Result<RowId, TableFull> {
        let need = values.iter().map(column::heap_need).sum();
        // The last id marks the end of index chains.
        if self.rows >= u32::MAX - 1 || !self.heap.has_room(need) {
            return Err(TableFull);
        }
        self.widen_for(values);
        let row = RowId(self.rows);
        let start = self.words.len();
        self.reserve_rows(1);
        self.words.resize(start + self.stride, 0);
        for (column, value) in self.columns.iter().zip(values) {
            let from = start + column.offset;
            let words = &mut self.words[from..from + column.repr.words()];
            column::store(&column.repr, words, &mut self.heap, value);
        }
        self.enter(row, hash);
        Ok(row)
    }

    /// Makes a row live whose words are stored: the next one.
    fn enter(&mut self, row: RowId, hash: u64) {
        if self.is_bag() {
            self.link_equal(row, hash);
        } else {
            self.make_room(1);
            self.primary.insert(hash, row.0);
        }
        self.rows += 1;
        self.linked = self.rows;
        self.live_rows += 1;
        self.live.set(row.0);
        if let Some(pairs) = &mut self.pairs {
            pairs.note(&self.words[row.0 as usize * self.stride..]);
        }
    }

    /// Makes room for the words of `rows` more rows; large tables grow by a quarter at a time.
    #[inline]
    pub(super) fn reserve_rows(&mut self, rows: usize) {
        let (words, more) = (self.words.len(), rows * self.stride);
        if self.words.capacity() - words < more {
            if words < 1 << 16 {
                self.words.reserve(more)
            } else {
                self.words.reserve_exact(more.max(words / 4))
            }
        }
    }
}
