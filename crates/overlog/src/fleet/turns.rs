//! Turns of nodes as events, calls and actions of the loop.

use tidemill_event::Loop;
use tidemill_relation::view::Progress;

use super::{NodeId, World, streams, system, timers};

/// Event tuples whose strands run in one call before the loop may let others run.
const DERIVE_BATCH: usize = 256;

/// Queues `count` events of the loop for as many that wait in the node's inbox.
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
    let begun = alive.node.begin(now.0, wall, observer);
    streams::resume(alive, events);
    if begun {
        derive(world, events, id, life);
    }
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
        return; // what is there is incomplete
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
    world.turned(events);
}

fn finish<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now_ns = events.now().0;
    let Some((alive, observer)) = world.fleet().alive(id, life) else { return };
    let follows = alive.node.finish(observer);
    alive.hand_over(now_ns);
    let crossings = alive.node.take_crossings();
    schedule(world, events, id, life, follows);
    timers::post(world, events, id, life);
    timers::arm_expiry(world, events, id, life);
    timers::arm_release(world, events, id, life);
    system::after_turn(world, events, id, life);
    if !crossings.is_empty() {
        world.crossed(events, id, &crossings);
    }
    world.turned(events);
}
