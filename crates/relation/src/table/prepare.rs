//! Secondary indexes are brought up to date before they are read.

use super::access::Access;
use super::column::Repr;
use super::index::Index;
use super::place::Place;
use super::row::RowId;
use super::state::Table;

impl Table {
    /// Enters the rows that a secondary index does not know yet. Indexes are brought up to date
    /// when somebody is about to read them, so that one nobody reads costs nothing.
    pub fn prepare(&mut self, access: Access) {
        let Access::Index(number) = access else { return };
        let known = self.indexes[number as usize].rows_known();
        if known == self.rows {
            return;
        }
        let mut indexes = std::mem::take(&mut self.indexes);
        let index = &mut indexes[number as usize];
        if !self.prepare_dense(index) {
            let columns = std::mem::take(&mut index.columns);
            let hasher = self.hasher(&columns);
            let hash_of = |row| hasher.hash(row);
            for row in (index.rows_known()..self.rows).map(RowId) {
                let same = |other| self.agree(&columns, row, other);
                index.append(row, hash_of(row), same, hash_of);
            }
            index.columns = columns;
        }
        self.indexes = indexes;
    }

    /// [`Table::prepare`] for every index.
    pub fn prepare_all(&mut self) {
        (0..self.indexes.len() as u32).for_each(|number| self.prepare(Access::Index(number)));
    }

    /// Enters the rows that an index does not know by the integers of one column, if they are
    /// small and the other columns are the same in all rows; else forgets what it knows so.
    fn prepare_dense(&self, index: &mut Index) -> bool {
        let by = self.only_integer(&index.columns);
        let limit = Index::dense_limit(self.rows);
        let small = |place: Place, row: u32| {
            Some(place.read(self.row_words(RowId(row)))).filter(|value| (0..limit).contains(value))
        };
        if index.wants_look(self.rows)
            && let Some((column, place)) = by
            && (0..self.rows).all(|row| small(place, row).is_some())
        {
            index.restart_dense(column);
        }
        let Some(column) = index.dense_column() else { return false };
        for row in index.rows_known()..self.rows {
            let value = by.filter(|by| by.0 == column).and_then(|(_, place)| small(place, row));
            let Some(value) = value else {
                index.clear();
                return false;
            };
            index.append_dense(RowId(row), value);
        }
        true
    }

    /// The one column of a key that differs from row to row, if it holds integers.
    fn only_integer(&self, columns: &[u32]) -> Option<(u32, Place)> {
        let differs =
            |column: &&u32| !matches!(self.columns[**column as usize].repr, Repr::Const(_));
        let mut differing = columns.iter().filter(differs);
        let (&column, None) = (differing.next()?, differing.next()) else { return None };
        Some((column, self.place(column)?))
    }
}
