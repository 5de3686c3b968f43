//! A node: the unit of deployment. Its rules are in the fleet, by its number; the rest is here.
//!
//! ```text
//! Machine.node      the node whose turn it is
//! Machine.others    [idle] [0] [1] [2] ...    the others; the slot of that one is empty
//! ```
//! A run of one node has just that, in the scope of the loop. Of several, each has a scope of its
//! own for each of its lives, and the loop turns the machine to it before anything of it runs; what
//! concerns no node, such as a script, finds a node that is idle.

use tidemill_event::{Host, Scope};
use tidemill_overlog::fleet::NodeId;
use tidemill_packet::drive::Driver;
use tidemill_packet::engine::{self, Engine};
use tidemill_packet::graph::Graph;
use tidemill_proc::Runner;
use tidemill_proc::fault::Ended;
use tidemill_stat::Registry;

use crate::borders::{Borders, Checked};
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
    /// Its main part has come to its end.
    pub(crate) is_over: bool,
    /// How its entry component did, once the run is over; `None` if it was stopped.
    pub(crate) how: Option<Ended>,
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
            is_over: false,
            how: None,
        }
    }

    /// Joins its engines: what components reach of schemas and rules, and packets of rules.
    ///
    /// # Errors
    /// No random numbers.
    pub(crate) fn join(
        &mut self,
        borders: &Checked,
        graph: Option<&Graph>,
        registry: &Registry,
        host: &mut dyn Host,
    ) -> Result<(), String> {
        let secret = host.hash_secret().map_err(|error| format!("no random numbers: {error}"))?;
        self.systems.know(&borders.schemas);
        self.borders = Borders::new(borders, graph, registry, secret);
        self.borders.offer(self.runner.worker());
        Ok(())
    }
}

/// Where a node is when its turn is not.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) node: Option<Box<Node>>,
    /// The scope of its life, while it lives.
    pub(super) scope: Option<Scope>,
}

/// The nodes whose turn it is not.
pub(super) struct Others {
    /// The first is that of what is no node.
    pub(super) slots: Vec<Slot>,
    /// The slot of the node whose turn it is.
    pub(super) current: usize,
    /// The slot of each scope; `None` if that has ended.
    pub(super) scopes: Vec<Option<usize>>,
}

impl Others {
    /// None.
    pub(super) fn none() -> Others {
        Others { slots: vec![Slot::default()], current: 0, scopes: vec![Some(0)] }
    }
}

pub(super) fn slot(NodeId(id): NodeId) -> usize {
    id as usize + 1
}
