//! Hashes and comparisons of keys: of values, of stored rows, and of many stored rows.

use tidemill_stdx::keyed::Secret;

use super::column::{self, Repr};
use super::place::ColumnOffset;
use super::row::RowId;
use super::state::Table;
use crate::value::{Type, Value};

impl Table {
    /// The hash of the values of `columns` in `row`: as [`Table::hash_key`].
    #[inline]
    pub(super) fn hash_of(&self, columns: &[u32], row: RowId) -> u64 {
        columns.iter().fold(0, |state, &column| {
            let column = &self.columns[column as usize];
            let words = self.column_words(column, row);
            self.secret.combine(state, column::hash(&column.repr, words, &self.heap, &self.secret))
        })
    }

    /// The hash of the values that a row would have in `columns`.
    #[inline]
    pub(super) fn hash_key(&self, columns: &[u32], key: &[Value<'_>]) -> u64 {
        self.hash_each(columns.iter().copied().zip(key))
    }

    #[inline]
    pub(crate) fn key_hash_of(&self, values: &[Value<'_>]) -> u64 {
        self.hash_each(self.key.iter().map(|&column| (column, &values[column as usize])))
    }

    #[inline]
    fn hash_each<'v, 'a: 'v>(&self, values: impl Iterator<Item = (u32, &'v Value<'a>)>) -> u64 {
        let secret = &self.secret;
        values.fold(0, |state, (column, value)| {
            let repr = &self.columns[column as usize].repr;
            secret.combine(state, column::hash_of(repr, value, secret))
        })
    }

    /// Whether a row has this value in a column.
    #[inline]
    fn holds(&self, row: RowId, column: u32, value: &Value<'_>) -> bool {
        let column = &self.columns[column as usize];
        column::holds(&column.repr, self.column_words(column, row), &self.heap, value)
    }

    /// Whether two rows have equal values in `columns`.
    #[inline]
    pub(super) fn agree(&self, columns: &[u32], a: RowId, b: RowId) -> bool {
        columns.iter().all(|&column| {
            let column = &self.columns[column as usize];
            let (a, b) = (self.column_words(column, a), self.column_words(column, b));
            column::equal(&column.repr, a, b, &self.heap)
        })
    }

    #[inline]
    pub(super) fn same_key(&self, row: RowId, values: &[Value<'_>]) -> bool {
        self.key.iter().all(|&column| self.holds(row, column, &values[column as usize]))
    }

    /// Whether two tuples have the same primary key.
    pub(crate) fn have_same_key(&self, values: &[Value<'_>], others: &[Value<'_>]) -> bool {
        self.key.iter().all(|&column| values[column as usize].equal(&others[column as usize]))
    }

    #[inline]
    pub(super) fn key_equals(&self, row: RowId, columns: &[u32], key: &[Value<'_>]) -> bool {
        columns.iter().zip(key).all(|(&column, value)| self.holds(row, column, value))
    }

    #[inline]
    pub(super) fn row_equals(&self, row: RowId, values: &[Value<'_>]) -> bool {
        (0..).zip(values).all(|(column, value)| self.holds(row, column, value))
    }

    /// The hash of a row of two words that are both its key, and integers: the most common row.
    pub(super) fn halves(&self) -> Option<impl Fn(&[u32]) -> u64 + use<>> {
        let (state, [a, b]) = self.hashing(&self.key)?.halves()?;
        let secret = self.secret;
        (self.stride == 2).then_some(move |row: &[u32]| {
            let of = |at: usize| secret.word(i64::from(row[at] as i32) as u64);
            secret.combine(secret.combine(state, of(a)), of(b))
        })
    }

    /// The way to hash columns by their words, if they hold integers or the same value in all rows.
    pub(super) fn hashing(&self, columns: &[u32]) -> Option<Hashing> {
        let mut hashing = Hashing { secret: self.secret, state: 0, columns: Vec::new() };
        for &number in columns {
            let column = &self.columns[number as usize];
            let hashed = match &column.repr {
                Repr::Int32 => Hashed::Of(ColumnOffset::Half(column.offset)),
                Repr::Word(Type::Int) => Hashed::Of(ColumnOffset::Whole(column.offset)),
                Repr::Const(constant) => Hashed::Known(constant.hash()),
                _ => return None,
            };
            match hashed {
                Hashed::Known(hash) if hashing.columns.is_empty() => {
                    hashing.state = self.secret.combine(hashing.state, hash);
                }
                hashed => hashing.columns.push(hashed),
            }
        }
        Some(hashing)
    }

    /// For hashing the same columns of many rows.
    pub(super) fn hasher<'t>(&'t self, columns: &'t [u32]) -> Hasher<'t> {
        Hasher { table: self, columns, hashing: self.hashing(columns) }
    }
}

/// The contribution of a column to a hash.
enum Hashed {
    Of(ColumnOffset),
    Known(u64),
}

/// The hashing of columns of integers.
pub(super) struct Hashing {
    secret: Secret,
    /// The hash of the columns before the first that differs from row to row.
    state: u64,
    columns: Vec<Hashed>,
}

impl Hashing {
    #[inline]
    pub(super) fn hash(&self, words: &[u32]) -> u64 {
        self.columns.iter().fold(self.state, |state, column| {
            let hash = match column {
                Hashed::Of(place) => self.secret.word(place.read(words) as u64),
                Hashed::Known(hash) => *hash,
            };
            self.secret.combine(state, hash)
        })
    }

    /// The state and the places, if it is two integers of 32 bits.
    fn halves(&self) -> Option<(u64, [usize; 2])> {
        match self.columns[..] {
            [Hashed::Of(ColumnOffset::Half(a)), Hashed::Of(ColumnOffset::Half(b))] => {
                Some((self.state, [a, b]))
            }
            _ => None,
        }
    }
}

/// Hashes columns of stored rows; see [`Table::hasher`].
pub(super) struct Hasher<'t> {
    table: &'t Table,
    columns: &'t [u32],
    hashing: Option<Hashing>,
}

impl Hasher<'_> {
    #[inline]
    pub(super) fn hash(&self, row: RowId) -> u64 {
        match &self.hashing {
            Some(hashing) => hashing.hash(self.table.row_words(row)),
            None => self.table.hash_of(self.columns, row),
        }
    }
}
