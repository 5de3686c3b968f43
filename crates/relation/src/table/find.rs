//! Look-ups: the rows of an access, and the row of a tuple.

use super::access::{Access, Visible};
use super::chain::Rows as IndexRows;
use super::ordered::Limit;
use super::row::RowId;
use super::state::Table;
use crate::value::Value;

impl Table {
    /// The rows that `access` finds for `key` (the values of its columns), oldest first.
    ///
    /// The access has been [prepared](Table::prepare) since the last insertion.
    pub fn rows<'t>(&'t self, access: Access, key: &[Value<'_>], visible: Visible) -> Rows<'t> {
        self.rows_within(access, key, &[], visible)
    }

    /// The same without rows that an ordered index shows to be beyond one of the limits of its last
    /// column; some that are may be found.
    pub fn rows_within<'t>(
        &'t self,
        access: Access,
        key: &[Value<'_>],
        limits: &[Limit<'_>],
        visible: Visible,
    ) -> Rows<'t> {
        let candidates = match access {
            Access::Scan => Candidates::Scan(0..self.rows),
            Access::Primary => {
                let found = self.find_all(&self.key, key, visible);
                Candidates::Found(found)
            }
            Access::Index(number) => {
                let index = &self.indexes[number as usize];
                debug_assert_eq!(index.rows_known(), self.rows, "the index is up to date");
                let same = |row| self.key_equals(row, &index.columns, key);
                Candidates::Chain(match index.dense_column() {
                    None => index.rows(self.hash_key(&index.columns, key), same),
                    Some(column) => {
                        let mut columns = index.columns.iter().zip(key);
                        match columns.find(|(one, _)| **one == column) {
                            Some((_, Value::Int(value))) => index.dense_rows(*value).if_first(same),
                            // Other types can equal an integer.
                            _ => index.dense_search(same),
                        }
                    }
                })
            }
            Access::Ordered(number) => self.ordered_rows(number, key, limits),
        };
        Rows { table: self, visible, candidates }
    }

    fn ordered_rows(&self, number: u32, key: &[Value<'_>], limits: &[Limit<'_>]) -> Candidates<'_> {
        let index = &self.ordered[number as usize];
        let same = |row| self.key_equals(row, &index.prefix, key);
        match self.rows_in_range(index, self.hash_key(&index.prefix, key), same, limits) {
            Some(rows) => Candidates::Found(FoundRows::Many(rows.into_iter())),
            None => Candidates::Scan(0..self.rows),
        }
    }

    /// An estimate of the rows that a look-up finds.
    pub(crate) fn rows_a_key(&self, access: Access) -> f64 {
        let rows = f64::from(self.live_rows);
        match access {
            Access::Scan => rows,
            Access::Primary => rows.min(1.0),
            Access::Index(number) => {
                let index = &self.indexes[number as usize];
                match (index.rows_known(), index.keys()) {
                    (0, _) | (_, 0) => rows.sqrt(),
                    (known, keys) => f64::from(known) / keys as f64,
                }
            }
            Access::Ordered(number) => self.ordered[number as usize].rows_a_key(rows),
        }
    }

    /// The number of rows that [`Table::prepare`] has to enter.
    pub(crate) fn unprepared(&self, access: Access) -> u32 {
        match access {
            Access::Scan | Access::Primary => 0,
            Access::Index(number) => self.rows - self.indexes[number as usize].rows_known(),
            Access::Ordered(number) => self.ordered[number as usize].unprepared(self.rows),
        }
    }

    /// Keys are unique among live rows, now and when the commit began (but for bags): at most one
    /// row then, else all versions.
    fn find_all(&self, columns: &[u32], key: &[Value<'_>], visible: Visible) -> FoundRows {
        let hash = self.hash_key(columns, key);
        let matches = |row| {
            let row = RowId(row);
            self.sees(row, visible) && self.key_equals(row, columns, key)
        };
        if self.is_bag() {
            let equal = self.equals.rows(hash, |row| self.key_equals(row, columns, key));
            let rows = equal.filter(|row| self.sees(*row, visible)).map(|row| row.0);
            return FoundRows::Many(rows.collect::<Vec<u32>>().into_iter());
        }
        if visible != Visible::Ever {
            return FoundRows::One(self.find_linked(hash, matches));
        }
        let mut rows = self.find_all_linked(hash, matches);
        rows.sort_unstable();
        FoundRows::Many(rows.into_iter())
    }

    /// The live row with this primary key; not of a bag.
    #[inline]
    pub(crate) fn find_key(&self, key: &[Value<'_>]) -> Option<RowId> {
        debug_assert!(!self.is_bag(), "verified: a bag has no primary key");
        let hash = self.hash_key(&self.key, key);
        let matches = |row| self.live.get(row) && self.key_equals(RowId(row), &self.key, key);
        self.find_linked(hash, matches).map(RowId)
    }

    /// The live row with the primary key of `values`, a whole tuple.
    pub fn find(&self, values: &[Value<'_>]) -> Option<RowId> {
        self.find_hashed(self.key_hash_of(values), values)
    }

    /// The live row equal to `values`.
    pub fn find_equal(&self, values: &[Value<'_>]) -> Option<RowId> {
        self.find_equal_where(self.key_hash_of(values), values, |row| self.live.get(row.0))
    }

    /// The row equal to `values` that was deleted in the running commit.
    pub fn find_dying(&self, values: &[Value<'_>]) -> Option<RowId> {
        self.find_equal_where(self.key_hash_of(values), values, |row| self.dying.get(row.0))
    }

    pub(super) fn find_equal_where(
        &self,
        hash: u64,
        values: &[Value<'_>],
        state: impl Fn(RowId) -> bool,
    ) -> Option<RowId> {
        if self.is_bag() {
            return self.equal_rows(hash, values).find(|row| state(*row));
        }
        let matches = |row| state(RowId(row)) && self.row_equals(RowId(row), values);
        self.find_linked(hash, matches).map(RowId)
    }

    /// All live rows with the primary key of `values`; for a bag, all that are equal.
    pub fn find_for_delete(&self, values: &[Value<'_>]) -> Vec<RowId> {
        let hash = self.key_hash_of(values);
        if self.is_bag() {
            return self.equal_rows(hash, values).filter(|row| self.is_live(*row)).collect();
        }
        let matches = |row| self.live.get(row) && self.same_key(RowId(row), values);
        let found = self.find_all_linked(hash, matches);
        let mut rows: Vec<RowId> = found.into_iter().map(RowId).collect();
        rows.sort_unstable();
        rows
    }

    /// The rows of a bag that are equal to `values`, live or not, oldest first.
    fn equal_rows(&self, hash: u64, values: &[Value<'_>]) -> IndexRows<'_> {
        self.equals.rows(hash, |row| self.row_equals(row, values))
    }

    #[inline]
    pub(super) fn find_hashed(&self, hash: u64, values: &[Value<'_>]) -> Option<RowId> {
        if self.is_bag() {
            return self.equal_rows(hash, values).find(|row| self.is_live(*row));
        }
        let matches = |row| self.live.get(row) && self.same_key(RowId(row), values);
        self.find_linked(hash, matches).map(RowId)
    }
}

/// The rows that an access found; see [`Table::rows`].
#[derive(Clone, Debug)]
pub struct Rows<'t> {
    table: &'t Table,
    visible: Visible,
    candidates: Candidates<'t>,
}

#[derive(Clone, Debug)]
enum Candidates<'t> {
    Scan(std::ops::Range<u32>),
    Found(FoundRows),
    Chain(IndexRows<'t>),
}

#[derive(Clone, Debug)]
enum FoundRows {
    One(Option<u32>),
    Many(std::vec::IntoIter<u32>),
}

impl Rows<'_> {
    /// The rows from one of them on.
    pub(crate) fn starting_at(mut self, row: RowId) -> Self {
        self.candidates = match self.candidates {
            Candidates::Scan(rows) => Candidates::Scan(row.0..rows.end),
            Candidates::Chain(rows) => Candidates::Chain(rows.starting_at(row)),
            Candidates::Found(FoundRows::One(_)) => Candidates::Found(FoundRows::One(Some(row.0))),
            Candidates::Found(FoundRows::Many(rows)) => {
                let from = rows.as_slice().partition_point(|&other| other < row.0);
                let rest = rows.as_slice()[from..].to_vec();
                Candidates::Found(FoundRows::Many(rest.into_iter()))
            }
        };
        self
    }
}

impl Iterator for Rows<'_> {
    type Item = RowId;

    #[inline]
    fn next(&mut self) -> Option<RowId> {
        loop {
            let row = match &mut self.candidates {
                Candidates::Scan(rows) => RowId(rows.next()?),
                Candidates::Chain(rows) => rows.next()?,
                Candidates::Found(FoundRows::One(row)) => RowId(row.take()?),
                Candidates::Found(FoundRows::Many(rows)) => RowId(rows.next()?),
            };
            if self.table.sees(row, self.visible) {
                return Some(row);
            }
        }
    }
}
