//! The tables of the system that a node keeps, and the changes of their rows.

use tidemill_stdx::ordered::OrderedMap;

use tidemill_event::{Time, TimerId};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, SeqBuilder};

use super::times;
use crate::check::system::{self, SystemTable};
use crate::node::{Event, Program};

/// The tables that a node keeps.
pub(super) struct SystemTables {
    pub(super) tables: Vec<Kept>,
    pub(super) timer: Option<TimerId>,
    /// When rows were last compared.
    pub(super) compared: Option<Time>,
    /// External turns of the node up to which only differences were passed.
    pub(super) quiet_turns: u64,
}

/// A table and its rows, by the text of their key.
pub(super) struct Kept {
    pub(super) relation: RelationId,
    pub(super) table: &'static SystemTable,
    /// Whether the program reads how long something took. If not, that does not change its rows.
    pub(super) has_times: bool,
    pub(super) rows: OrderedMap<Vec<String>, SeqBuilder>,
}

impl SystemTables {
    /// Those that a program reads, if it reads any.
    pub(super) fn new(program: &Program) -> Option<SystemTables> {
        let plan = program.plan();
        let filled = system::TABLES.iter().filter(|table| table.is_sampled());
        let read = filled.filter_map(|table| Some((plan.find(table.name)?, table)));
        let kept = read.filter(|&(relation, _)| plan.relation(relation).table().is_some()).map(
            |(relation, table)| Kept {
                relation,
                table,
                has_times: times::is_read(program, table.name),
                rows: OrderedMap::new(),
            },
        );
        let tables: Vec<Kept> = kept.collect();
        let none = SystemTables { tables, timer: None, compared: None, quiet_turns: 0 };
        (!none.tables.is_empty()).then_some(none)
    }
}

impl SystemTables {
    /// Forgets a change that was not passed to the node.
    pub(super) fn forget(&mut self, change: &Event) {
        let Event::Tuple { relation, row, .. } = change else { return };
        for kept in self.tables.iter_mut().filter(|kept| kept.relation == *relation) {
            kept.rows.remove(&kept.key(row));
        }
    }
}

impl Kept {
    fn key(&self, row: &SeqBuilder) -> Vec<String> {
        let row = row.as_seq();
        let column = |&column: &u32| row.get(column as usize).map(|value| value.to_string());
        self.table.key.iter().filter_map(column).collect()
    }

    /// Takes the present rows; differences from the last ones are added to `changes`.
    pub(super) fn compare(&mut self, rows: Vec<Vec<OwnedValue>>, changes: &mut Vec<Event>) {
        let relation = self.relation;
        let change = |row, delete| Event::Tuple { relation, row, delete, received: false };
        let mut old = std::mem::take(&mut self.rows);
        for row in rows.iter().map(|row| SeqBuilder::from(&row[..])) {
            let key = self.key(&row);
            if old.remove(&key).as_ref() != Some(&row) {
                changes.push(change(row.clone(), false));
            }
            self.rows.insert(key, row);
        }
        changes.extend(old.into_values().map(|row| change(row, true)));
    }
}
