//! Detects that nothing is left to do although leases are renewed for ever.
//!
//! Shipped views make nodes send each other signs of life every 2 s, so the loop never runs out of
//! timers. A run without an end is over once for [`VIGIL`] no node has run a turn and no cue of the
//! script has been performed, no timers are set except those of the nodes' mail, and the mail has
//! nothing in flight but signs of life, and rows that it offers again and again to a peer that is
//! considered dead.
//!
//! The vigil is longer than a lease: the lease of a silent node has expired by then, and the rows
//! that it supported elsewhere have been retracted in turns of their own.

use tidemill_event::{Loop, TimerId};

use crate::machine::Machine;
use crate::machine::simulated::VIGIL;

/// Starts the vigil: the timer that waits for quiet.
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
