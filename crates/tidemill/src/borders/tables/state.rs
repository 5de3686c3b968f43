//! The tables of apps that the rules of a node name.

use tidemill_packet::engine::TablePlace;
use tidemill_relation::OwnedValue;
use tidemill_stat::{Counter, Registry};

use super::border::TableBorder;
use crate::borders::latency::Handover;

/// Those of a node.
#[derive(Default)]
pub(crate) struct Tables {
    pub(super) tables: Vec<Table>,
    /// Changes wait in the engine, as many events wait for the rules.
    pub(crate) are_held: bool,
}

/// One of them.
pub(super) struct Table {
    pub(super) border: TableBorder,
    /// The name of the relation.
    pub(super) name: String,
    /// Where the table is, if its kernel writes it and it is followed.
    pub(super) place: Option<TablePlace>,
    /// The table may not be what the relation says: rules write it, and it has just come.
    pub(super) is_behind: bool,
    /// A timer will report values that have changed.
    pub(super) awaits_report: bool,
    /// How many breaths had moved something when it was last reported.
    pub(super) reported_at: u64,
    pub(super) inserted: Counter,
    pub(super) deleted: Counter,
    pub(super) refused: Counter,
    pub(super) handover: Handover,
}

/// A change of a row that a table refuses.
pub(super) struct Refused {
    /// Its columns, without the location.
    pub(super) row: Vec<OwnedValue>,
    pub(super) undo: Undo,
}

/// How the relation gets as it was before a row was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Undo {
    /// The row goes again.
    Delete,
    /// The row comes back, in the place of one with its key, if there is one.
    Insert,
    /// The row that it has replaced comes back.
    Replaced,
}

impl Tables {
    /// Those that rules name.
    pub(in crate::borders) fn new(borders: &[TableBorder], registry: &Registry) -> Tables {
        let tables = borders.iter().map(|border| Table::new(border, registry)).collect();
        Tables { tables, are_held: false }
    }

    /// Goes on with those that other rules name; gives those that they do not.
    pub(super) fn rebind(&mut self, borders: &[TableBorder], registry: &Registry) -> Vec<Table> {
        let mut old = std::mem::take(&mut self.tables);
        for border in borders {
            let known = old.iter().position(|table| {
                (&table.border.app, &table.border.spec) == (&border.app, &border.spec)
            });
            self.tables.push(match known {
                Some(at) => {
                    let mut table = old.swap_remove(at);
                    table.border.clone_from(border);
                    table.is_behind = border.is_written_by_rules();
                    table
                }
                None => Table::new(border, registry),
            });
        }
        old
    }
}

impl Table {
    fn new(border: &TableBorder, registry: &Registry) -> Table {
        let name = border.name();
        let counter = |what: &str| registry.counter(&format!("border/{name}/{what}"));
        Table {
            place: None,
            is_behind: border.is_written_by_rules(),
            awaits_report: false,
            reported_at: 0,
            inserted: counter("inserted"),
            deleted: counter("deleted"),
            refused: counter("refused"),
            handover: Handover::new(registry, &name),
            border: border.clone(),
            name,
        }
    }
}
