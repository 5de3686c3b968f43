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

use tidemill_event::{Loop, TimerId};

use crate::machine::Machine;
use crate::machine::simulated::VIGIL;

/// Begins it: the timer that waits for quiet.
pub(super) fn keep(events: &mut Loop<Machine>) -> TimerId {
    let look = |machine: &mut Machine, events: &mut Loop<Machine>, alarm| {
        if machine.fleet.only_upkeep(events) {
            events.stop();
        } else if events.timers_armed() > 0 {
            events.rearm(alarm, events.now() + VIGIL);
        }
    };
    let at = events.now() + VIGIL;
    events.alarm(at, look)
}
