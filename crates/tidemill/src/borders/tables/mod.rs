//! Tables of apps that rules name: `App::table(@N, KEY, ..., VALUE, ...)`.
//!
//! With `writer kernel` the relation has a row for each entry. Entries that are inserted, expire,
//! are evicted or deleted become changes of the relation; values that kernels update in place are
//! reported every `report` seconds, never per packet. With `writer program` rules write the
//! relation, and the changes of a turn take effect together at the next breath, or are refused.
//!
//! While many events wait for the rules, the engine keeps changes by entry, so that they coalesce.
//! A new table (of an app that was made anew, or in another graph) is compared with the relation:
//! the writer's side wins.
//!
//! | part | does |
//! |---|---|
//! | `columns` | rows of tables as columns of relations, and back |
//! | `read` | tables that kernels write |
//! | `write` | tables that rules write |
//! | `instances` | the same tables of other workers |

mod border;
mod check;
mod columns;
mod instances;
mod read;
mod state;
mod write;

use tidemill_event::Loop;
use tidemill_overlog::node::Crossing;
use tidemill_relation::{OwnedValue, TupleBuf};

use crate::machine::Machine;

pub use border::TableBorder;
pub(crate) use state::Tables;

/// Another graph runs.
pub(super) fn link(machine: &mut Machine) {
    instances::link(machine);
    with_tables(machine, |machine, tables| {
        tables.tables.iter_mut().for_each(|table| table.place = None);
        write::link(machine, &mut tables.tables);
    });
}

/// The graph has breathed, for the last time if it is finished.
pub(super) fn breathed(machine: &mut Machine, events: &mut Loop<Machine>, is_finished: bool) {
    with_tables(machine, |machine, tables| {
        write::breathed(machine, events, &mut tables.tables);
        tables.are_held = read::breathed(machine, events, &mut tables.tables, is_finished);
    });
}

/// Applies the changes that rules have derived in a turn.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>, tuples: &TupleBuf<Crossing>) {
    with_tables(machine, |machine, tables| {
        write::take(machine, events, &mut tables.tables, tuples);
    });
}

/// Other rules replace the running ones.
pub(super) fn rebind(machine: &mut Machine, events: &mut Loop<Machine>, borders: &[TableBorder]) {
    let registry = machine.registry.clone();
    let mut tables = std::mem::take(&mut machine.node.borders.tables);
    for left in tables.rebind(borders, &registry) {
        if left.border.is_written_by_rules() {
            write::leave(machine, &left)
        } else {
            read::leave(machine, &left)
        }
    }
    machine.node.borders.tables = tables;
    breathed(machine, events, false);
}

/// The current rows of a table of an app, without the location, for queries.
pub(crate) fn rows(machine: &Machine, name: &str) -> Option<Vec<Vec<OwnedValue>>> {
    let (app, table) = name.split_once("::")?;
    read::rows_now(machine, app, table)
}

fn with_tables(machine: &mut Machine, f: impl FnOnce(&mut Machine, &mut Tables)) {
    let mut tables = std::mem::take(&mut machine.node.borders.tables);
    if !tables.tables.is_empty() {
        f(machine, &mut tables);
    }
    machine.node.borders.tables = tables;
}
