//! The rows of a table that an observer knows, and the changes that it does not know yet.
//!
//! ```text
//! insert ---> due: numbers of entries --+--> take_change(): Inserted(row), with its values of then
//! remove ---> gone: known rows ---------+ Removed(row), as the observer knows it
//! ```
//! Changes are recorded by entry, so those of one entry coalesce: an insertion that is removed
//! before it is taken leaves no change. Hence both queues are no longer than the table is large,
//! however long nothing is taken. Values that a kernel changes in place are no change until they
//! are reported, so counting costs nothing here.

use std::collections::VecDeque;

use super::row::Row;
use super::spec::TableSpec;

/// A change of a table that is observed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Delta {
    /// An entry is new, or has other values, or another priority.
    Inserted(Row),
    /// An entry was removed, which was known as this row.
    Removed(Row),
}

/// The state of an observer.
#[derive(Default)]
pub(super) struct Observed {
    /// By number of the entry.
    entries: Vec<Known>,
    /// The known numbers of each: its priority, then the words of its values.
    numbers: Vec<u64>,
    /// Entries that have changed, each once.
    pub(super) due: VecDeque<u32>,
    /// Rows that are known and removed.
    pub(super) gone: VecDeque<Row>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// The entry exists.
    pub(super) is_there: bool,
    /// They know it, with the numbers that are remembered.
    pub(super) is_known: bool,
    /// It is among those that are due.
    pub(super) is_due: bool,
}

impl Observed {
    /// The known state of an entry.
    pub(super) fn entry(&mut self, entry: u32) -> &mut Known {
        let entry = entry as usize;
        if entry >= self.entries.len() {
            self.entries.resize(entry + 1, Known::default());
        }
        &mut self.entries[entry]
    }

    /// It has changed.
    pub(super) fn set_due(&mut self, entry: u32) {
        if !std::mem::replace(&mut self.entry(entry).is_due, true) {
            self.due.push_back(entry);
        }
    }

    /// The numbers that are known of an entry; `width` of them.
    pub(super) fn numbers(&mut self, entry: u32, width: usize) -> &mut [u64] {
        let first = entry as usize * width;
        if self.numbers.len() < first + width {
            self.numbers.resize(first + width, 0);
        }
        &mut self.numbers[first..first + width]
    }

    /// Whether a row has the numbers that are known of its entry.
    pub(super) fn is_as_known(&mut self, entry: u32, row: &Row, spec: &TableSpec) -> bool {
        let values = spec.split_values(&row.values);
        let known = self.numbers(entry, values.len() + 1);
        known[0] == row.priority && known[1..] == values
    }

    /// They know an entry as this row.
    pub(super) fn remember(&mut self, entry: u32, row: &Row, spec: &TableSpec) {
        let values = spec.split_values(&row.values);
        let known = self.numbers(entry, values.len() + 1);
        known[0] = row.priority;
        known[1..].copy_from_slice(&values);
        self.entry(entry).is_known = true;
    }
}
