//! Tables that rules write: the changes of a turn are made at once between two breaths, or refused.
//!
//! What is refused is taken back in the relation as well, and derived as
//! `flow::refused(@N, App, Table, Row, Reason)`: so the relation is what the kernel sees, but for
//! the turns in between.

use std::collections::BTreeMap;

use tidemill_event::Loop;
use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_packet::kernel::table::{Change, Row, TableError};
use tidemill_relation::{OwnedValue, SeqBuilder, TupleBuf, Value};
use tidemill_stdx::marks;

use super::columns;
use super::state::{Refused, Table, Undo};
use crate::borders::rows::{put, relation_rows};
use crate::machine::Machine;

/// What a turn does to an entry, by key and mask.
type Entry = (Vec<u64>, Vec<u64>);

/// Changes of a table, with the rows that they are in the relation.
#[derive(Default)]
struct Batch {
    gone: BTreeMap<Entry, (Row, Vec<OwnedValue>)>,
    come: BTreeMap<Entry, (Row, Vec<OwnedValue>)>,
    /// The first row that is none of the table.
    wrong: Option<String>,
    /// Rows that are none of the table.
    strange: Vec<Vec<OwnedValue>>,
}

impl Batch {
    fn add(&mut self, table: &Table, row: Vec<OwnedValue>, is_gone: bool) {
        match columns::row_of(&table.border.spec, row.iter().map(OwnedValue::get)) {
            Ok(entry) => {
                let changes = if is_gone { &mut self.gone } else { &mut self.come };
                changes.insert((entry.key.clone(), entry.mask.clone()), (entry, row));
            }
            // It was never there.
            Err(_) if is_gone => {}
            Err(why) => {
                self.wrong.get_or_insert(why);
                self.strange.push(row);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.come.is_empty() && self.wrong.is_none()
    }

    /// What goes, unless it comes with other values, then what comes: so there is room.
    fn changes(&self) -> Vec<Change> {
        let gone = self.gone.iter().filter(|(entry, _)| !self.come.contains_key(*entry));
        let gone = gone.map(|(_, (row, _))| Change::Delete(row.clone()));
        gone.chain(self.come.values().map(|(row, _)| Change::Insert(row.clone()))).collect()
    }

    /// All of it, as what is refused.
    fn refused(self) -> Vec<Refused> {
        let Batch { gone, come, strange, .. } = self;
        let come = come.into_iter().map(|(entry, (_, row))| {
            let undo = if gone.contains_key(&entry) { Undo::Replaced } else { Undo::Delete };
            Refused { row, undo }
        });
        let mut all: Vec<Refused> = come.collect();
        all.extend(strange.into_iter().map(|row| Refused { row, undo: Undo::Delete }));
        let gone = gone.into_values().map(|(_, row)| Refused { row, undo: Undo::Insert });
        all.extend(gone);
        all
    }
}

/// Makes the changes that rules say of a turn.
pub(super) fn take(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    tables: &mut [Table],
    tuples: &TupleBuf<Crossing>,
) {
    for table in tables.iter_mut().filter(|table| table.border.is_written_by_rules()) {
        let mut batch = Batch::default();
        for (crossing, row) in tuples.iter() {
            if crossing.relation == table.border.relation {
                let row: Vec<OwnedValue> = row.iter().skip(1).map(OwnedValue::new).collect();
                batch.add(table, row, crossing.kind == CrossingKind::Delete);
            }
        }
        if batch.is_empty() || table.is_behind {
            // All of the relation goes there once the table does.
            continue;
        }
        table.handover.hand(events.now());
        if let Err((refused, reason)) = write(machine, table, batch) {
            refuse(machine, events, table, (&refused, &reason));
        }
    }
}

/// Makes a table that has just come what the relation says. Where that is refused it is left for
/// [`breathed`], which can say so.
pub(super) fn link(machine: &mut Machine, tables: &mut [Table]) {
    for table in tables.iter_mut().filter(|table| table.border.is_written_by_rules()) {
        table.is_behind = true;
        let batch = difference(machine, table);
        table.is_behind = batch.is_none_or(|batch| write(machine, table, batch).is_err());
    }
}

/// The graph has breathed.
pub(super) fn breathed(machine: &mut Machine, events: &mut Loop<Machine>, tables: &mut [Table]) {
    for table in tables.iter_mut().filter(|table| table.border.is_written_by_rules()) {
        table.handover.begin(events.now());
        if table.is_behind
            && let Some(batch) = difference(machine, table)
        {
            table.is_behind = false;
            if let Err((refused, reason)) = write(machine, table, batch) {
                refuse(machine, events, table, (&refused, &reason));
            }
        }
    }
}

/// What makes a table of what it is what the relation says; nothing, if there is no table of these
/// columns.
fn difference(machine: &Machine, table: &Table) -> Option<Batch> {
    let (app, spec) = (&table.border.app, &table.border.spec);
    let engine = &machine.node.driver.engine;
    if engine.named_table_spec(app, &spec.name) != Some(spec) {
        return None;
    }
    let mut batch = Batch::default();
    for row in engine.table_rows(app, &spec.name)? {
        let columns = columns::columns_of(spec, &row);
        batch.gone.insert((row.key.clone(), row.mask.clone()), (row, columns));
    }
    for row in relation_rows(machine, &table.name) {
        batch.add(table, row, false);
    }
    let (gone, come) = (&mut batch.gone, &mut batch.come);
    come.retain(|entry, (row, _)| match gone.get(entry) {
        Some((known, _)) if known == row => gone.remove(entry).is_none(),
        _ => true,
    });
    Some(batch)
}

/// Makes all changes, or none.
///
/// # Errors
/// All that is refused, and why.
fn write(machine: &mut Machine, table: &Table, batch: Batch) -> Result<(), (Vec<Refused>, String)> {
    if batch.is_empty() {
        return Ok(());
    }
    let changes = batch.changes();
    let (app, spec) = (&table.border.app, &table.border.spec);
    let written = match &batch.wrong {
        Some(why) => Err(why.clone()),
        None => {
            marks::arrive("packets/table");
            let written = machine.node.driver.engine.write_table(app, &spec.name, &changes);
            marks::leave();
            written.map_err(|error| match error {
                TableError::Full(_) => format!("there is no room beyond {} entries", spec.size),
                error => error.to_string(),
            })
        }
    };
    match written {
        Ok(()) => {
            let deleted = changes.iter().filter(|it| matches!(it, Change::Delete(_))).count();
            table.deleted.add(deleted as u64);
            table.inserted.add((changes.len() - deleted) as u64);
            Ok(())
        }
        Err(reason) => Err((batch.refused(), reason)),
    }
}

/// Takes back in the relation what the table refuses, and derives why.
fn refuse(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    table: &Table,
    (refused, reason): (&[Refused], &str),
) {
    machine.note(&format!("{} refuses {} rows: {reason}", table.name, refused.len()));
    table.refused.add(refused.len() as u64);
    for one in refused.iter().filter(|one| one.undo != Undo::Replaced) {
        let row = one.row.iter().map(OwnedValue::get);
        put(machine, events, (table.border.relation, one.undo == Undo::Delete), row);
    }
    let Some(relation) = table.border.refused else { return };
    let (app, name) = (&table.border.app, &table.border.spec.name);
    for Refused { row, .. } in refused {
        let list: SeqBuilder = row.iter().map(OwnedValue::get).collect();
        let (app, name, list) = (Value::Str(app), Value::Str(name), Value::List(list.as_seq()));
        put(machine, events, (relation, false), [app, name, list, Value::Str(reason)]);
    }
}

/// The rules name a table no more: what they had written goes with the relation.
pub(super) fn leave(machine: &mut Machine, table: &Table) {
    let (app, name) = (&table.border.app, &table.border.spec.name);
    let engine = &mut machine.node.driver.engine;
    let rows = engine.table_rows(app, name).unwrap_or_default();
    let gone: Vec<Change> = rows.into_iter().map(Change::Delete).collect();
    // A table of another declaration has nothing of what rules had written.
    let _ = engine.write_table(app, name, &gone);
}
