//! Turns of nodes as events, calls and actions of the loop, and the timers that cause a turn.

use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_relation::view::Progress;

use super::alarm::arm;
use super::pace::May;
use super::post::post;
use super::state::NodeId;
use super::world::World;
use super::{streams, system};
use crate::node::{Event, Started};

/// The maximal age of the rows of a table.
const EVERY: Duration = Duration::from_secs(1);

/// Event tuples whose strands run in one call before the loop may let others run.
const DERIVE_BATCH: usize = 256;

/// Queues `count` events of the loop, one for each event that waits in the node's inbox.
pub(super) fn schedule<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    id: NodeId,
    life: u32,
    count: usize,
) {
    let Some(slot) = world.fleet().slots.get(id.0 as usize) else { return };
    let owner = slot.owner;
    for queued in 0..count {
        let turn = move |world: &mut W, events: &mut Loop<W>| begin(world, events, id, life);
        if events.event(owner, turn).is_err() {
            if let Some((alive, _)) = world.fleet().alive(id, life) {
                alive.node.drop_newest(count - queued);
            }
            break;
        }
    }
}

fn begin<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let (now, wall) = (events.now(), events.wall());
    let Some((alive, observer)) = world.fleet().alive(id, life) else { return };
    let may = alive.pace.as_mut().map(|pace| pace.begin(now, wall));
    let wall = match may {
        None => wall,
        Some(May::Begin { wall_ns }) => wall_ns,
        Some(May::Wait) => return go_on(world, events, id, life),
    };
    let is_paced = may.is_some();
    let started = alive.node.start(now.0, wall, observer);
    streams::resume(alive, events);
    match started {
        Started::Nothing => {}
        Started::Begun => derive(world, events, id, life),
        Started::Ended => end_short(world, events, id, life),
    }
    if is_paced {
        go_on(world, events, id, life);
    }
}

/// Begins deferred turns of a node when they may.
pub(super) fn go_on<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now = events.now();
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(pace) = &mut alive.pace else { return };
    if pace.waiting == 0 || pace.is_armed {
        return;
    }
    if now >= pace.until {
        let count = pace.release();
        return schedule(world, events, id, life, count);
    }
    pace.is_armed = true;
    events.timer(pace.until, move |world: &mut W, events: &mut Loop<W>| {
        if let Some((alive, _)) = world.fleet().alive(id, life) {
            alive.pace.iter_mut().for_each(|pace| pace.is_armed = false);
            go_on(world, events, id, life);
        }
    });
}

fn derive<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, observer)) = world.fleet().alive(id, life) else { return };
    match alive.node.derive(DERIVE_BATCH, observer) {
        Progress::More => events.dpc(move |world, events| derive(world, events, id, life)),
        Progress::Done => events.action(move |world, events| commit(world, events, id, life)),
        Progress::Exceeded => abandon(world, events, id, life),
    }
}

fn commit<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, observer)) = world.fleet().alive(id, life) else { return };
    alive.node.commit(observer);
    refine(world, events, id, life);
}

fn refine<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, observer)) = world.fleet().alive(id, life) else { return };
    let progress = alive.node.refine(observer);
    if alive.node.is_interrupted() {
        return; // its derivations are incomplete
    }
    match progress {
        Progress::More => events.action(move |world, events| refine(world, events, id, life)),
        Progress::Done => finish(world, events, id, life),
        Progress::Exceeded => abandon(world, events, id, life),
    }
}

fn abandon<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    alive.node.abandon();
    world.turned(events, id);
}

fn finish<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now_ns = events.now().0;
    let Some((alive, observer)) = world.fleet().alive(id, life) else { return };
    let follows = alive.node.finish(observer);
    let has_sent = alive.hand_over(now_ns);
    // The post also handles other effects of a turn on peers and connections.
    let posts = has_sent || alive.streams.is_some() || alive.peers.is_some();
    let crossings = alive.node.take_crossings();
    schedule(world, events, id, life, follows);
    if posts {
        post(world, events, id, life);
    }
    arm_expiry(world, events, id, life);
    arm_release(world, events, id, life);
    arm_look(world, events, id, life);
    compare_after_turn(world, events, id, life);
    if !crossings.is_empty() {
        world.crossed(events, id, &crossings);
        if let Some((alive, _)) = world.fleet().alive(id, life) {
            alive.node.reuse_crossings(crossings);
        }
    }
    world.turned(events, id);
}

/// Ends a turn that has changed nothing at the node.
fn end_short<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    // A turn in parts takes one step more.
    events.charge(1);
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    if alive.streams.is_some() || alive.peers.is_some() {
        post(world, events, id, life);
    }
    compare_after_turn(world, events, id, life);
    world.turned(events, id);
}

/// Sets the timers that a node's tables need.
pub(super) fn arm_timers<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    arm_expiry(world, events, id, life);
    arm_release(world, events, id, life);
    arm_look(world, events, id, life);
    arm_comparison(world, events, id, life);
}

/// Sets the timer for the next row that expires.
fn arm_expiry<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(at) = alive.node.next_expiry_ns() else { return };
    arm(&mut alive.expiry, events, Time(at), move |world: &mut W, events: &mut Loop<W>| {
        let Some((alive, _)) = world.fleet().alive(id, life) else { return };
        alive.node.enqueue(Event::Expiry);
        schedule(world, events, id, life, 1);
    });
}

/// Sets the timer for the end of a hold.
fn arm_release<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(at) = alive.node.next_release_ns() else { return };
    arm(&mut alive.release, events, Time(at), move |world: &mut W, events: &mut Loop<W>| {
        let Some((alive, _)) = world.fleet().alive(id, life) else { return };
        alive.node.release();
        schedule(world, events, id, life, 1);
    });
}

/// Sets the timer that asks operators again for rows that had not come from outside.
fn arm_look<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(at) = alive.node.next_look_ns() else { return };
    arm(&mut alive.look, events, Time(at), move |world: &mut W, events: &mut Loop<W>| {
        let Some((alive, _)) = world.fleet().alive(id, life) else { return };
        let count = alive.node.look_again();
        schedule(world, events, id, life, count);
    });
}

/// Compares the system tables of a node after a turn.
fn compare_after_turn<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let turns = alive.node.counters().external_turns;
    if alive.system.as_ref().is_some_and(|system| turns > system.quiet_turns) {
        arm_comparison(world, events, id, life);
    }
}

/// Compares the system tables of all nodes that read some, as more than their turns may have
/// changed them.
pub fn sample<W: World>(world: &mut W, events: &mut Loop<W>) {
    for number in 0..world.fleet().slots.len() {
        let life = world.fleet().slots[number].life;
        arm_comparison(world, events, NodeId(number as u32), life);
    }
}

/// Sets the timer for the next comparison of a node, if there is none.
pub(super) fn arm_comparison<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(system) = &mut alive.system else { return };
    if system.timer.is_some() {
        return;
    }
    let at = system.compared.map_or(events.now(), |compared| events.now().max(compared + EVERY));
    system.timer = Some(events.timer(at, move |world: &mut W, events: &mut Loop<W>| {
        let changed = system::compare(world, events, id, life);
        schedule(world, events, id, life, changed);
    }));
}
