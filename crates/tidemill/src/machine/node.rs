//! A node: the unit of deployment. Its rules are in the fleet, by its number; the rest is here.

use tidemill_overlog::fleet::NodeId;
use tidemill_packet::drive::Driver;
use tidemill_packet::engine::{self, Engine};
use tidemill_proc::Runner;

use crate::borders::Borders;
use crate::components::system::Systems;

/// The engines of one node, but for rules.
pub(crate) struct Node {
    /// Its number in the fleet.
    pub(crate) id: NodeId,
    /// Its processes.
    pub(crate) runner: Runner,
    /// What the system offers to its components.
    pub(crate) systems: Systems,
    /// Its packet graph.
    pub(crate) driver: Driver,
    /// What goes from one engine to another.
    pub(crate) borders: Borders,
}

impl Node {
    /// A node without a graph.
    pub(crate) fn new(id: NodeId, runner: Runner, systems: Systems) -> Node {
        Node {
            id,
            runner,
            systems,
            driver: Driver::new(Engine::new(engine::Options::default())),
            borders: Borders::default(),
        }
    }
}
