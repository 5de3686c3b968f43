//! The world of the loop of a run: the engines of a program, side by side.
//!
//! ```text
//!                 one loop
//!    +---------------+----------------+
//!    |               |                |
//!  fleet           runner           driver
//!  nodes of rules  processes of     the packet graph
//!                  components
//! ```
//! All engines are always present; one without a part of the program is idle. Input from outside,
//! or from another engine, becomes an event of the loop; no engine runs a loop of its own.
//!
//! | part | holds |
//! |---|---|
//! | `nodes` | nodes started, drained, queried; their keys |
//! | `components` | compilation and start of components |
//! | `packets` | the graph started, reported |
//! | `source` | the sources of the program |
//! | `pending` | replacements of parts of it |
//! | `versions` | versions of its components |
//! | `replace_components` | their replacement |
//! | `reload` | reloading the program |
//! | `parts` | the parts that nodes are made from |
//! | `node` | the engines of one node, and the slots of the others |
//! | `turns` | switching the current node |
//! | `life` | start and crash of a node |
//! | `end` | the end of a run, and its summary |
//! | `emptied` | tables that start anew with other rules |
//! | `former` | the counters of nodes that have crashed |
//! | `control` | requests of tools |
//! | `share`, `crew` | several workers: the nodes of each, and the others |
//! | `posts`, `others` | calls between them |
//! | `agree` | their vote on new rules |
//! | `log` | the last lines of the log, with their times |
//! | `simulated` | state of simulations only |
//! | `system` | components and packets as tables of the system |
//! | `world` | callbacks of the loop and the engines, passed to engines and borders |
//!
//! The machine is the centre of its crate. Its parts are below it, among them the state of each
//! border and of each system component, and no file there names it; the operations on it are above.

mod agree;
pub(crate) mod components;
mod control;
pub(crate) mod counters;
pub(crate) mod crew;
mod emptied;
mod end;
mod former;
pub(crate) mod life;
mod log;
pub(crate) mod node;
pub(crate) mod nodes;
pub(crate) mod others;
pub(crate) mod packets;
pub(crate) mod parts;
mod pending;
pub(crate) mod posts;
pub(crate) mod reload;
mod replace_components;
pub(crate) mod share;
pub(crate) mod simulated;
mod source;

mod system;
mod turns;
mod versions;
mod world;

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use tidemill_event::Time;
use tidemill_overlog::fleet::{Fleet, NodeId};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::Program as Rules;
use tidemill_proc::Runner;
use tidemill_stat::Registry;

use crate::borders::sinks::Sinks;
use crate::components::system::Systems;
use crate::console::Console;
use crate::control::Server;
use crate::journal::{Journal, SharedJournal};
use crate::keys::KeyWatch;
use crate::lines::{LineKind, Writer};
use crate::meters::Meters;

use crew::Crew;
use former::FormerLives;
use log::Log;
use node::{Node, Others};
use parts::{Has, Maker};
use pending::Pending;
use share::Share;
use simulated::Simulated;

pub(crate) use source::Source;
pub(crate) use versions::Versions;

/// The engines of a program, and their shared state.
pub(crate) struct Machine {
    /// Its nodes.
    pub(crate) fleet: Fleet,
    /// The current node.
    pub(crate) node: Box<Node>,
    /// The other nodes, if there are several.
    others: Others,
    /// Makes nodes, if there are several.
    pub(crate) maker: Option<Rc<Maker>>,
    /// The nodes that this worker runs.
    pub(crate) share: Share,
    /// The other workers, if there are several.
    pub(crate) crew: Option<Crew<Machine>>,
    /// State of simulations only.
    pub(crate) sim: Option<Simulated>,
    /// The files that rules write.
    pub(crate) sinks: Sinks,
    /// Packets that were lost with nodes that ended.
    pub(crate) lost_packets: u64,
    /// What these nodes have counted.
    former: FormerLives,
    /// The output and findings of the run.
    pub(crate) journal: SharedJournal,
    /// The published counters.
    pub(crate) meters: Meters,
    /// When they were published last, if time is that of captures; else a timer does it.
    metered: Option<Time>,
    pub(crate) registry: Registry,
    /// The last lines of the log.
    log: Log,
    /// The control server; `None` once the run is over.
    pub(crate) control: Option<Server>,
    /// The files of its keys.
    pub(crate) keys: Option<KeyWatch>,
    /// The sources to reload the program from.
    pub(crate) source: Option<Source>,
    /// The next borders, while the rules are being replaced.
    pending: Option<Pending>,
    /// It restarts once it has ended.
    pub(crate) starts_again: bool,
    /// The timer that flushes the output is set.
    flush_is_set: bool,
    /// Which engines have work, whose end ends the run.
    pub(crate) has: Has,
    /// It accepts no new work.
    pub(crate) is_ending: bool,
    /// Its clock is that of captures, which are its only input, and nothing else ends it for sure.
    pub(crate) ends_after_captures: bool,
}

impl Machine {
    /// A machine whose engines are idle except for components.
    pub(crate) fn new(
        (runner, systems): (Runner, Systems),
        journal: SharedJournal,
        registry: Registry,
        has: Has,
    ) -> Machine {
        let idle = Arc::new(Rules::idle());
        Machine {
            fleet: Fleet::new(idle, Fabric::Udp, 0, Box::new(journal.clone())),
            node: Box::new(Node::new(NodeId(0), runner, systems)),
            others: Others::none(),
            maker: None,
            share: Share::ALL,
            crew: None,
            sim: None,
            sinks: Sinks::default(),
            lost_packets: 0,
            former: FormerLives::default(),
            meters: Meters::new(registry.clone(), 0),
            metered: None,
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
            ends_after_captures: false,
        }
    }

    /// Whether a node lives, here or in another part of a simulation.
    pub(crate) fn is_alive(&self, id: NodeId) -> bool {
        if self.share.has(id) {
            self.fleet.node(id).is_some()
        } else {
            self.sim.as_ref().is_some_and(|sim| sim.is_alive_elsewhere(id))
        }
    }

    /// Writes a note.
    pub(crate) fn note(&self, text: &str) {
        self.remark(format_args!("tidemill: {text}"));
    }

    /// Writes a line of notes about the current node.
    pub(crate) fn remark(&self, line: impl fmt::Display) {
        let writer = Writer::Node(self.node.id.0);
        self.journal.get_mut().remark((writer, LineKind::Note), line);
    }
}

/// A journal for runs without output of their own.
pub(crate) fn silent_journal() -> SharedJournal {
    SharedJournal::new(Journal::new(Console::silent()))
}
