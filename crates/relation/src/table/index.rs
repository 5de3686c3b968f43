//! Secondary indexes: from the values of some columns to the rows that have them.
//!
//! Each distinct key has a chain of rows in the order of their insertion:
//!
//! ```text
//! chains: hash table of (head, tail)      next: one row id per row of the table
//! ```
//! Where one column of the key holds small integers and the others are the same in every row (the
//! location), the chains lie in an array by that integer, and neither hash nor comparison is
//! needed.
//!
//! A row that goes stays in its chain and is skipped until the table compacts itself; so removal
//! costs nothing and an iteration is never invalidated.

use hashbrown::HashTable;

use super::row::RowId;

/// First and last row of one key.
#[derive(Clone, Copy, Debug)]
struct Chain {
    head: u32,
    tail: u32,
}

const END: u32 = u32::MAX;

/// The chain of a key without rows.
const NONE: Chain = Chain { head: END, tail: END };

/// Chains by the integer in one column.
#[derive(Clone, Debug)]
struct Dense {
    column: u32,
    chains: Vec<Chain>,
}

#[derive(Clone, Debug)]
pub(super) struct Index {
    /// The columns, ascending.
    pub(super) columns: Vec<u32>,
    chains: HashTable<Chain>,
    /// In the place of the hash table.
    dense: Option<Dense>,
    /// Rows from which on it is worth looking whether integers are small.
    look_at: u32,
    next: Vec<u32>,
}

/// Tables of fewer rows are not worth a look.
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

    /// True if a table of so many rows should look whether its integers are small; it is told so
    /// each time it has doubled.
    pub(super) fn wants_look(&mut self, rows: u32) -> bool {
        let wants = self.dense.is_none() && rows >= self.look_at;
        if wants {
            self.look_at = rows.saturating_mul(2);
        }
        wants
    }

    /// The largest integer, exclusively, for which a table of so many rows has an array.
    pub(super) fn dense_limit(rows: u32) -> i64 {
        2 * i64::from(rows)
    }

    /// Forgets all rows; from now on chains lie by the integer in this column.
    pub(super) fn restart_dense(&mut self, column: u32) {
        let look_at = self.look_at;
        self.clear();
        self.look_at = look_at;
        self.dense = Some(Dense { column, chains: Vec::new() });
    }

    /// The column by whose integers the chains lie.
    #[inline]
    pub(super) fn dense_column(&self) -> Option<u32> {
        self.dense.as_ref().map(|dense| dense.column)
    }

    /// Appends `row`, the next that is not known, to the chain of a small integer.
    pub(super) fn append_dense(&mut self, row: RowId, value: i64) {
        let (Some(dense), Ok(value)) = (&mut self.dense, usize::try_from(value)) else { return };
        self.next.push(END);
        if dense.chains.len() <= value {
            dense.chains.resize(value + 1, NONE);
        }
        let chain = &mut dense.chains[value];
        match chain.head {
            END => chain.head = row.0,
            _ => self.next[chain.tail as usize] = row.0,
        }
        chain.tail = row.0;
    }

    /// The rows with this integer, live or not, oldest first.
    #[inline]
    pub(super) fn dense_rows(&self, value: i64) -> Rows<'_> {
        let chain = self.dense.as_ref().and_then(|dense| {
            usize::try_from(value).ok().and_then(|value| dense.chains.get(value))
        });
        Rows { next: &self.next, row: chain.map_or(END, |chain| chain.head) }
    }

    /// The rows of the chain whose first `same_key` accepts, looked for in all of an array.
    pub(super) fn dense_search(&self, same_key: impl Fn(RowId) -> bool) -> Rows<'_> {
        let mut chains = self.dense.iter().flat_map(|dense| &dense.chains);
        let found = chains.find(|chain| chain.head != END && same_key(RowId(chain.head)));
        Rows { next: &self.next, row: found.map_or(END, |chain| chain.head) }
    }

    /// How many rows of the table, from the first, are in the index.
    pub(super) fn rows_known(&self) -> u32 {
        self.next.len() as u32
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
        Rows { next: &self.next, row: found.map_or(END, |chain| chain.head) }
    }

    pub(super) fn clear(&mut self) {
        self.chains.clear();
        self.dense = None;
        self.look_at = DENSE_ROWS_MIN;
        self.next.clear();
    }

    /// Bytes that the index occupies.
    pub(super) fn bytes(&self) -> usize {
        let dense = self.dense.as_ref().map_or(0, |dense| dense.chains.capacity());
        dense * size_of::<Chain>()
            + self.chains.allocation_size()
            + self.next.capacity() * size_of::<u32>()
    }
}

/// The rows of one chain.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'t> {
    next: &'t [u32],
    row: u32,
}

impl Rows<'_> {
    /// The first row that is left.
    #[inline]
    fn peek(&self) -> Option<RowId> {
        (self.row != END).then_some(RowId(self.row))
    }

    /// The chain, if `same` accepts its first row.
    #[inline]
    pub(super) fn if_first(self, same: impl Fn(RowId) -> bool) -> Self {
        match self.peek() {
            Some(row) if !same(row) => Rows { row: END, ..self },
            _ => self,
        }
    }

    /// The rows of the chain from one of its rows on.
    pub(super) fn starting_at(self, row: RowId) -> Self {
        Rows { row: row.0, ..self }
    }
}

impl Iterator for Rows<'_> {
    type Item = RowId;

    #[inline]
    fn next(&mut self) -> Option<RowId> {
        if self.row == END {
            return None;
        }
        let row = self.row;
        self.row = self.next[row as usize];
        Some(RowId(row))
    }
}
