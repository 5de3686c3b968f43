//! A node: the unit of deployment. Its rules are in the fleet, under its number; the rest is here.
//!
//! ```text
//! Machine.node      the node whose turn it is
//! Machine.others    [idle] [0] [1] [2] ...    the others; the slot of that one is empty
//! ```
//! A run of one node has only that, in the scope of the loop. Each of several nodes has a scope for
//! each of its lives, and the loop switches the machine to it before running anything of it; code
//! that concerns no node, such as a script, runs with an idle node.

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
use crate::error::Error;

/// The engines of one node, except for its rules.
pub(crate) struct Node {
    /// Its number in the fleet.
    pub(crate) id: NodeId,
    /// Its processes.
    pub(crate) runner: Runner,
    /// The system components.
    pub(crate) systems: Systems,
    /// Its packet graph.
    pub(crate) driver: Driver,
    /// The borders between its engines.
    pub(crate) borders: Borders,
    /// Its main part has ended.
    pub(crate) is_over: bool,
    /// The captures that it reads have ended, and their packets have arrived.
    pub(crate) has_read_captures: bool,
    /// The result of its entry component, once the run is over; `None` if it was stopped.
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
            has_read_captures: false,
            how: None,
        }
    }

    /// Connects its engines: components to schemas and rules, and packets to rules.
    ///
    /// # Errors
    /// The host provides no random numbers.
    pub(crate) fn join(
        &mut self,
        borders: &Checked,
        graph: Option<&Graph>,
        registry: &Registry,
        host: &mut dyn Host,
    ) -> Result<(), Error> {
        let secret = host.hash_secret().map_err(Error::no_random)?;
        self.systems.know(&borders.schemas);
        self.borders = Borders::new(borders, graph, registry, secret);
        self.borders.offer(self.runner.worker());
        Ok(())
    }
}

impl Node {
    /// Connects its engines, as an instance of a graph at another worker than the rules.
    ///
    /// # Errors
    /// The host provides no random numbers.
    pub(crate) fn join_instance(
        &mut self,
        borders: &Checked,
        instance: u32,
        registry: &Registry,
        host: &mut dyn Host,
    ) -> Result<(), Error> {
        let secret = host.hash_secret().map_err(Error::no_random)?;
        self.systems.know(&borders.schemas);
        self.borders = Borders::of_instance(borders, instance, registry, secret);
        self.borders.offer(self.runner.worker());
        Ok(())
    }
}

/// The slot of a node that is not current.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) node: Option<Box<Node>>,
    /// The scope of its life, while it lives.
    pub(super) scope: Option<Scope>,
}

/// The nodes that are not current.
pub(super) struct Others {
    /// The first slot belongs to the idle node.
    pub(super) slots: Vec<Slot>,
    /// The slot of the current node.
    pub(super) current: usize,
    /// The slot of each scope; `None` if the scope has ended.
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
