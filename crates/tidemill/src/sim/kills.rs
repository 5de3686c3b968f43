//! Faults of components and apps at random times.

use tidemill_event::Loop;
use tidemill_overlog::fleet::NodeId;
use tidemill_stdx::rng::Rng;

use super::random_times;
use crate::machine::Machine;
use crate::machine::life::{kill, mortals};

/// Separates the random streams of these faults from all others.
const STREAM: u64 = 0x6b69_6c6c_0000;

/// Makes a component or an app of each node fail, again and again after exponentially distributed
/// times of this mean. The entry component is spared: its fault ends the node.
///
/// Lasts from `times.0` to `times.1`, if given.
pub(super) fn kills(
    machine: &Machine,
    events: &mut Loop<Machine>,
    (mean_ns, seed): (u64, u64),
    times: (u64, Option<u64>),
) {
    let (streams, mean) = (Rng::new(seed).fork(STREAM), mean_ns as f64);
    for node in machine.fleet.ids().filter(|node| machine.share.has(*node)) {
        let random = streams.fork(node.0.into());
        random_times::repeat(events, (random, mean), times, move |machine, events, random| {
            kill_one(machine, events, node, random);
            mean
        });
    }
}

/// Makes one of a node fail, and records which.
fn kill_one(machine: &mut Machine, events: &mut Loop<Machine>, node: NodeId, random: &mut Rng) {
    let mortals = mortals(machine, events, node);
    let Some(victim) = random.pick(&mortals) else { return };
    if let Some(sim) = &machine.sim {
        sim.turned(events);
    }
    if kill(machine, events, node, victim).is_ok()
        && let Some(sim) = &mut machine.sim
    {
        sim.kills.push((events.now().0, node.0, victim.clone()));
    }
}
