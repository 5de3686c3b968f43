//! What a simulation has beside its nodes.

use std::time::Duration;

use tidemill_event::{Loop, TimerId};
use tidemill_fabric::reliable::LEASE_NS;
use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::node::RuleCoverage;
use tidemill_relation::plan::RelationId;

use crate::properties::Properties;
use crate::switch::{Plug, Switches};
use crate::unsettled::Unsettled;

/// Time for what the end of a lease brings about.
const SPARE_NS: u64 = 10_000_000_000;

/// How long all must have been quiet: a lease and some more, 40 s.
pub(crate) const VIGIL: Duration = Duration::from_nanos(LEASE_NS + SPARE_NS);

/// The state of a simulation, or of a part of one.
#[derive(Debug)]
pub(crate) struct Simulated {
    /// By node: it is run by another part, and does not live now.
    pub(crate) down_elsewhere: Vec<bool>,
    /// The table of nodes, where the program has it.
    pub(crate) roll: Option<RelationId>,
    /// What ends a run when nothing is left to do; none, if it has an end, or no leases.
    pub(crate) vigil: Option<TimerId>,
    /// It goes on when the main parts of all nodes have ended: it has a time of its own, or a
    /// script that has yet to come.
    pub(crate) lasts: bool,
    /// What rules say of all nodes together, if they do.
    pub(crate) properties: Option<Box<Properties>>,
    /// What must be gone when faults are over, and the timer that looks whether it is.
    pub(crate) unsettled: Option<Unsettled>,
    pub(crate) settle_timer: Option<TimerId>,
    /// Nodes that churn has ended, and has not started again.
    pub(crate) churned: Vec<u32>,
    /// When churn has ended a node, or started it again.
    pub(crate) lives: Vec<(u64, u32, bool)>,
    /// What rules have done in lives that have ended.
    pub(crate) coverage: Vec<RuleCoverage>,
    /// Turns of lives that have ended.
    pub(crate) retired: u64,
    /// The devices of each node that are at links, and the links.
    pub(crate) plugs: Vec<Plug>,
    pub(crate) switches: Switches,
}

impl Simulated {
    /// Whether a node that is run by another part lives there.
    pub(crate) fn is_alive_elsewhere(&self, id: NodeId) -> bool {
        !self.down_elsewhere.get(id.0 as usize).is_some_and(|&down| down)
    }

    /// Notes that a node lives, or does not, if it is run by another part.
    pub(crate) fn set_alive_elsewhere(&mut self, id: NodeId, alive: bool) {
        let node = id.0 as usize;
        if self.down_elsewhere.len() <= node {
            self.down_elsewhere.resize(node + 1, false);
        }
        self.down_elsewhere[node] = !alive;
    }

    /// Something has happened: the vigil begins anew.
    pub(crate) fn turned<W: 'static>(&self, events: &mut Loop<W>) {
        if let Some(timer) = self.vigil {
            events.rearm(timer, events.now() + VIGIL);
        }
    }
}
