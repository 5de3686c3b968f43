//! The rows of a relation at the node of this run, and changes to them.

use tidemill_event::Loop;
use tidemill_overlog::fleet;
use tidemill_overlog::node::Event;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, SeqBuilder, Value};

use crate::machine::Machine;

/// The rows of a table, without the location.
pub(super) fn relation_rows(machine: &Machine, name: &str) -> Vec<Vec<OwnedValue>> {
    let mut rows = Vec::new();
    fleet::rows(&machine.fleet, machine.node.id, name, |row| {
        rows.push(row.iter().skip(1).copied().map(OwnedValue::new).collect());
    });
    rows
}

/// Inserts or deletes a tuple, given without the location, in a turn of its own; returns false if
/// the node does not accept it, which it counts.
pub(super) fn put<'v>(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (relation, delete): (RelationId, bool),
    row: impl IntoIterator<Item = Value<'v>>,
) -> bool {
    let node = machine.node.id;
    let Some(address) = machine.fleet.address(node) else { return false };
    let mut columns = SeqBuilder::new();
    columns.push(Value::Str(address));
    row.into_iter().for_each(|value| columns.push(value));
    let event = Event::Tuple { relation, row: columns, delete, received: false };
    fleet::inject(machine, events, node, event)
}
