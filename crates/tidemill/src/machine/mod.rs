//! What the loop of a run works on: the engines of a program, side by side.
//!
//! ```text
//!                 one loop
//!    +---------------+----------------+
//!    |               |                |
//!  fleet           runner           driver
//!  nodes of rules  processes of     the packet graph
//!                  components
//! ```
//! Each engine is always there; one that its program has nothing for is idle. What comes from the
//! outside, or from another engine, becomes an event of the loop; no engine runs a loop of its own.
//!
//! | part | holds |
//! |---|---|
//! | `nodes` | nodes started, drained, asked; their keys |
//! | `components` | the entry component started, and what it amounts to |
//! | `packets` | the graph started, reported |
//! | `source` | where the program comes from |
//! | `pending` | what takes the place of a part of it |
//! | `versions` | its components, with those that took their place |
//! | `replace_components` | others take their place |
//! | `reload` | it is read again, and replaced as far as it can be |
//! | `parts` | what nodes are made from |
//! | `node` | the engines of one node, and where they are when it is not its turn |
//! | `turns` | which node it is the turn of |
//! | `life` | a node started, and ended without notice |
//! | `end` | what is left at the end, and what all nodes did |
//! | `control` | what tools ask of a run |
//! | `share`, `crew`, `others` | several workers: which nodes each has, what they ask of others |
//! | `agree` | all of them go on with other rules, or none |
//! | `log` | the last lines of the log, with their times |
//! | `simulated` | what a simulation has beside |
//! | `system` | components and packets as tables of the system |
//! | `world` | what the loop and the engines call, which goes on to engines and borders |
//!
//! The machine is the middle of its crate. Below it is what it is made of, the state of each border
//! and of each system component among that, and no file there names it; above it is all that works
//! on it.

mod agree;
pub(crate) mod components;
mod control;
pub(crate) mod crew;
mod end;
pub(crate) mod life;
mod log;
pub(crate) mod node;
pub(crate) mod nodes;
pub(crate) mod others;
pub(crate) mod packets;
pub(crate) mod parts;
mod pending;
pub(crate) mod reload;
mod replace_components;
pub(crate) mod share;
pub(crate) mod simulated;
mod source;

mod system;
mod turns;
mod versions;
mod world;

use std::rc::Rc;
use std::sync::Arc;

use tidemill_overlog::fleet::{Fleet, NodeId};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::Program as Rules;
use tidemill_overlog::program::Compiled;
use tidemill_proc::Runner;
use tidemill_stat::Registry;

use crate::borders::sinks::Sinks;
use crate::components::system::Systems;
use crate::console::Console;
use crate::control::Server;
use crate::journal::{Journal, SharedJournal};
use crate::keys::KeyWatch;
use crate::meters::Meters;

use crew::Crew;
use log::Log;
use node::{Node, Others};
use parts::{Has, Maker};
use pending::Pending;
use share::Share;
use simulated::Simulated;

pub(crate) use source::Source;
pub(crate) use versions::Versions;

/// The engines of a program, and what they share.
pub(crate) struct Machine {
    /// Its nodes.
    pub(crate) fleet: Fleet,
    /// The node whose turn it is.
    pub(crate) node: Box<Node>,
    /// The others, if there are several.
    others: Others,
    /// What makes nodes, if there are several.
    pub(crate) maker: Option<Rc<Maker>>,
    /// The nodes that it runs.
    pub(crate) share: Share,
    /// Those who run the others, if it is not alone.
    pub(crate) crew: Option<Crew<Machine>>,
    /// What a simulation has beside.
    pub(crate) sim: Option<Simulated>,
    /// The files that rules write.
    pub(crate) sinks: Sinks,
    /// Packets that were lost with nodes that ended.
    pub(crate) lost_packets: u64,
    /// What has been written and found.
    pub(crate) journal: SharedJournal,
    /// What others see of the counters.
    pub(crate) meters: Meters,
    pub(crate) registry: Registry,
    /// The last lines of the log.
    log: Log,
    /// Who asks; nobody, once the run is over.
    pub(crate) control: Option<Server>,
    /// The files that its keys came from.
    pub(crate) keys: Option<KeyWatch>,
    /// How its program is read again.
    pub(crate) source: Option<Source>,
    /// What its borders go on with when other rules have taken the place of its own.
    pending: Option<Pending>,
    /// It starts again once it has ended.
    pub(crate) starts_again: bool,
    /// A timer will write what waits.
    flush_is_set: bool,
    /// What it has, and what becomes of the run when that ends.
    pub(crate) has: Has,
    /// It takes no new work.
    pub(crate) is_ending: bool,
}

impl Machine {
    /// With idle engines but for components.
    ///
    /// # Errors
    /// None that a program could cause.
    pub(crate) fn new(
        (runner, systems): (Runner, Systems),
        journal: SharedJournal,
        registry: Registry,
        has: Has,
    ) -> Result<Machine, String> {
        let idle = Arc::new(Rules::new(Compiled::default()).map_err(|error| error.to_string())?);
        Ok(Machine {
            fleet: Fleet::new(idle, Fabric::Udp, 0, Box::new(journal.clone())),
            node: Box::new(Node::new(NodeId(0), runner, systems)),
            others: Others::none(),
            maker: None,
            share: Share::ALL,
            crew: None,
            sim: None,
            sinks: Sinks::default(),
            lost_packets: 0,
            meters: Meters::new(registry.clone(), 0),
            journal,
            registry,
            log: Log::default(),
            control: None,
            keys: None,
            source: None,
            pending: None,
            starts_again: false,
            flush_is_set: false,
            has,
            is_ending: false,
        })
    }

    /// Whether a node lives, here or in another part of a simulation.
    pub(crate) fn is_alive(&self, id: NodeId) -> bool {
        match self.share.has(id) {
            true => self.fleet.node(id).is_some(),
            false => self.sim.as_ref().is_some_and(|sim| sim.is_alive_elsewhere(id)),
        }
    }

    /// Writes a note.
    pub(crate) fn note(&self, text: &str) {
        self.journal.get_mut().console.note(format_args!("tidemill: {text}"));
    }
}

/// A journal for runs that write nothing of their own.
pub(crate) fn silent_journal() -> SharedJournal {
    SharedJournal::new(Journal::new(Console::silent()))
}
