//! The rows of a relation, and how one comes or goes.

use tidemill_event::Loop;
use tidemill_overlog::fleet;
use tidemill_overlog::node::Event;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, SeqBuilder, Value};

use crate::machine::Machine;

/// The rows that the relation of a table has at the node, without the location.
pub(super) fn relation_rows(machine: &Machine, name: &str) -> Vec<Vec<OwnedValue>> {
    let mut rows = Vec::new();
    fleet::rows(&machine.fleet, machine.node.id, name, |row| {
        rows.push(row.iter().skip(1).copied().map(OwnedValue::new).collect());
    });
    rows
}

/// Has a row come or go in the relation of a table, in a turn of its own; false if the node takes
/// nothing, which it counts.
pub(super) fn put(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (relation, delete): (RelationId, bool),
    row: &[OwnedValue],
) -> bool {
    let node = machine.node.id;
    let Some(address) = machine.fleet.address(node) else { return false };
    let mut columns = SeqBuilder::new();
    columns.push(Value::Str(address));
    row.iter().for_each(|value| columns.push(value.get()));
    let event = Event::Tuple { relation, row: columns, delete, received: false };
    fleet::inject(machine, events, node, event)
}
