//! Tables that rules write: the changes of a turn are applied together between two breaths, or
//! refused.
//!
//! A refused change is undone in the relation too, and derived as `flow::refused(@N, App, Table,
//! Row, Reason)`: so the relation equals the table that the kernel sees, except during the turns in
//! between.

use std::collections::BTreeMap;

use tidemill_event::Loop;
use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_packet::kernel::table::{Change, Row, TableError};
use tidemill_relation::{OwnedValue, SeqBuilder, TupleBuf, Value};
use tidemill_stdx::marks;

use super::columns::{self, RowError};
use super::instances;
use super::state::{RefusedRow, Table, UndoRow};
use crate::borders::rows::{put, relation_rows};
use crate::machine::Machine;

/// The identity of an entry: key and mask.
type Entry = (Vec<u128>, Vec<u128>);

/// Changes of a table, with their rows in the relation.
#[derive(Default)]
struct Batch {
    gone: BTreeMap<Entry, (Row, Vec<OwnedValue>)>,
    come: BTreeMap<Entry, (Row, Vec<OwnedValue>)>,
    /// Why the first row does not fit the table.
    wrong: Option<RowError>,
    /// Rows that do not fit the table.
    strange: Vec<Vec<OwnedValue>>,
}

impl Batch {
    fn add(&mut self, table: &Table, row: Vec<OwnedValue>, is_gone: bool) {
        match columns::row_of(&table.border.spec, row.iter().map(OwnedValue::get)) {
            Ok(entry) => {
                let changes = if is_gone { &mut self.gone } else { &mut self.come };
                changes.insert((entry.key.clone(), entry.mask.clone()), (entry, row));
            }
            // The table never had it.
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

    /// The changes in order: deletions of entries that are not replaced come first, to make room.
    fn changes(&self) -> Vec<Change> {
        let gone = self.gone.iter().filter(|(entry, _)| !self.come.contains_key(*entry));
        let gone = gone.map(|(_, (row, _))| Change::Delete(row.clone()));
        gone.chain(self.come.values().map(|(row, _)| Change::Insert(row.clone()))).collect()
    }

    /// All changes, as refused ones.
    fn refused(self) -> Vec<RefusedRow> {
        let Batch { gone, come, strange, .. } = self;
        let come = come.into_iter().map(|(entry, (_, row))| {
            let undo = if gone.contains_key(&entry) { UndoRow::Replaced } else { UndoRow::Delete };
            RefusedRow { row, undo }
        });
        let mut all: Vec<RefusedRow> = come.collect();
        all.extend(strange.into_iter().map(|row| RefusedRow { row, undo: UndoRow::Delete }));
        let gone = gone.into_values().map(|(_, row)| RefusedRow { row, undo: UndoRow::Insert });
        all.extend(gone);
        all
    }
}

/// Applies the changes of a turn.
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
            // `breathed` will fill the new table from the whole relation.
            continue;
        }
        table.handover.hand(events.now());
        if let Err((refused, reason)) = write(machine, table, batch) {
            refuse(machine, events, table, (&refused, &reason));
        }
    }
}

/// Fills a new table from the relation. If that is refused, [`breathed`] tries again and reports
/// it.
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

/// The changes that make the table equal to the relation; `None` if the graph has no table of these
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

/// Applies all changes, or none.
///
/// # Errors
/// All refused changes, and the reason.
fn write(
    machine: &mut Machine,
    table: &Table,
    batch: Batch,
) -> Result<(), (Vec<RefusedRow>, String)> {
    if batch.is_empty() {
        return Ok(());
    }
    let changes = batch.changes();
    let (app, spec) = (&table.border.app, &table.border.spec);
    let written = match &batch.wrong {
        Some(why) => Err(why.to_string()),
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
            instances::changed(machine, (app, &spec.name), &changes);
            Ok(())
        }
        Err(reason) => Err((batch.refused(), reason)),
    }
}

/// Undoes refused changes in the relation, and derives the reason.
fn refuse(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    table: &Table,
    (refused, reason): (&[RefusedRow], &str),
) {
    machine.note(&format!("{} refuses {} rows: {reason}", table.name, refused.len()));
    table.refused.add(refused.len() as u64);
    for one in refused.iter().filter(|one| one.undo != UndoRow::Replaced) {
        let row = one.row.iter().map(OwnedValue::get);
        put(machine, events, (table.border.relation, one.undo == UndoRow::Delete), row);
    }
    let Some(relation) = table.border.refused else { return };
    let (app, name) = (&table.border.app, &table.border.spec.name);
    for RefusedRow { row, .. } in refused {
        let list: SeqBuilder = row.iter().map(OwnedValue::get).collect();
        let (app, name, list) = (Value::Str(app), Value::Str(name), Value::List(list.as_seq()));
        put(machine, events, (relation, false), [app, name, list, Value::Str(reason)]);
    }
}

/// The rules no longer name a table: deletes the entries of the relation.
pub(super) fn leave(machine: &mut Machine, table: &Table) {
    let (app, name) = (&table.border.app, &table.border.spec.name);
    let engine = &mut machine.node.driver.engine;
    let rows = engine.table_rows(app, name).unwrap_or_default();
    let gone: Vec<Change> = rows.into_iter().map(Change::Delete).collect();
    // A table of another declaration has no entries of the rules.
    if engine.write_table(app, name, &gone).is_ok() {
        instances::changed(machine, (app, name), &gone);
    }
}
