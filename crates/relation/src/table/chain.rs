//! The rows of one key of an index: some that lie together, then a chain.

use super::row::RowId;

/// First and last row of one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) head: u32,
    pub(super) tail: u32,
}

pub(super) const END: u32 = u32::MAX;

/// The chain of a key without rows.
pub(super) const NONE: Chain = Chain { head: END, tail: END };

/// The rows of one key.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'t> {
    /// The first ones, which are contiguous.
    pub(super) sorted: &'t [u32],
    /// The chain of the others, whose first row has this id and the place 0.
    pub(super) next: &'t [u32],
    pub(super) from: u32,
    pub(super) row: u32,
}

impl Rows<'_> {
    /// The first row that is left.
    #[inline]
    pub(super) fn peek(&self) -> Option<RowId> {
        let chained = || (self.row != END).then_some(RowId(self.row));
        self.sorted.first().map(|&row| RowId(row)).or_else(chained)
    }

    /// The rows, if `same` accepts the first.
    #[inline]
    pub(super) fn if_first(self, same: impl Fn(RowId) -> bool) -> Self {
        match self.peek() {
            Some(row) if !same(row) => Rows { sorted: &[], row: END, ..self },
            _ => self,
        }
    }

    /// The rows from one of them on.
    pub(super) fn starting_at(self, row: RowId) -> Self {
        if row.0 < self.from {
            let before = self.sorted.partition_point(|&other| other < row.0);
            Rows { sorted: &self.sorted[before..], ..self }
        } else {
            Rows { sorted: &[], row: row.0, ..self }
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = RowId;

    #[inline]
    fn next(&mut self) -> Option<RowId> {
        if let Some((&row, rest)) = self.sorted.split_first() {
            self.sorted = rest;
            return Some(RowId(row));
        }
        if self.row == END {
            return None;
        }
        let row = self.row;
        self.row = self.next[(row - self.from) as usize];
        Some(RowId(row))
    }

    #[inline]
    fn fold<B, F: FnMut(B, RowId) -> B>(self, init: B, mut f: F) -> B {
        let mut result = self.sorted.iter().fold(init, |result, &row| f(result, RowId(row)));
        let mut row = self.row;
        while row != END {
            result = f(result, RowId(row));
            row = self.next[(row - self.from) as usize];
        }
        result
    }
}
