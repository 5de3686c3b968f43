//! Changes by the program around the graph: all of a batch, or none.

use std::fmt;

use super::spec::{TableKind, TableSpec, TableWriter};
use super::{Row, Table};

/// A change of a table that the program writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Inserts an entry, or gives one of the same key and mask other values and another priority.
    Insert(Row),
    /// The entry with the key and mask of a row goes; if there is none, that is no mistake.
    Delete(Row),
}

/// Why a batch was refused: nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableError {
    /// There is no such app, or it has no such table.
    NoSuchTable,
    /// The kernel writes the table.
    WrittenByKernel,
    /// A row, by its position, has another number of columns than the table, a number that does not
    /// fit its column, or a mask that is no prefix.
    BadRow(usize),
    /// There is no room for a row, by its position, or its mask is one too many.
    Full(usize),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::NoSuchTable => f.write_str("there is no such table"),
            TableError::WrittenByKernel => f.write_str("the kernel writes the table"),
            TableError::BadRow(at) => write!(f, "row {at} does not fit the columns of the table"),
            TableError::Full(at) => write!(f, "there is no room for row {at}"),
        }
    }
}

impl std::error::Error for TableError {}

impl Table {
    /// Makes all changes, in order, or none. Look-ups never see a part of them, as no kernel runs
    /// meanwhile.
    ///
    /// # Errors
    /// The first change that cannot be made.
    pub(crate) fn write(&self, changes: &[Change], now_ns: u64) -> Result<(), TableError> {
        if self.spec.writer != TableWriter::Program {
            return Err(TableError::WrittenByKernel);
        }
        let fits = |change: &Change| match change {
            Change::Insert(row) => fits(&self.spec, row) && values_fit(&self.spec, row),
            Change::Delete(row) => fits(&self.spec, row),
        };
        if let Some(bad) = changes.iter().position(|change| !fits(change)) {
            return Err(TableError::BadRow(bad));
        }
        if self.may_be_full(changes)
            && let Err(error) = self.copy().make(changes, now_ns)
        {
            self.books.borrow_mut().counts.refused += 1;
            return Err(error);
        }
        self.make(changes, now_ns)
    }

    /// Whether there may be no room for all changes: if so, they are tried on a copy, so that a
    /// refusal leaves the order and the age of entries unchanged.
    fn may_be_full(&self, changes: &[Change]) -> bool {
        let inserts = changes.iter().filter(|it| matches!(it, Change::Insert(_))).count();
        let books = self.books.borrow();
        let entries = books.counts.entries as usize + inserts;
        entries > self.spec.size as usize || !books.masks.has_room_for(inserts)
    }

    fn copy(&self) -> Table {
        let copy = Table::new(self.spec.clone(), self.secret);
        self.rows().iter().for_each(|row| _ = copy.insert_row(row, 0));
        copy
    }

    fn make(&self, changes: &[Change], now_ns: u64) -> Result<(), TableError> {
        for (at, change) in changes.iter().enumerate() {
            match change {
                Change::Insert(row) if !self.insert_row(row, now_ns) => {
                    return Err(TableError::Full(at));
                }
                Change::Insert(_) => {}
                Change::Delete(row) => self.delete_row(row),
            }
        }
        Ok(())
    }

    fn insert_row(&self, row: &Row, now_ns: u64) -> bool {
        let words = self.layout.key;
        let (key, mask) = (self.spec.pack(&row.key), self.spec.pack(&row.mask));
        let all = key[..words].iter().chain(&mask[..words]).chain([&row.priority]);
        let values = self.spec.split_values(&row.values);
        for (at, word) in all.chain(&values).enumerate() {
            self.set_draft(at as u32, *word);
        }
        self.insert(now_ns) != 0
    }

    /// The entry of a row's key and mask, 0: there is none.
    fn entry_of(&self, row: &Row) -> u32 {
        let (mut key, mask) = (self.spec.pack(&row.key), self.spec.pack(&row.mask));
        if self.spec.kind == TableKind::Exact {
            return self.probe(&key[..self.layout.key]);
        }
        let Some(mask) = self.books.borrow().masks.find(&mask) else { return 0 };
        key = mask.of(&key);
        self.probe(&self.found_by(key, mask.number)[..self.layout.found_by])
    }

    fn delete_row(&self, row: &Row) {
        let entry = self.entry_of(row);
        if entry != 0 {
            self.delete(entry);
        }
    }
}

/// Whether key and mask of a row are such of a table.
fn fits(spec: &TableSpec, row: &Row) -> bool {
    let columns = spec.key.iter();
    let is_wide = |(column, number): (&super::spec::Column, &u128)| number & !column.mask() != 0;
    let all_ones = || columns.clone().zip(&row.mask).all(|(it, mask)| *mask == it.mask());
    let has_columns = row.key.len() == spec.key.len() && row.mask.len() == spec.key.len();
    if !has_columns || columns.clone().zip(&row.key).any(is_wide) {
        return false;
    }
    match spec.kind {
        TableKind::Exact => all_ones(),
        TableKind::Ternary => !columns.clone().zip(&row.mask).any(is_wide),
        TableKind::Prefix => {
            let last = spec.key.len() - 1;
            let others = spec.key[..last].iter().zip(&row.mask);
            // Ones, then zeros, down from the highest bit of the column.
            let rest = spec.key[last].mask() & !row.mask[last];
            let is_prefix =
                row.mask[last] & !spec.key[last].mask() == 0 && rest & rest.wrapping_add(1) == 0;
            is_prefix && others.into_iter().all(|(it, mask)| *mask == it.mask())
        }
    }
}

fn values_fit(spec: &TableSpec, row: &Row) -> bool {
    let fits = |(column, number): (&super::spec::Column, &u128)| number & !column.mask() == 0;
    row.values.len() == spec.values.len() && spec.values.iter().zip(&row.values).all(fits)
}
