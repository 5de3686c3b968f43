//! Rows stored anew, with other columns or without the dead.

use super::column::{self, Heap};
use super::row::RowId;
use super::state::{Column, Table};
use crate::value::Value;

impl Table {
    /// Widens the columns that cannot hold `values`. Rows keep their ids.
    pub(super) fn widen_for(&mut self, values: &[Value<'_>]) {
        let fits = |(column, value): (&Column, &Value<'_>)| column.repr.fits(value);
        if self.columns.iter().zip(values).all(fits) {
            return;
        }
        let mut columns = self.columns.clone();
        let mut offset = 0;
        for (column, value) in columns.iter_mut().zip(values) {
            if !column.repr.fits(value) {
                column.repr = column.repr.widened(value, &self.secret);
            }
            column.offset = offset;
            offset += column.repr.words();
        }
        let rows = 0..self.rows;
        self.rewrite(columns, offset, rows.map(RowId));
    }

    /// Stores `rows` anew, in this order, with other columns.
    pub(super) fn rewrite(
        &mut self,
        columns: Vec<Column>,
        stride: usize,
        rows: impl Iterator<Item = RowId>,
    ) {
        self.link();
        self.pairs = None;
        let mut words = Vec::with_capacity(stride * self.live_rows as usize);
        let mut heap = Heap::default();
        for row in rows {
            let start = words.len();
            words.resize(start + stride, 0);
            for (number, column) in columns.iter().enumerate() {
                let value = self.value(row, number as u32);
                if !column.repr.fits(&value) {
                    continue; // a dead row of other times
                }
                let from = start + column.offset;
                let target = &mut words[from..from + column.repr.words()];
                column::store(&column.repr, target, &mut heap, &value);
            }
        }
        heap.dead = self.heap.dead.min(heap.bytes.len());
        self.set_columns(columns, stride);
        (self.words, self.heap) = (words, heap);
    }
}
