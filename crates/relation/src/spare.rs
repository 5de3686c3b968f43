//! A pool of the memory of rows.

use crate::flat::SeqBuilder;

/// The rows in the pool, and the most bytes of one of them.
const ROWS_MAX: usize = 256;
const BYTES_MAX: usize = 4096;
/// The initial capacity, enough for most rows, in bytes.
const BYTES_MIN: usize = 128;

/// A pool of row buffers.
#[derive(Clone, Debug, Default)]
pub struct SpareRows(Vec<SeqBuilder>);

impl SpareRows {
    /// An empty row.
    pub fn take(&mut self) -> SeqBuilder {
        let mut row = self.take_used();
        row.clear();
        row
    }

    /// A row that may still hold earlier values, for a caller that clears it in its final place:
    /// moving a structure right after it was written stalls on the stores.
    #[inline]
    pub fn take_used(&mut self) -> SeqBuilder {
        self.0.pop().unwrap_or_else(|| SeqBuilder::with_capacity(BYTES_MIN))
    }

    /// Returns a row to the pool.
    #[inline]
    pub fn give(&mut self, row: SeqBuilder) {
        if self.0.len() < ROWS_MAX && row.capacity() <= BYTES_MAX {
            self.0.push(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn only_so_much_is_kept() {
        let mut spare = SpareRows::default();
        let mut large = spare.take();
        large.push(Value::Bytes(&[0; 2 * BYTES_MAX]));
        spare.give(large);
        assert!(spare.0.is_empty());
        (0..2 * ROWS_MAX).for_each(|_| spare.give(SeqBuilder::with_capacity(BYTES_MIN)));
        assert_eq!(spare.0.len(), ROWS_MAX);
        assert!(spare.take().as_seq().is_empty());
    }
}
