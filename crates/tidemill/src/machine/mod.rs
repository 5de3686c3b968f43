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
//! | `reload` | the program read again, and replaced as far as it can be |
//! | `node` | the engines of one node, and which node it is the turn of |
//! | `parts` | what nodes are made from |
//! | `end` | what is left at the end, and what all nodes did |
//! | `control` | what tools ask of a run |
//! | `log` | the last lines of the log, with their times |
//! | `simulated` | what a simulation has beside |
//! | `system` | components and packets as tables of the system |

pub(crate) mod components;
mod control;
mod end;
mod log;
pub(crate) mod node;
pub(crate) mod nodes;
pub(crate) mod packets;
pub(crate) mod parts;
pub(crate) mod reload;
pub(crate) mod simulated;
mod system;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_overlog::fleet::{self, Call, Fleet, NodeId, Takes};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Crossing, Program as Rules};
use tidemill_overlog::program::Compiled;
use tidemill_overlog::query::AskerId;
use tidemill_packet::drive::{self, Driver};
use tidemill_packet::engine::{Changes, Rest};
use tidemill_proc::{Communication, Home, Over, Request, Runner};
use tidemill_relation::{OwnedValue, TupleBuf};
use tidemill_stat::Registry;

use crate::borders::{self, sinks::Sinks};
use crate::components::system::{self as offered, Systems};
use crate::console::Console;
use crate::control::Server;
use crate::journal::{Journal, SharedJournal};
use crate::keys::KeyWatch;
use crate::meters::Meters;
use crate::reload::Source;

use log::Log;
use node::{Node, Others};
use parts::Maker;
use simulated::Simulated;

/// How long data may wait before it is written.
const FLUSH_AFTER: Duration = Duration::from_millis(20);

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
    /// It starts again once it has ended.
    pub(crate) starts_again: bool,
    /// A timer will write what waits.
    flush_is_set: bool,
    /// What it has, and what becomes of the run when that ends.
    pub(crate) has: Has,
    /// It takes no new work.
    pub(crate) is_ending: bool,
}

/// Which engines have something to do in this program.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Has {
    pub(crate) nodes: bool,
    pub(crate) components: bool,
    /// One of the components is the program, and others end with it.
    pub(crate) entry: bool,
    pub(crate) packets: bool,
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
        let idle = Arc::new(Rules::new(Compiled::default())?);
        Ok(Machine {
            fleet: Fleet::new(idle, Fabric::Udp, 0, Box::new(journal.clone())),
            node: Box::new(Node::new(NodeId(0), runner, systems)),
            others: Others::none(),
            maker: None,
            sim: None,
            sinks: Sinks::default(),
            lost_packets: 0,
            meters: Meters::new(registry.clone()),
            journal,
            registry,
            log: Log::default(),
            control: None,
            keys: None,
            source: None,
            starts_again: false,
            flush_is_set: false,
            has,
            is_ending: false,
        })
    }

    /// The part that a node lasts as long as has come to its end: so does the run, in order, when
    /// that is so of all nodes.
    fn main_part_ended(&mut self, events: &mut Loop<Machine>) {
        self.node.is_over = true;
        let goes_on = self.sim.as_ref().is_some_and(|sim| sim.lasts);
        if goes_on || self.has_scopes() && !self.all_are_over() {
            return;
        }
        match self.has.nodes {
            true => nodes::drain(self, events),
            false => events.stop(),
        }
    }

    /// Whether a node lives.
    pub(crate) fn is_alive(&self, id: NodeId) -> bool {
        self.fleet.node(id).is_some()
    }

    /// No more packets come: whether the flows that components work on have ended. Where the run
    /// goes on all the same they need not.
    fn flows_are_over(&mut self, events: &mut Loop<Machine>) -> bool {
        self.sim.as_ref().is_some_and(|sim| sim.lasts) || borders::flows::end(self, events)
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

impl fleet::World for Machine {
    fn fleet(&mut self) -> &mut Fleet {
        &mut self.fleet
    }

    fn system_rows(
        &mut self,
        events: &mut Loop<Machine>,
        node: NodeId,
        name: &str,
    ) -> Vec<Vec<OwnedValue>> {
        self.log.read(events.wall());
        self.at_node(node, |machine| system::rows(machine, name)).unwrap_or_default()
    }

    fn answered(&mut self, events: &mut Loop<Machine>, asker: AskerId, part: &[u8]) -> Takes {
        crate::control::reply(self, events, asker, part)
    }

    fn called(&mut self, events: &mut Loop<Machine>, node: NodeId, call: Call<'_>) {
        crate::control::adopt(self, events, call.endpoint, (node, call.from), call.bytes);
    }

    fn crossed(&mut self, events: &mut Loop<Machine>, _: NodeId, tuples: &TupleBuf<Crossing>) {
        borders::crossed(self, events, tuples);
    }

    fn turned(&mut self, events: &mut Loop<Machine>) {
        if self.may_take_packets() {
            drive::wake(self, events);
        }
        borders::turned(self, events);
        self.log.read(events.wall());
        if self.journal.get().is_over() {
            events.stop();
        }
        if let Some(sim) = &self.sim {
            // All is written at the end, as a timer for it would be something left to do.
            return sim.turned(events);
        }
        if !self.flush_is_set && self.journal.get().console.is_dirty() {
            self.flush_is_set = true;
            let at: Time = events.now() + FLUSH_AFTER;
            events.timer(at, |machine: &mut Machine, events: &mut Loop<Machine>| {
                machine.flush_is_set = false;
                machine.journal.get_mut().console.flush();
                if machine.journal.get().is_over() {
                    events.stop();
                }
            });
        }
    }
}

impl Home for Machine {
    fn runner(&mut self) -> &mut Runner {
        &mut self.node.runner
    }

    fn request(&mut self, events: &mut Loop<Machine>, request: Request) {
        let request = borders::flows::serve(self, events, request);
        let request = request.and_then(|it| borders::rules::serve(self, events, it));
        request.into_iter().for_each(|it| offered::serve(self, events, it));
    }

    fn noted(&mut self, events: &mut Loop<Machine>, from: Communication) {
        borders::components::noted(self, events, from);
    }

    fn over(&mut self, events: &mut Loop<Machine>, over: Over) {
        borders::flows::over(self, events, over);
    }

    fn look(&mut self, events: &mut Loop<Machine>) -> bool {
        offered::look(self, events)
    }

    fn ended(&mut self, events: &mut Loop<Machine>) {
        self.main_part_ended(events);
    }
}

impl drive::World for Machine {
    fn driver(&mut self) -> &mut Driver {
        &mut self.node.driver
    }

    fn switched(&mut self, changes: &Changes) {
        borders::link(self);
        offered::packets::link(self);
        self.note(&packets::reloaded(changes));
    }

    fn breathed(&mut self, events: &mut Loop<Machine>, rest: Rest) {
        self.note_apps(events);
        offered::packets::deliver_all(self, events);
        borders::take(self, events);
        let packets = &mut self.node.borders.packets;
        packets.move_on = rest == Rest::Busy;
        let is_held = self.node.borders.hold_packets();
        let is_over = rest == Rest::Finished && !self.node.driver.engine.is_preparing();
        if is_over && !self.has.entry && !is_held && self.flows_are_over(events) {
            self.main_part_ended(events);
        }
    }
}
