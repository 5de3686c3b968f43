//! Queries as turns of the loop.
//!
//! ```text
//! ask -> event of the node:       take the tables of the system that it reads; then
//!                                 copy its other tables, some rows at a time
//!        events of all queries:   a slice for one asker, then for the next
//! ```
//! The copy is a turn of the node, so that no other turn of the node changes the tables meanwhile.
//! The rest has an owner of its own and does not hold up the node either.

use tidemill_event::Loop;
use tidemill_relation::OwnedValue;

use super::clocks::Clocks;
use super::measure::look_at_costs;
use super::state::NodeId;
use super::system::{foreign_rows, rows};
use super::world::{Takes, World};
use crate::check::system::{APP, PEER, RULE};
use crate::control::{End, Status};
use crate::query::{AskerId, Copied, QueriedNode, Reply};

/// Rows that are copied in one call before the loop may let others run.
const COPY_ROWS: u64 = 512;

/// Steps of evaluation in one call.
const STEPS: u64 = 1024;

/// Asks a node; the parts of the answer go to [`World::answered`].
///
/// # Errors
/// The end of its answer, if it is not taken.
pub fn ask<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    node: NodeId,
    (asker, id): (AskerId, u64),
    text: &str,
) -> Result<(), End> {
    let fleet = world.fleet();
    let slot = fleet.slots.get(node.0 as usize).filter(|slot| slot.alive.is_some());
    let Some(slot) = slot else {
        return Err(End::refusal(Status::Unavailable, "the node has ended"));
    };
    fleet.desk.ask(asker, id, QueriedNode { node: node.0, life: slot.life }, text)?;
    begin(world, events);
    Ok(())
}

/// Forgets an asker that has disconnected.
pub fn forget<W: World>(world: &mut W, events: &mut Loop<W>, asker: AskerId) {
    world.fleet().desk.forget(asker);
    begin(world, events);
}

/// Resumes the answer for an asker that takes more again.
pub fn resume<W: World>(world: &mut W, events: &mut Loop<W>, asker: AskerId) {
    world.fleet().desk.resume(asker);
    go_on(world, events);
}

/// Queues the turn of a node that copies tables for the next question.
fn begin<W: World>(world: &mut W, events: &mut Loop<W>) {
    while let Some((asker, asked)) = world.fleet().desk.next_copy() {
        let slots = &world.fleet().slots;
        let owner = slots.get(asked.node as usize).map(|slot| slot.owner);
        let turn = move |world: &mut W, events: &mut Loop<W>| copy(world, events, asker, asked);
        if owner.is_some_and(|owner| events.event(owner, turn).is_ok()) {
            return;
        }
        give_up(world, events, asker);
    }
}

/// Fails a question whose node has ended.
fn give_up<W: World>(world: &mut W, events: &mut Loop<W>, asker: AskerId) {
    if let Some(reply) = world.fleet().desk.give_up_copy(asker) {
        deliver(world, events, reply);
    }
}

/// Ends the questions that wait for a turn of a node that has ended.
pub(super) fn node_ended<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId) {
    if let Some((asker, asked)) = world.fleet().desk.copying()
        && asked.node == id.0
    {
        give_up(world, events, asker);
        begin(world, events);
    }
}

fn copy<W: World>(world: &mut W, events: &mut Loop<W>, asker: AskerId, asked: QueriedNode) {
    let began = events.host().now();
    let foreign = foreign_table(world, asker, asked);
    let fleet = world.fleet();
    let slot = fleet.slots.get(asked.node as usize).filter(|slot| slot.life == asked.life);
    let Some(alive) = slot.and_then(|slot| slot.alive.as_ref()) else {
        give_up(world, events, asker);
        return begin(world, events);
    };
    let (copied, reply) = fleet.desk.copy(asker, (&alive.node, foreign), COPY_ROWS);
    if let Copied::Requires { tables, .. } = &copied {
        supply(world, events, (asker, asked), tables);
    }
    let fleet = world.fleet();
    fleet.desk.spent(asker, (events.host().now() - began).as_nanos() as u64);
    events.charge(COPY_ROWS);
    reply.into_iter().for_each(|reply| deliver(world, events, reply));
    match copied {
        Copied::Requires { record: true, .. } => {
            events.dpc(move |world, events| write_record(world, events, asker, asked));
        }
        Copied::More | Copied::Requires { .. } => {
            events.dpc(move |world, events| copy(world, events, asker, asked));
        }
        Copied::Done => {
            begin(world, events);
            go_on(world, events);
        }
    }
}

/// Makes the rows of a page of the node's record, and of the next, and then goes on to copy.
fn write_record<W: World>(world: &mut W, events: &mut Loop<W>, asker: AskerId, asked: QueriedNode) {
    let now_ns = events.now().0;
    let slot = world.fleet().slots.get_mut(asked.node as usize);
    let slot = slot.filter(|slot| slot.life == asked.life);
    let alive = slot.and_then(|slot| slot.alive.as_mut());
    if alive.is_some_and(|alive| alive.node.write_record(now_ns)) {
        events.charge(COPY_ROWS);
        events.dpc(move |world, events| write_record(world, events, asker, asked));
    } else {
        copy(world, events, asker, asked);
    }
}

/// The rows of the table that a question names, if another part of the program has it.
fn foreign_table<W: World>(
    world: &mut W,
    asker: AskerId,
    asked: QueriedNode,
) -> Option<Vec<Vec<OwnedValue>>> {
    let name = world.fleet().desk.text_of(asker)?.to_owned();
    foreign_rows(world, NodeId(asked.node), &name)
}

/// Gives a question the present rows of tables of the system.
fn supply<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    (asker, asked): (AskerId, QueriedNode),
    tables: &[&str],
) {
    for &name in tables {
        let rows = system_rows(world, events, NodeId(asked.node), name);
        let reply = world.fleet().desk.supply(asker, name, &rows);
        reply.into_iter().for_each(|reply| deliver(world, events, reply));
    }
}

/// The present rows of a table of the system.
fn system_rows<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    node: NodeId,
    name: &str,
) -> Vec<Vec<OwnedValue>> {
    if name == PEER {
        let slot = world.fleet().slots.get(node.0 as usize);
        let alive = slot.and_then(|slot| slot.alive.as_ref());
        return alive.map_or_else(Vec::new, |alive| alive.peer_rows(Clocks::of(events)));
    }
    let rows = rows(world, events, node, name);
    // Times from now on are in later answers.
    match name {
        RULE => look_at_costs(world, events),
        APP => world.measure_apps(events, node),
        _ => {}
    }
    rows
}

/// Queues a slice, if one is due and none is queued.
fn go_on<W: World>(world: &mut W, events: &mut Loop<W>) {
    let fleet = world.fleet();
    if fleet.slice_is_queued || !fleet.desk.has_work() {
        return;
    }
    let owner = *fleet.queries.get_or_insert_with(|| events.owner("query"));
    // If the queue is full, the next answer or question tries again.
    fleet.slice_is_queued = events.event(owner, slice).is_ok();
}

fn slice<W: World>(world: &mut W, events: &mut Loop<W>) {
    let fleet = world.fleet();
    fleet.slice_is_queued = false;
    let reply = fleet.desk.work(STEPS, &mut || events.host().now().0);
    events.charge(STEPS);
    if let Some(reply) = reply {
        deliver(world, events, reply);
        // An answer that is whole may let the asker's next question begin.
        begin(world, events);
    }
    go_on(world, events);
}

fn deliver<W: World>(world: &mut W, events: &mut Loop<W>, reply: Reply) {
    let Reply { asker, message } = reply;
    if world.answered(events, asker, &message) == Takes::Later {
        world.fleet().desk.pause(asker);
    }
}
