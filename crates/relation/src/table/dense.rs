//! Chains of an index, in an array by the small integer in one column.
//!
//! Joins walk the rows of a key again and again, and along a chain each step waits for the one
//! before. So once a table has grown to twice the rows that were sorted last, all rows are sorted
//! by key, which takes no more memory than the chains did: those of a key are then contiguous, and
//! only later rows are in chains.
//!
//! ```text
//! starts   [value] -> where its rows begin in `rows`; they end where the next begin
//! rows     rows by value, each in the order of insertion
//! chains   [value] -> first and last of the rows that came since
//! ```

use super::chain::{Chain, END, NONE, Rows};
use super::row::RowId;

/// Fewer rows are not worth the work.
const SORTED_MIN: usize = 1024;
/// Nor are fewer rows for each integer up to the largest.
const ROWS_A_VALUE_MIN: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Dense {
    column: u32,
    chains: Vec<Chain>,
    starts: Vec<u32>,
    rows: Vec<u32>,
    keys: usize,
}

impl Dense {
    pub(super) fn new(column: u32) -> Dense {
        Dense { column, chains: Vec::new(), starts: Vec::new(), rows: Vec::new(), keys: 0 }
    }

    /// The column that holds the integers.
    #[inline]
    pub(super) fn column(&self) -> u32 {
        self.column
    }

    /// Integers are less than this.
    pub(super) fn height(&self) -> usize {
        self.chains.len()
    }

    /// The number of distinct integers.
    pub(super) fn keys(&self) -> usize {
        self.keys
    }

    /// The number of rows, from the first on, that are sorted.
    #[inline]
    pub(super) fn sorted(&self) -> usize {
        self.rows.len()
    }

    /// Appends `row`, the next that is not known, to the chain of an integer.
    pub(super) fn append(&mut self, row: RowId, value: usize, next: &mut Vec<u32>) {
        next.push(END);
        if self.chains.len() <= value {
            self.chains.resize(value + 1, NONE);
        }
        let is_new = self.sorted_rows(value).is_empty();
        let chain = &mut self.chains[value];
        match chain.head {
            END => {
                chain.head = row.0;
                self.keys += usize::from(is_new);
            }
            _ => next[chain.tail as usize - self.rows.len()] = row.0,
        }
        chain.tail = row.0;
    }

    #[inline]
    fn sorted_rows(&self, value: usize) -> &[u32] {
        match self.starts.get(value..value.saturating_add(2)) {
            Some(&[start, end]) => &self.rows[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The rows with an integer, oldest first.
    #[inline]
    pub(super) fn rows<'t>(&'t self, value: usize, next: &'t [u32]) -> Rows<'t> {
        let row = self.chains.get(value).map_or(END, |chain| chain.head);
        Rows { sorted: self.sorted_rows(value), next, from: self.rows.len() as u32, row }
    }

    /// Sorts all rows and empties the chains, if that is due.
    pub(super) fn sort(&mut self, next: &mut Vec<u32>) {
        let known = self.rows.len() + next.len();
        let few = SORTED_MIN.max(ROWS_A_VALUE_MIN * self.chains.len());
        // Each sort has at least twice the rows of the one before: a row is moved a constant number
        // of times on average.
        if known < few || next.len() < self.rows.len() {
            return;
        }
        let (mut starts, mut rows) = (Vec::with_capacity(self.chains.len() + 1), Vec::new());
        rows.reserve_exact(known);
        for value in 0..self.chains.len() {
            starts.push(rows.len() as u32);
            let Rows { sorted, row: mut at, .. } = self.rows(value, next);
            rows.extend_from_slice(sorted);
            while at != END {
                rows.push(at);
                at = next[at as usize - self.rows.len()];
            }
        }
        starts.push(rows.len() as u32);
        (self.starts, self.rows) = (starts, rows);
        self.chains.fill(NONE);
        *next = Vec::new();
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.chains.capacity() * size_of::<Chain>()
            + (self.starts.capacity() + self.rows.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tidemill_stdx::rng::Rng;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "thousands of rows")]
    fn rows_are_found_in_order_whatever_was_sorted() {
        for seed in 0..4 {
            let mut random = Rng::new(seed);
            let (mut dense, mut next) = (Dense::new(0), Vec::new());
            let mut model: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
            // Later seeds have more integers than rows are sorted for.
            let below = [50, 300, 2000, 100_000][seed as usize];
            for row in 0..10_000 {
                let most = 1 + random.below(below);
                let value = random.below(most) as usize;
                dense.append(RowId(row), value, &mut next);
                model.entry(value).or_default().push(row);
                if random.below(1000) == 0 {
                    dense.sort(&mut next);
                }
            }
            assert_eq!(dense.sorted() > 0, seed < 3, "{seed}");
            assert_eq!(dense.sorted() + next.len(), 10_000);
            assert_eq!(dense.keys(), model.len());
            for value in 0..dense.height() + 10 {
                let expected = model.get(&value).map_or(&[][..], |rows| rows);
                let rows = dense.rows(value, &next);
                let found: Vec<u32> = rows.clone().map(|row| row.0).collect();
                assert_eq!(found, expected);
                let mut folded = Vec::new();
                rows.clone().for_each(|row| folded.push(row.0));
                assert_eq!(folded, expected);
                if let Some(at) = found.len().checked_sub(1).map(|last| last / 2) {
                    let rest = rows.starting_at(RowId(found[at]));
                    assert!(rest.map(|row| row.0).eq(found[at..].iter().copied()));
                }
            }
        }
    }
}
