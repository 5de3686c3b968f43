//! Ordered indexes: the rows whose value in one column lies within limits.
//!
//! Rows that agree in the other columns of the index are a *group*. Its rows lie in one array, as
//! sorted runs of decreasing size and a short unsorted tail:
//!
//! ```text
//! | run 0, sorted by value | run 1, sorted | tail, in the order of insertion |
//! ```
//! A tail that has grown becomes a run, and runs of similar size are merged, up to a limit
//! (J. L. Bentley, J. B. Saxe, *Decomposable Searching Problems I*, Journal of Algorithms 1, 1980).
//! So a new row costs O(log n) comparisons on average, and a look-up two binary searches in each of
//! O(log n) runs.
//!
//! A look-up may find more rows than the limits admit, never fewer: the tail is not searched, and
//! a section of values that compare with a limit in another order than that of the run is found as
//! a whole. The conditions that the limits come from follow the look-up and decide.
//!
//! A removed row stays in its group until the table compacts itself, as in other
//! [indexes](super::index).

use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::value::Value;

/// A limit of the values in the last column of an ordered index.
#[derive(Clone, Copy, Debug)]
pub struct Limit<'v> {
    /// On which side of the value they lie.
    pub side: Side,
    /// The value.
    pub value: Value<'v>,
    /// What the limited expression adds to the column, which then holds integers only. Rows for
    /// which the sum overflows are found.
    pub added: i64,
}

/// The side of a limit on which values lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Less than the limit.
    Less,
    /// Less, or equal.
    AtMost,
    /// Greater than the limit.
    Greater,
    /// Greater, or equal.
    AtLeast,
}

/// An ordered index; see the module.
#[derive(Clone, Debug)]
pub(super) struct OrderedIndex {
    /// The columns in which the rows of a group agree, ascending.
    pub(super) prefix: Vec<u32>,
    /// The column that orders them.
    pub(super) column: u32,
    /// Positions in `groups`, by the hash of the prefix.
    pub(super) by_prefix: HashTable<u32>,
    pub(super) groups: Vec<Group>,
    /// The number of rows of the table, from the first, that are in the index.
    pub(super) rows_known: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Never empty.
    pub(super) rows: Vec<u32>,
    /// The end of each sorted run.
    pub(super) runs: SmallVec<[u32; 4]>,
}

/// A tail of this number of rows is sorted. Tests use small tables.
pub(super) const TAIL_MAX: usize = if cfg!(debug_assertions) { 2 } else { 16 };

/// Runs are not merged to one of more rows: that would hold up the turn for long.
pub(super) const MERGED_MAX: usize = 1 << 17;

/// Tables of fewer rows are scanned, not indexed, where no column is given.
pub const ORDERED_ROWS_MIN: u32 = 64;

const INDEXED_ROWS_MIN: u32 = if cfg!(debug_assertions) { 4 } else { ORDERED_ROWS_MIN };

impl OrderedIndex {
    /// The index for columns of which the last is ordered.
    pub(super) fn new(columns: &[u32]) -> OrderedIndex {
        let (column, prefix) =
            columns.split_last().map_or((0, &[][..]), |(last, rest)| (*last, rest));
        OrderedIndex {
            prefix: prefix.to_vec(),
            column,
            by_prefix: HashTable::new(),
            groups: Vec::new(),
            rows_known: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.by_prefix.clear();
        self.groups.clear();
        self.rows_known = 0;
    }

    /// Bytes that the index occupies.
    pub(super) fn bytes(&self) -> usize {
        let rows: usize = self.groups.iter().map(|group| group.rows.capacity()).sum();
        self.by_prefix.allocation_size()
            + self.groups.capacity() * size_of::<Group>()
            + rows * size_of::<u32>()
    }

    /// The number of rows that are not in the index.
    pub(super) fn unprepared(&self, rows: u32) -> u32 {
        if self.is_scanned(rows) { 0 } else { rows - self.rows_known }
    }

    /// Whether a table of `rows` rows is too small for the index.
    pub(super) fn is_scanned(&self, rows: u32) -> bool {
        self.prefix.is_empty() && rows < INDEXED_ROWS_MIN
    }

    /// An estimate of the rows that a look-up finds.
    pub(super) fn rows_a_key(&self, rows: f64) -> f64 {
        (rows / self.groups.len().max(1) as f64).sqrt()
    }
}

impl Group {
    pub(super) fn sorted(&self) -> usize {
        self.runs.last().map_or(0, |end| *end as usize)
    }

    pub(super) fn tail(&self) -> &[u32] {
        &self.rows[self.sorted()..]
    }
}
