//! Tables that kernels write: their changes become rows that rules read.
//!
//! The engine records changes by entry, and keeps them while many events wait for the rules.
//! Nothing is dropped here, and repeated changes of an entry coalesce, so nothing grows.

use tidemill_event::{Loop, Time};
use tidemill_packet::kernel::table::{Delta, Row};
use tidemill_relation::OwnedValue;

use super::columns;
use super::state::Table;
use crate::borders::rows::{put, relation_rows};
use crate::machine::Machine;

/// The graph has breathed: passes changes on. After the last breath, values too.
pub(super) fn breathed(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    tables: &mut [Table],
    is_finished: bool,
) -> bool {
    let mut are_held = false;
    for table in tables.iter_mut().filter(|table| !table.border.is_written_by_rules()) {
        follow(machine, events, table);
        if is_finished && table.border.spec.report_ns > 0 {
            report_values(machine, table);
        } else {
            await_report(machine, events, table);
        }
        are_held |= !hand_over(machine, events, table);
    }
    are_held
}

/// Starts to observe a table that is new or replaces another one.
fn follow(machine: &mut Machine, events: &mut Loop<Machine>, table: &mut Table) {
    let engine = &machine.node.driver.engine;
    if table.place.is_some_and(|place| engine.observes_table(place)) {
        return;
    }
    table.place = engine.find_table(&table.border.app, &table.border.spec.name);
    let Some(place) = table.place else { return };
    if engine.table_spec(place) != Some(&table.border.spec) {
        // The rules with the new columns are about to be installed.
        table.place = None;
        return;
    }
    let rows = relation_rows(machine, &table.name);
    let (mut known, mut strange) = (Vec::new(), Vec::new());
    for row in rows {
        match columns::row_of(&table.border.spec, row.iter().map(OwnedValue::get)) {
            Ok(row) => known.push(row),
            Err(_) => strange.push(row),
        }
    }
    for row in strange {
        put(machine, events, (table.border.relation, true), row.iter().map(OwnedValue::get));
    }
    machine.node.driver.engine.observe_table(place, known);
}

/// Passes changes to the inbox while it has room; returns whether that was all.
fn hand_over(machine: &mut Machine, events: &mut Loop<Machine>, table: &mut Table) -> bool {
    let Some(place) = table.place else { return true };
    while machine.node.driver.engine.has_table_changes(place) {
        if machine.is_inbox_full() {
            return false;
        }
        let Some(change) = machine.node.driver.engine.take_table_change(place) else { break };
        let (row, delete) = match change {
            Delta::Inserted(row) => (row, false),
            Delta::Removed(row) => (row, true),
        };
        let row = columns::columns_of(&table.border.spec, &row);
        let row = row.iter().map(OwnedValue::get);
        if !put(machine, events, (table.border.relation, delete), row) {
            // The node has ended.
            break;
        }
        let counter = if delete { &table.deleted } else { &table.inserted };
        counter.add(1);
        machine.note_handed(events.now(), table.handover.latency());
    }
    true
}

/// Sets the timer that reports values, at the next multiple of the period, if packets may have
/// changed some. It does not rearm itself, so an idle graph has no timer.
fn await_report(machine: &Machine, events: &mut Loop<Machine>, table: &mut Table) {
    let busy = machine.node.driver.engine.stats().breaths_busy;
    let every_ns = table.border.spec.report_ns;
    if every_ns == 0 || table.awaits_report || table.reported_at == busy {
        return;
    }
    table.awaits_report = true;
    let at = Time((events.now().0 / every_ns + 1).saturating_mul(every_ns));
    let name = table.name.clone();
    events.timer(at, move |machine: &mut Machine, events: &mut Loop<Machine>| {
        let mut tables = std::mem::take(&mut machine.node.borders.tables);
        if let Some(table) = tables.tables.iter_mut().find(|table| table.name == name) {
            report_values(machine, table);
            tables.are_held |= !hand_over(machine, events, table);
        }
        machine.node.borders.tables = tables;
    });
}

fn report_values(machine: &mut Machine, table: &mut Table) {
    table.awaits_report = false;
    table.reported_at = machine.node.driver.engine.stats().breaths_busy;
    table.place.into_iter().for_each(|place| machine.node.driver.engine.report_table(place));
}

/// The current rows of a table, as columns without the location.
pub(super) fn rows_now(machine: &Machine, app: &str, table: &str) -> Option<Vec<Vec<OwnedValue>>> {
    let engine = &machine.node.driver.engine;
    let (spec, rows) = (engine.named_table_spec(app, table)?, engine.table_rows(app, table)?);
    let columns = |row: &Row| columns::columns_of(spec, row);
    Some(rows.iter().map(columns).collect())
}

/// Stops to observe a table that the rules no longer name.
pub(super) fn leave(machine: &mut Machine, table: &Table) {
    let place = table.place.into_iter();
    place.for_each(|place| machine.node.driver.engine.unobserve_table(place));
}
