//! Handing tuples to a node from other parts of a program, and reading its tables.

use tidemill_event::Loop;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{SeqBuilder, Value};

use super::state::{Fleet, NodeId};
use super::turns;
use super::world::World;
use crate::node::Event;

/// Queues an event from outside at a node; false if it is not alive or its inbox is full.
pub fn inject<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, event: Event) -> bool {
    let Some((life, _, node)) = world.fleet().with_room(id) else { return false };
    node.enqueue(event);
    turns::schedule(world, events, id, life, 1);
    true
}

/// Hands a node a tuple that another part of the program has, as an event that was received; `fill`
/// appends its columns, and is given the node's address. False if it is not alive or its inbox is
/// full.
///
/// # Errors
/// The error of `fill`: then nothing is handed over.
pub fn hand<W: World, E>(
    world: &mut W,
    events: &mut Loop<W>,
    id: NodeId,
    relation: RelationId,
    fill: impl FnOnce(&str, &mut SeqBuilder) -> Result<(), E>,
) -> Result<bool, E> {
    let Some((life, address, node)) = world.fleet().with_room(id) else { return Ok(false) };
    if let Err(error) = fill(address, node.enqueue_tuple(relation, false, true)) {
        node.take_back_tuple();
        return Err(error);
    }
    turns::schedule(world, events, id, life, 1);
    Ok(true)
}

/// Rows of a table of a living node, for queries and expectations.
pub fn rows(fleet: &Fleet, id: NodeId, relation: &str, row: impl FnMut(&[Value<'_>])) {
    if let (Some(node), Some(relation)) = (fleet.node(id), fleet.program.plan().find(relation)) {
        node.rows(relation, row);
    }
}
