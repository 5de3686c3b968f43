//! Integers of a column in the words of a row.

use super::column;

/// The offset of the integer of a column in the words of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColumnOffset {
    /// One word.
    Half(usize),
    /// Two words.
    Whole(usize),
    /// The same in every row.
    Fixed(i64),
}

impl ColumnOffset {
    #[inline]
    pub(crate) fn read(self, words: &[u32]) -> i64 {
        match self {
            ColumnOffset::Half(at) => i64::from(words[at] as i32),
            ColumnOffset::Whole(at) => column::get_word(&words[at..at + 2]) as i64,
            ColumnOffset::Fixed(value) => value,
        }
    }

    /// The words it takes.
    pub(crate) fn words(self) -> usize {
        match self {
            ColumnOffset::Half(_) => 1,
            ColumnOffset::Whole(_) => 2,
            ColumnOffset::Fixed(_) => 0,
        }
    }

    /// Its first word, if integers lie there as they do in `other`.
    pub(crate) fn start_of_same(self, other: ColumnOffset) -> Option<usize> {
        match (self, other) {
            (ColumnOffset::Half(at), ColumnOffset::Half(_))
            | (ColumnOffset::Whole(at), ColumnOffset::Whole(_)) => Some(at),
            _ => None,
        }
    }

    /// Writes a value that fits where the words of its column begin.
    #[inline]
    pub(crate) fn write(self, words: &mut [u32], value: i64) {
        match self {
            ColumnOffset::Half(_) => words[0] = value as u32,
            ColumnOffset::Whole(_) => {
                words[..2].copy_from_slice(&[value as u32, (value >> 32) as u32]);
            }
            ColumnOffset::Fixed(_) => {}
        }
    }

    /// Appends to the words of a row, column by column, a value that fits.
    #[inline]
    pub(crate) fn append(self, words: &mut Vec<u32>, value: i64) {
        match self {
            ColumnOffset::Half(_) => words.push(value as u32),
            ColumnOffset::Whole(_) => words.extend([value as u32, (value >> 32) as u32]),
            ColumnOffset::Fixed(_) => {}
        }
    }
}
