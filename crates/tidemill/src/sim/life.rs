//! Nodes of a simulation that come and go.

use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_overlog::fleet::{self, NodeId};
use tidemill_stdx::rng::Rng;

use super::{SimWorld, roll};

/// Sets the streams of churn apart from all other chance.
const STREAM: u64 = 0x6368_7572_6e00;

/// Ends a node without notice; nothing happens if it is not alive.
pub(super) fn crash(world: &mut SimWorld, events: &mut Loop<SimWorld>, node: u32) {
    let turns = world.fleet.node(NodeId(node)).map(|node| node.counters().turns);
    let Some(endpoint) = fleet::crash(world, events, NodeId(node)) else { return };
    world.retired += turns.unwrap_or(0);
    // What is under way to it is lost.
    events.host().close(endpoint);
    roll::note(world, events, node);
}

/// Starts a crashed node again, empty; nothing happens if it is alive.
pub(super) fn restart(world: &mut SimWorld, events: &mut Loop<SimWorld>, node: u32) {
    if world.is_alive(node) {
        return;
    }
    let address = world.fleet.identity(NodeId(node)).address.clone();
    roll::call(world, node);
    let bound = events.host().bind(&address);
    let started = bound.and_then(|endpoint| fleet::restart(world, events, endpoint, NodeId(node)));
    if let Err(error) = started {
        let note = format!("tidemill: {address} does not start again: {error}");
        world.journal.get_mut().console.note(note);
        return;
    }
    roll::note(world, events, node);
}

/// Makes all nodes but the first live for exponentially distributed times of this mean, and pause
/// for such of a tenth of it.
pub(super) fn churn(world: &SimWorld, events: &mut Loop<SimWorld>, mean_ns: u64, seed: u64) {
    let streams = Rng::new(seed).fork(STREAM);
    for NodeId(node) in world.fleet.ids().skip(1) {
        let mut random = streams.fork(node.into());
        let mean = mean_ns as f64;
        let first = events.now() + span(random.exponential(mean));
        events.alarm(first, move |world: &mut SimWorld, events: &mut Loop<SimWorld>, alarm| {
            let mean = match world.is_alive(node) {
                true => {
                    crash(world, events, node);
                    mean / 10.0
                }
                false => {
                    restart(world, events, node);
                    mean
                }
            };
            let next: Time = events.now() + span(random.exponential(mean));
            events.rearm(alarm, next);
        });
    }
}

/// At least a nanosecond, so that time goes on.
fn span(ns: f64) -> Duration {
    // The cast saturates.
    Duration::from_nanos((ns as u64).max(1))
}
