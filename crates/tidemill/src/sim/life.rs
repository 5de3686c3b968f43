//! Crashes and restarts nodes of a simulation.

use tidemill_event::Loop;
use tidemill_overlog::fleet::{self, NodeId};
use tidemill_stdx::rng::Rng;

use super::{random_times, roll};
use crate::error::Error;
use crate::lines::{LineKind, Writer};
use crate::machine::{Machine, life, nodes};
use crate::why::Life;

/// Separates the random streams of churn from all others.
const STREAM: u64 = 0x6368_7572_6e00;

/// Crashes a node; does nothing if it is down.
pub(super) fn crash(machine: &mut Machine, events: &mut Loop<Machine>, node: u32) {
    if !machine.share.has(NodeId(node)) {
        return elsewhere(machine, events, node, false);
    }
    if let (Some(node), Some(sim)) = (machine.fleet.node(NodeId(node)), &mut machine.sim) {
        node.add_coverage(&mut sim.coverage);
    }
    let Some(endpoint) = fleet::crash(machine, events, NodeId(node)) else { return };
    life::crash(machine, events, NodeId(node));
    note(machine, events, node, Life::Ended);
    // Datagrams in flight to it are lost.
    events.host().close(endpoint);
    roll::note(machine, events, node);
    machine.with_properties(events, |properties, fleet, moment, observer| {
        properties.crashed(&fleet.identity(NodeId(node)).address, moment, observer);
    });
    if let Some(unsettled) = machine.sim.as_mut().and_then(|sim| sim.unsettled.as_mut()) {
        unsettled.crashed(&machine.fleet.identity(NodeId(node)).address);
        machine.check_settled(events);
    }
    machine.stop_if_over(events);
}

/// Restarts a crashed node, empty; does nothing if it is alive.
pub(super) fn restart(machine: &mut Machine, events: &mut Loop<Machine>, node: u32) {
    if machine.is_alive(NodeId(node)) {
        return;
    }
    if !machine.share.has(NodeId(node)) {
        // If drawing random numbers fails, it fails at all workers.
        let _ = fleet::restart_elsewhere(events);
        return elsewhere(machine, events, node, true);
    }
    let address = machine.fleet.identity(NodeId(node)).address.clone();
    roll::call(machine, node);
    let bound = events.host().bind(&address);
    let bound = bound.map_err(Error::start);
    let started = bound
        .and_then(|endpoint| nodes::restart_one(machine, events, endpoint, NodeId(node)))
        .and_then(|()| nodes::begin(machine, events, NodeId(node)));
    if let Err(error) = started {
        let note = format!("tidemill: {address} does not start again: {error}");
        let writer = Writer::Node(node);
        machine.journal.get_mut().cue_note(events.now().0, (writer, LineKind::Note), note);
        return;
    }
    note(machine, events, node, Life::Began);
    roll::note(machine, events, node);
}

/// Reports the event to the explanation of the run.
fn note(machine: &Machine, events: &Loop<Machine>, node: u32, life: Life) {
    if let Some(explaining) = &mut machine.journal.get_mut().explaining {
        let address = &machine.fleet.identity(NodeId(node)).address;
        explaining.account.lived(address, events.now().0, life);
    }
}

/// A node of another part starts or ends there, unless it is in that state already.
fn elsewhere(machine: &mut Machine, events: &mut Loop<Machine>, node: u32, alive: bool) {
    let Some(sim) = &mut machine.sim else { return };
    if sim.is_alive_elsewhere(NodeId(node)) != alive {
        sim.set_alive_elsewhere(NodeId(node), alive);
        roll::note(machine, events, node);
    }
}

/// Makes all nodes but the first live for exponentially distributed times of this mean, and stay
/// down for a tenth of it on average.
///
/// Lasts from `times.0` to `times.1`, if given.
pub(super) fn churn(
    machine: &Machine,
    events: &mut Loop<Machine>,
    (mean_ns, seed): (u64, u64),
    times: (u64, Option<u64>),
) {
    let (streams, mean) = (Rng::new(seed).fork(STREAM), mean_ns as f64);
    for NodeId(node) in machine.fleet.ids().skip(1) {
        let random = streams.fork(node.into());
        random_times::repeat(events, (random, mean), times, move |machine, events, _| {
            if machine.is_alive(NodeId(node)) {
                crash(machine, events, node);
                note_churned(machine, events, node, true);
                mean / 10.0
            } else {
                restart(machine, events, node);
                note_churned(machine, events, node, false);
                mean
            }
        });
    }
}

/// Restarts nodes that churn has ended.
pub(super) fn end_churn(machine: &mut Machine, events: &mut Loop<Machine>) {
    let churned = machine.sim.as_mut().map(|sim| std::mem::take(&mut sim.churned));
    for node in churned.into_iter().flatten() {
        restart(machine, events, node);
        note_life(machine, events, node, true);
    }
}

fn note_churned(machine: &mut Machine, events: &Loop<Machine>, node: u32, is_down: bool) {
    let Some(sim) = &mut machine.sim else { return };
    sim.churned.retain(|other| *other != node);
    if is_down {
        sim.churned.push(node);
    }
    note_life(machine, events, node, !is_down);
}

/// Records that churn, or its end, has started or ended a node.
fn note_life(machine: &mut Machine, events: &Loop<Machine>, node: u32, is_alive: bool) {
    if let Some(sim) = &mut machine.sim {
        sim.lives.push((events.now().0, node, is_alive));
    }
}
