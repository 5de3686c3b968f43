//! The tables that start anew with other rules.

use tidemill_overlog::node::{Emptied, OtherTable};
use tidemill_stdx::sorted::SortedSet;

use super::Machine;

/// Notes them, unless that has been done.
pub(super) fn note_emptied(machine: &Machine, emptied: &SortedSet<Emptied>) {
    let noted = machine.pending.as_ref().map(|pending| &pending.noted);
    let is_new = |it: &&Emptied| !noted.is_some_and(|noted| noted.contains(*it));
    let line = |emptied: &Emptied| {
        let other = match emptied.other {
            OtherTable::Nothing => return format!("the table `{}` is gone", emptied.table),
            OtherTable::Columns => "has other columns",
            OtherTable::Key => "has another key",
            OtherTable::Lifetime => "has another lifetime",
            OtherTable::Size => "has another maximum size",
            OtherTable::Rules => "depends on other rules",
        };
        format!("the table `{}` starts anew, as it {other}", emptied.table)
    };
    emptied.iter().filter(is_new).map(line).for_each(|line| machine.note(&line));
}
