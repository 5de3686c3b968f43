//! Secondary indexes are brought up to date before they are read.

use std::ops::Range;

use super::access::Access;
use super::column::Repr;
use super::index::Index;
use super::place::ColumnOffset;
use super::row::RowId;
use super::state::Table;

impl Table {
    /// Enters the rows that a secondary index does not know yet. Indexes are brought up to date
    /// right before a read, so that one without a reader costs nothing.
    pub fn prepare(&mut self, access: Access) {
        if access == Access::Primary {
            self.link();
        }
        if let Access::Ordered(number) = access {
            let mut ordered = std::mem::take(&mut self.ordered);
            self.enter_ordered(&mut ordered[number as usize]);
            self.ordered = ordered;
        }
        let Access::Index(number) = access else { return };
        let known = self.indexes[number as usize].rows_known();
        if known == self.rows {
            return;
        }
        let mut indexes = std::mem::take(&mut self.indexes);
        let index = &mut indexes[number as usize];
        self.index_rows(index, &(0..self.rows));
        self.indexes = indexes;
    }

    /// [`Table::prepare`] for every index.
    pub fn prepare_all(&mut self) {
        (0..self.indexes.len() as u32).for_each(|number| self.prepare(Access::Index(number)));
        (0..self.ordered.len() as u32).for_each(|number| self.prepare(Access::Ordered(number)));
    }

    /// Enters the rows of a range that an index does not know; it counts rows from the start of the
    /// range.
    pub(super) fn index_rows(&self, index: &mut Index, rows: &Range<u32>) {
        if self.index_dense(index, rows) {
            return;
        }
        let columns = std::mem::take(&mut index.columns);
        let hasher = self.hasher(&columns);
        let at = |place: RowId| RowId(rows.start + place.0);
        let hash_of = |place| hasher.hash(at(place));
        for place in (index.rows_known()..rows.len() as u32).map(RowId) {
            let same = |other| self.agree(&columns, at(place), at(other));
            index.append(place, hash_of(place), same, hash_of);
        }
        index.columns = columns;
    }

    /// Enters them by the integers of one column, if those are small and the other columns are the
    /// same in all rows; else forgets what it knows so.
    fn index_dense(&self, index: &mut Index, rows: &Range<u32>) -> bool {
        let by = self.only_integer(&index.columns);
        let count = rows.len() as u32;
        let limit = Index::dense_limit(count);
        let small = |place: ColumnOffset, row: u32| {
            let value = place.read(self.row_words(RowId(rows.start + row)));
            Some(value).filter(|value| (0..limit).contains(value))
        };
        if index.wants_look(count)
            && let Some((column, place)) = by
            && (0..count).all(|row| small(place, row).is_some())
        {
            index.restart_dense(column);
        }
        let Some(column) = index.dense_column() else { return false };
        for row in index.rows_known()..count {
            let value = by.filter(|by| by.0 == column).and_then(|(_, place)| small(place, row));
            let Some(value) = value else {
                index.clear();
                return false;
            };
            index.append_dense(RowId(row), value);
        }
        index.sort_dense();
        true
    }

    /// The one column of a key that differs from row to row, if it holds integers.
    fn only_integer(&self, columns: &[u32]) -> Option<(u32, ColumnOffset)> {
        let differs =
            |column: &&u32| !matches!(self.columns[**column as usize].repr, Repr::Const(_));
        let mut differing = columns.iter().filter(differs);
        let (&column, None) = (differing.next()?, differing.next()) else { return None };
        Some((column, self.place(column)?))
    }
}
