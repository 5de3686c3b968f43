//! Secondary indexes: from the values of some columns to the rows that have them.
//!
//! Each distinct key has a chain of rows in the order of their insertion:
//!
//! ```text
//! chains: hash table of (head, tail)      next: one row id per row of the table
//! ```
//! Where one column of the key holds small integers and the others are the same in every row (the
//! location), the chains lie in an array by that integer ([`dense`](super::dense)), and neither
//! hash nor comparison is needed.
//!
//! A removed row stays in its chain and is skipped until the table compacts itself; so removal
//! costs nothing and an iteration is never invalidated.

use hashbrown::HashTable;

use super::chain::{Chain, END, Rows};
use super::dense::Dense;
use super::row::RowId;

#[derive(Clone, Debug)]
pub(super) struct Index {
    /// The columns, ascending.
    pub(super) columns: Vec<u32>,
    chains: HashTable<Chain>,
    /// Replaces the hash table.
    dense: Option<Dense>,
    /// The number of rows from which on to check whether integers are small.
    look_at: u32,
    /// The row after each in its chain, but for those that `dense` has sorted.
    next: Vec<u32>,
}

/// Tables of fewer rows are not checked.
const DENSE_ROWS_MIN: u32 = 8;

impl Index {
    pub(super) fn new(columns: Vec<u32>) -> Index {
        Index {
            columns,
            chains: HashTable::new(),
            dense: None,
            look_at: DENSE_ROWS_MIN,
            next: Vec::new(),
        }
    }

    /// True if a table of `rows` rows should check whether its integers are small: each time it has
    /// doubled.
    pub(super) fn wants_look(&mut self, rows: u32) -> bool {
        let wants = self.dense.is_none() && rows >= self.look_at;
        if wants {
            self.look_at = rows.saturating_mul(2);
        }
        wants
    }

    /// The exclusive limit of integers for which a table of `rows` rows has an array.
    pub(super) fn dense_limit(rows: u32) -> i64 {
        2 * i64::from(rows)
    }

    /// Forgets all rows; from now on chains lie by the integer in this column.
    pub(super) fn restart_dense(&mut self, column: u32) {
        let look_at = self.look_at;
        self.clear();
        self.look_at = look_at;
        self.dense = Some(Dense::new(column));
    }

    /// The column by whose integers the chains lie.
    #[inline]
    pub(super) fn dense_column(&self) -> Option<u32> {
        self.dense.as_ref().map(Dense::column)
    }

    /// Appends `row`, the next that is not known, to the chain of a small integer.
    pub(super) fn append_dense(&mut self, row: RowId, value: i64) {
        if let (Some(dense), Ok(value)) = (&mut self.dense, usize::try_from(value)) {
            dense.append(row, value, &mut self.next);
        }
    }

    /// Sorts the rows of an array, if that is due.
    pub(super) fn sort_dense(&mut self) {
        if let Some(dense) = &mut self.dense {
            dense.sort(&mut self.next);
        }
    }

    /// The rows with this integer, live or not, oldest first.
    #[inline]
    pub(super) fn dense_rows(&self, value: i64) -> Rows<'_> {
        match (&self.dense, usize::try_from(value)) {
            (Some(dense), Ok(value)) => dense.rows(value, &self.next),
            _ => Rows { sorted: &[], next: &[], from: 0, row: END },
        }
    }

    /// The rows of the chain whose first `same_key` accepts, looked for in all of an array.
    pub(super) fn dense_search(&self, same_key: impl Fn(RowId) -> bool) -> Rows<'_> {
        let values = 0..self.dense.as_ref().map_or(0, Dense::height) as i64;
        let found = values.map(|value| self.dense_rows(value).if_first(&same_key));
        found.into_iter().find(|rows| rows.peek().is_some()).unwrap_or_else(|| self.dense_rows(-1))
    }

    /// The number of distinct keys of its rows.
    pub(super) fn keys(&self) -> usize {
        self.dense.as_ref().map_or(self.chains.len(), Dense::keys)
    }

    /// The number of rows of the table, from the first, that are in the index.
    pub(super) fn rows_known(&self) -> u32 {
        (self.dense.as_ref().map_or(0, Dense::sorted) + self.next.len()) as u32
    }

    /// Appends `row`, the next that is not known, to the chain of its key. `same_key` compares
    /// another row's key with it, `hash_of` gives the hash of another row's key.
    pub(super) fn append(
        &mut self,
        row: RowId,
        hash: u64,
        same_key: impl Fn(RowId) -> bool,
        hash_of: impl Fn(RowId) -> u64,
    ) {
        self.next.push(END);
        let found = self.chains.find_mut(hash, |chain| same_key(RowId(chain.head)));
        match found {
            Some(chain) => {
                self.next[chain.tail as usize] = row.0;
                chain.tail = row.0;
            }
            None => {
                let chain = Chain { head: row.0, tail: row.0 };
                self.chains.insert_unique(hash, chain, |chain| hash_of(RowId(chain.head)));
            }
        }
    }

    /// The rows of the key with `hash` for which `same_key` holds, live or not, oldest first.
    pub(super) fn rows(&self, hash: u64, same_key: impl Fn(RowId) -> bool) -> Rows<'_> {
        let found = self.chains.find(hash, |chain| same_key(RowId(chain.head)));
        let row = found.map_or(END, |chain| chain.head);
        Rows { sorted: &[], next: &self.next, from: 0, row }
    }

    pub(super) fn clear(&mut self) {
        self.chains.clear();
        self.dense = None;
        self.look_at = DENSE_ROWS_MIN;
        self.next.clear();
    }

    /// Bytes that the index occupies.
    pub(super) fn bytes(&self) -> usize {
        self.dense.as_ref().map_or(0, Dense::bytes)
            + self.chains.allocation_size()
            + self.next.capacity() * size_of::<u32>()
    }
}
