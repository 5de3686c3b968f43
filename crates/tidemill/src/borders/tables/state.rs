//! The tables of apps that the rules of a node name.

use tidemill_packet::engine::TablePlace;
use tidemill_relation::OwnedValue;
use tidemill_stat::{Counter, Registry};

use super::border::TableBorder;
use crate::borders::latency::Handover;

/// The tables of one node.
#[derive(Default)]
pub(crate) struct Tables {
    pub(super) tables: Vec<Table>,
    /// Changes are held back in the engine, as many events wait for the rules.
    pub(crate) are_held: bool,
}

/// One table.
pub(super) struct Table {
    pub(super) border: TableBorder,
    /// The name of the relation.
    pub(super) name: String,
    /// The place of the table in the engine, if its kernel writes it and it is observed.
    pub(super) place: Option<TablePlace>,
    /// Rules write the table, and it has not been filled from the relation yet.
    pub(super) is_behind: bool,
    /// The timer that reports changed values is set.
    pub(super) awaits_report: bool,
    /// The count of busy breaths at the last report.
    pub(super) reported_at: u64,
    pub(super) inserted: Counter,
    pub(super) deleted: Counter,
    pub(super) refused: Counter,
    pub(super) handover: Handover,
}

/// A change of a row that a table refuses.
pub(super) struct RefusedRow {
    /// Its columns, without the location.
    pub(super) row: Vec<OwnedValue>,
    pub(super) undo: UndoRow,
}

/// How to restore the relation after a refused change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UndoRow {
    /// Delete the row.
    Delete,
    /// Insert the row again, replacing one of the same key.
    Insert,
    /// Nothing: another entry restores the replaced row.
    Replaced,
}

impl Tables {
    /// The tables that rules name.
    pub(in crate::borders) fn new(borders: &[TableBorder], registry: &Registry) -> Tables {
        let tables = borders.iter().map(|border| Table::new(border, registry)).collect();
        Tables { tables, are_held: false }
    }

    /// Rebinds to the tables that other rules name; returns those that they no longer name.
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
