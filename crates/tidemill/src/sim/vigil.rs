//! When nothing is left to do although leases are upheld for ever.
//!
//! Views that are shipped make nodes tell each other every 2 s that they live, so the loop never
//! runs out of timers. A run without an end is over all the same once for [`VIGIL`] no node has
//! run a turn and no cue of the script has been performed, nothing is set but the timers of the
//! nodes' mail, and the mail has nothing under way but signs of life, and rows that it offers
//! again and again to a peer that has been given up.
//!
//! The vigil is longer than a lease: a node that fell silent has been missed by then, and what it
//! supported elsewhere has been retracted in turns of their own.

use std::time::Duration;

use tidemill_event::{Loop, TimerId};
use tidemill_fabric::reliable::LEASE_NS;

use super::SimState;
use crate::machine::Machine;

/// Time for what the end of a lease brings about.
const SPARE_NS: u64 = 10_000_000_000;

/// How long all must have been quiet: a lease and some more, 40 s.
const VIGIL: Duration = Duration::from_nanos(LEASE_NS + SPARE_NS);

/// The timer that waits for quiet.
pub(super) struct Vigil(TimerId);

impl Vigil {
    pub(super) fn new(events: &mut Loop<Machine>) -> Vigil {
        let look = |machine: &mut Machine, events: &mut Loop<Machine>, alarm| {
            if machine.fleet.only_upkeep(events) {
                events.stop();
            } else if events.timers_armed() > 0 {
                events.rearm(alarm, events.now() + VIGIL);
            }
        };
        let at = events.now() + VIGIL;
        Vigil(events.alarm(at, look))
    }
}

/// Something has happened: the vigil begins anew.
pub(super) fn restart(sim: &SimState, events: &mut Loop<Machine>) {
    if let Some(Vigil(timer)) = sim.vigil {
        events.rearm(timer, events.now() + VIGIL);
    }
}
