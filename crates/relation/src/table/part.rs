//! An index over a range of a table's rows: a delta, for joins that start from another atom.

use std::ops::Range;

use super::chain;
use super::index::Index;
use super::row::RowId;
use super::state::Table;

/// An index of the rows of a range.
#[derive(Debug)]
pub(crate) struct Part {
    first: u32,
    /// It counts rows from the first.
    index: Index,
}

impl Part {
    /// The rows from the first of a range on, by these columns.
    pub(crate) fn new(table: &Table, rows: Range<RowId>, columns: &[u32]) -> Part {
        let mut index = Index::new(columns.to_vec());
        table.index_rows(&mut index, &(rows.start.0..rows.end.0));
        Part { first: rows.start.0, index }
    }

    /// As [`Table::dense_column`].
    pub(crate) fn dense_column(&self) -> Option<u32> {
        self.index.dense_column()
    }

    /// As [`Table::probe_dense`].
    #[inline]
    pub(crate) fn probe_dense(
        &self,
        table: &Table,
        value: i64,
        same: impl Fn(&[u32]) -> bool,
    ) -> Rows<'_> {
        let rows = self.index.dense_rows(value);
        self.rows(rows.if_first(|place| same(table.row_words(self.row(place)))))
    }

    /// As [`Table::probe_index`].
    #[inline]
    pub(crate) fn probe(
        &self,
        table: &Table,
        hash: u64,
        same: impl Fn(&[u32]) -> bool,
    ) -> Rows<'_> {
        self.rows(self.index.rows(hash, |place| same(table.row_words(self.row(place)))))
    }

    fn row(&self, place: RowId) -> RowId {
        RowId(self.first + place.0)
    }

    fn rows<'p>(&self, places: chain::Rows<'p>) -> Rows<'p> {
        Rows { first: self.first, places }
    }
}

/// The rows of a part with one key, oldest first.
#[derive(Debug)]
pub(crate) struct Rows<'p> {
    first: u32,
    places: chain::Rows<'p>,
}

impl Iterator for Rows<'_> {
    type Item = RowId;

    #[inline]
    fn next(&mut self) -> Option<RowId> {
        self.places.next().map(|place| RowId(self.first + place.0))
    }

    #[inline]
    fn fold<B, F: FnMut(B, RowId) -> B>(self, init: B, mut f: F) -> B {
        self.places.fold(init, |result, place| f(result, RowId(self.first + place.0)))
    }
}
