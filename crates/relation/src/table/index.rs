//! Secondary indexes: from the values of some columns to the rows that have them.
//!
//! Each distinct key has a chain of rows in the order of their insertion:
//!
//! ```text
//! chains: hash table of (head, tail)      next: one row id per row of the table
//! ```
//! A row that goes stays in its chain and is skipped until the table compacts itself; so removal
//! costs nothing and an iteration is never invalidated.

use hashbrown::HashTable;

use super::RowId;

/// First and last row of one key.
#[derive(Clone, Copy, Debug)]
struct Chain {
    head: u32,
    tail: u32,
}

const END: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Index {
    /// The columns, ascending.
    pub(super) columns: Vec<u32>,
    chains: HashTable<Chain>,
    next: Vec<u32>,
}

impl Index {
    pub(super) fn new(columns: Vec<u32>) -> Index {
        Index { columns, chains: HashTable::new(), next: Vec::new() }
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
        self.next.clear();
    }

    /// Bytes that the index occupies.
    pub(super) fn bytes(&self) -> usize {
        self.chains.allocation_size() + self.next.capacity() * size_of::<u32>()
    }
}

/// The rows of one chain.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'t> {
    next: &'t [u32],
    row: u32,
}

impl Rows<'_> {
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
