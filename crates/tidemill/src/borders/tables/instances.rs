//! Tables that rules write, in the graphs of other workers than that of the rules: each has all
//! entries.
//!
//! What the first worker has written to its table goes to the others as changes, which may come
//! twice. Another graph asks for all entries.

use std::collections::BTreeSet;

use tidemill_packet::kernel::table::{Change, Row, TableError};

use super::border::TableBorder;
use crate::machine::{Machine, posts};

/// The graph of another worker is new: asks the first one for the entries of its tables.
pub(super) fn link(machine: &Machine) {
    if machine.node.borders.outbox.is_some() {
        let me = machine.share.me;
        posts::first(machine, move |machine, _| fill(machine, me));
    }
}

/// Gives a worker all entries of the tables that rules write.
fn fill(machine: &Machine, worker: u32) {
    let tables = machine.node.borders.tables.tables.iter().map(|table| &table.border);
    for TableBorder { app, spec, .. } in tables.filter(|border| border.is_written_by_rules()) {
        let Some(rows) = machine.node.driver.engine.table_rows(app, &spec.name) else { continue };
        let (app, name) = (app.clone(), spec.name.clone());
        posts::to(machine, worker, move |machine, _| replace(machine, &app, &name, rows));
    }
}

/// Replaces all entries of a table.
fn replace(machine: &mut Machine, app: &str, name: &str, rows: Vec<Row>) {
    let engine = &machine.node.driver.engine;
    let known: BTreeSet<_> = rows.iter().map(|row| (&row.key, &row.mask)).collect();
    let before = engine.table_rows(app, name).unwrap_or_default();
    let gone = before.into_iter().filter(|row| !known.contains(&(&row.key, &row.mask)));
    let mut changes: Vec<Change> = gone.map(Change::Delete).collect();
    changes.extend(rows.into_iter().map(Change::Insert));
    write(machine, app, name, &changes);
}

/// The table of the first worker has changed: so do those of the others.
pub(super) fn changed(machine: &Machine, (app, name): (&str, &str), changes: &[Change]) {
    if machine.node.borders.instances.is_some() {
        let (app, name, changes) = (app.to_owned(), name.to_owned(), changes.to_vec());
        posts::all(machine, move |machine, _| write(machine, &app, &name, &changes));
    }
}

fn write(machine: &mut Machine, app: &str, name: &str, changes: &[Change]) {
    match machine.node.driver.engine.write_table(app, name, changes) {
        // A graph that is about to run here, or has run, has no such table: each asks.
        Ok(()) | Err(TableError::NoSuchTable) => {}
        Err(error) => machine.note(&format!("worker {}: {app}::{name}: {error}", machine.share.me)),
    }
}
