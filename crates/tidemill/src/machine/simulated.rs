//! What a simulation has beside its nodes.

use std::time::Duration;

use tidemill_event::{Loop, TimerId};
use tidemill_fabric::reliable::LEASE_NS;
use tidemill_relation::plan::RelationId;

use crate::switch::{Plug, Switches};

/// Time for what the end of a lease brings about.
const SPARE_NS: u64 = 10_000_000_000;

/// How long all must have been quiet: a lease and some more, 40 s.
pub(crate) const VIGIL: Duration = Duration::from_nanos(LEASE_NS + SPARE_NS);

/// The state of a simulation.
#[derive(Debug, Default)]
pub(crate) struct Simulated {
    /// The table of nodes, where the program has it.
    pub(crate) roll: Option<RelationId>,
    /// What ends a run when nothing is left to do; none, if it has an end, or no leases.
    pub(crate) vigil: Option<TimerId>,
    /// It goes on when the main parts of all nodes have ended: it has a time of its own, or a
    /// script that has yet to come.
    pub(crate) lasts: bool,
    /// Turns of lives that have ended.
    pub(crate) retired: u64,
    /// The devices of each node that are at links, and the links.
    pub(crate) plugs: Vec<Plug>,
    pub(crate) switches: Switches,
}

impl Simulated {
    /// Something has happened: the vigil begins anew.
    pub(crate) fn turned<W: 'static>(&self, events: &mut Loop<W>) {
        if let Some(timer) = self.vigil {
            events.rearm(timer, events.now() + VIGIL);
        }
    }
}
