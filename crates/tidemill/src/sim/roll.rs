//! The roll of nodes: `sim::node(@N, Address, ID, Alive)`, at every node that can read it.
//!
//! The simulator puts the rows in as if each node had been told from outside, one event a row,
//! as soon as a node starts or crashes. A program that does not mention the table has none, and
//! nothing is done.

use tidemill_event::{Loop, Owner};
use tidemill_overlog::fleet::{self, NodeId};
use tidemill_overlog::node::{Event, node_id};
use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::{OwnedValue, Value};

use super::SimWorld;

/// The table's name.
pub const TABLE: &str = "sim::node";

/// The table, where the program has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roll(RelationId);

impl Roll {
    /// The table of a plan, if it has four columns.
    pub(super) fn new(plan: &Plan) -> Option<Roll> {
        let id = plan.find(TABLE)?;
        let relation = plan.relation(id);
        (relation.arity() == 4 && relation.table().is_some()).then_some(Roll(id))
    }
}

/// Tells each node of all: for the start of a simulation.
///
/// The nodes are told one after the other, so that the rows of all of them never wait at once.
pub(super) fn call_all(world: &mut SimWorld, events: &mut Loop<SimWorld>) {
    if world.roll.is_some() {
        call_from(world, events, 0);
    }
}

fn call_from(world: &mut SimWorld, events: &mut Loop<SimWorld>, node: u32) {
    if world.fleet.ids().count() <= node as usize {
        return;
    }
    call(world, events, node);
    let next = move |world: &mut SimWorld, events: &mut Loop<SimWorld>| {
        call_from(world, events, node + 1);
    };
    // The queue has room: at most one node's rows wait in it.
    let _ = events.event(Owner::LOOP, next);
}

/// Tells one node of all.
pub(super) fn call(world: &mut SimWorld, events: &mut Loop<SimWorld>, node: u32) {
    for about in world.fleet.ids() {
        tell(world, events, node, about.0);
    }
}

/// Tells all nodes of one that has started or crashed.
pub(super) fn note(world: &mut SimWorld, events: &mut Loop<SimWorld>, about: u32) {
    for NodeId(node) in world.fleet.ids() {
        tell(world, events, node, about);
    }
}

fn tell(world: &mut SimWorld, events: &mut Loop<SimWorld>, node: u32, about: u32) {
    let Some(Roll(relation)) = world.roll else { return };
    if !world.is_alive(node) {
        return;
    }
    let alive = world.is_alive(about);
    let address = |node| world.fleet.identity(NodeId(node)).address.as_str();
    let columns = [
        Value::Str(address(node)),
        Value::Str(address(about)),
        Value::Id(node_id(address(about))),
        Value::Bool(alive),
    ];
    let columns = columns.map(OwnedValue::new).to_vec();
    let event = Event::Tuple { relation, columns, delete: false, received: false };
    // A full inbox has been counted.
    fleet::inject(world, events, NodeId(node), event);
}
