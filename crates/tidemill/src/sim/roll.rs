//! The table of nodes: `sim::node(@N, Address, ID, Alive)`, at every node that reads it.
//!
//! A node starts with the rows of all nodes, before its facts and before any event. Then the
//! simulator injects a row at each node as soon as a node starts or crashes. A program that does
//! not mention the table has none, and nothing is done.

use std::sync::Arc;

use tidemill_event::Loop;
use tidemill_overlog::fleet::{self, NodeId};
use tidemill_overlog::node::{Event, node_id};
use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::{OwnedValue, Value};

use crate::machine::Machine;

/// The name of the table.
pub const TABLE: &str = "sim::node";

/// The table of a plan, if it has four columns.
pub(super) fn table(plan: &Plan) -> Option<RelationId> {
    let id = plan.find(TABLE)?;
    let relation = plan.relation(id);
    (relation.arity() == 4 && relation.table().is_some()).then_some(id)
}

/// The initial rows of the node that starts next; `alive` lists the nodes that live then.
///
/// All nodes share the rows, so memory does not grow with the square of the number of nodes.
pub(super) fn opening(
    relation: RelationId,
    addresses: impl Iterator<Item = (String, bool)>,
) -> Event {
    let row = |(address, alive): (String, bool)| {
        let columns = [Value::Str(&address), Value::Id(node_id(&address)), Value::Bool(alive)];
        columns.map(OwnedValue::new).to_vec()
    };
    Event::Everywhere { relation, rows: Arc::new(addresses.map(row).collect()) }
}

/// Makes node `node`, which starts next, begin with the rows of all nodes.
pub(super) fn call(machine: &mut Machine, node: u32) {
    let Some(roll) = machine.sim.as_ref().and_then(|sim| sim.roll) else { return };
    let row = |id: NodeId| {
        let alive = id.0 == node || machine.is_alive(id);
        (machine.fleet.identity(id).address.clone(), alive)
    };
    let rows: Vec<(String, bool)> = machine.fleet.ids().map(row).collect();
    let opening = opening(roll, rows.into_iter());
    machine.fleet.open_with(opening);
}

/// Injects the row of a node that has started or crashed at all nodes.
pub(super) fn note(machine: &mut Machine, events: &mut Loop<Machine>, about: u32) {
    for NodeId(node) in machine.fleet.ids() {
        inject_row(machine, events, node, about);
    }
}

fn inject_row(machine: &mut Machine, events: &mut Loop<Machine>, node: u32, about: u32) {
    let roll = machine.sim.as_ref().and_then(|sim| sim.roll);
    let Some(relation) = roll else { return };
    if !machine.share.has(NodeId(node)) || !machine.is_alive(NodeId(node)) {
        return;
    }
    let alive = machine.is_alive(NodeId(about));
    let address = |node| machine.fleet.identity(NodeId(node)).address.as_str();
    let columns = [
        Value::Str(address(node)),
        Value::Str(address(about)),
        Value::Id(node_id(address(about))),
        Value::Bool(alive),
    ];
    let row = columns.into_iter().collect();
    let event = Event::Tuple { relation, row, delete: false, received: false };
    // A full inbox counts the drop.
    fleet::inject(machine, events, NodeId(node), event);
}
