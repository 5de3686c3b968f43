//! The state of a simulation beside its nodes.

use std::time::Duration;

use tidemill_event::{Loop, TimerId};
use tidemill_fabric::reliable::LEASE_NS;
use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::node::Coverage;
use tidemill_relation::plan::RelationId;

use crate::properties::Properties;
use crate::rule_times::RuleTimes;
use crate::script::Victim;
use crate::switch::{Plug, Switches};
use crate::unsettled::Unsettled;

/// The time for the effects of an expired lease.
const SPARE_NS: u64 = 10_000_000_000;

/// The quiet time after which a run is over: a lease and some more, 40 s.
pub(crate) const VIGIL: Duration = Duration::from_nanos(LEASE_NS + SPARE_NS);

/// The state of a simulation, or of a part of one.
#[derive(Debug)]
pub(crate) struct Simulated {
    /// By node: it is run by another part, and is down.
    pub(crate) down_elsewhere: Vec<bool>,
    /// The table of nodes, where the program has it.
    pub(crate) roll: Option<RelationId>,
    /// Ends a run that has nothing left to do; `None`, if it has an end, or no leases.
    pub(crate) vigil: Option<TimerId>,
    /// It continues when the main parts of all nodes have ended: it has an end time, or pending
    /// actions of a script.
    pub(crate) lasts: bool,
    /// Rules about all nodes, if there are any.
    pub(crate) properties: Option<Box<Properties>>,
    /// Rows that must be gone after faults, and the timer that checks them.
    pub(crate) unsettled: Option<Unsettled>,
    pub(crate) settle_timer: Option<TimerId>,
    /// Nodes that churn has ended and not restarted.
    pub(crate) churned: Vec<u32>,
    /// The times at which churn ended or restarted a node.
    pub(crate) lives: Vec<(u64, u32, bool)>,
    /// The times at which components and apps of nodes were made to fail at random.
    pub(crate) kills: Vec<(u64, u32, Victim)>,
    /// The coverage of lives that have ended.
    pub(crate) coverage: Coverage,
    /// When rules first did something, if that is sampled.
    pub(crate) rule_times: RuleTimes,
    /// The devices of each node at links, and the links.
    pub(crate) plugs: Vec<Plug>,
    pub(crate) switches: Switches,
}

impl Simulated {
    /// Whether a node of another part lives there.
    pub(crate) fn is_alive_elsewhere(&self, id: NodeId) -> bool {
        !self.down_elsewhere.get(id.0 as usize).is_some_and(|&down| down)
    }

    /// Records whether a node of another part lives.
    pub(crate) fn set_alive_elsewhere(&mut self, id: NodeId, alive: bool) {
        let node = id.0 as usize;
        if self.down_elsewhere.len() <= node {
            self.down_elsewhere.resize(node + 1, false);
        }
        self.down_elsewhere[node] = !alive;
    }

    /// Something has happened: restarts the vigil.
    pub(crate) fn turned<W: 'static>(&self, events: &mut Loop<W>) {
        if let Some(timer) = self.vigil {
            events.rearm(timer, events.now() + VIGIL);
        }
    }
}
