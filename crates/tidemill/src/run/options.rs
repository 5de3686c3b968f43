//! Options of a run: for all of it, and for the parts of one kind.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tidemill_fabric::token::Token;
use tidemill_overlog::fleet::{Extra, Seal};
use tidemill_overlog::net::mail::Fabric;
use tidemill_stat::Registry;

pub use tidemill_packet::engine::EngineKind;

use crate::error::Error;
use crate::keys::KeyFiles;
use crate::reach::Reach;
use crate::reload::Reload;
use crate::service::Service;

/// The maximum time for sending the remaining data of components after the end of a run.
pub(super) const LINGER_MAX: Duration = Duration::from_secs(2);

/// The maximum time for completing pending work at the end.
pub const DRAIN_MAX: Duration = Duration::from_secs(3);

/// The address of the node of a run that names none: the default of P2.
pub const NODE: &str = "localhost:10000";

/// Options of a run.
#[derive(Debug)]
pub struct RunOptions {
    /// The end of the run, in nanoseconds after its start; `None`: when the program ends, or it is
    /// stopped.
    pub end_ns: Option<u64>,
    /// The seed of random numbers; `None`: random. With a seed the slices of processes are counted,
    /// so that a run can be repeated.
    pub seed: Option<u64>,
    /// The clock.
    pub clock: Clock,
    /// Ends the run when readable.
    pub stop: Option<OwnedFd>,
    /// Set when `stop` is readable: then the run ends in the middle of a turn, too.
    pub stop_flag: Option<Arc<AtomicBool>>,
    /// When readable, nodes accept no new work, and the run ends when they are done, or after
    /// [`DRAIN_MAX`].
    pub drain: Option<OwnedFd>,
    /// When readable, the program and the key files are reloaded.
    pub hang_up: Option<UnixStream>,
    /// How the program is reloaded.
    pub reload: Option<Reload>,
    /// The role as a service. Ignored under a virtual clock.
    pub service: Service,
    /// The published counters. They are removed when the report of the run is dropped.
    /// Their folder has the socket for tools of this host.
    pub registry: Registry,
    /// Its nodes of rules.
    pub nodes: NodeOptions,
    /// Its components.
    pub components: ComponentOptions,
    /// Its packet graph.
    pub packets: PacketOptions,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            end_ns: None,
            seed: None,
            clock: Clock::Own,
            stop: None,
            stop_flag: None,
            drain: None,
            hang_up: None,
            reload: None,
            service: Service::default(),
            registry: Registry::in_memory(),
            nodes: NodeOptions::default(),
            components: ComponentOptions::default(),
            packets: PacketOptions::default(),
        }
    }
}

/// The clock of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// That of its captures, if the program has no other input, else the system's. Capture time
    /// advances as soon as nothing is left to do, and begins with the first packet.
    #[default]
    Own,
    /// The system's. Captures are replayed in real time.
    Wall,
    /// A simulated clock: it stands still while processes run, and jumps when all of them wait.
    Virtual,
}

/// The nodes to start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// One node of this address.
    Address(String),
    /// Several, on loopback ports chosen by the system; each is noted as `INDEX ADDR`.
    Nodes(u32),
}

/// Whether a node without a key may be reached from other hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposure {
    /// It does not start.
    Refused,
    /// Its owner accepts that everyone there can change its state.
    Accepted,
}

/// Options of nodes of rules.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The nodes.
    pub listen: Listen,
    /// The number of threads for several nodes, if the program has rules only, or for one node with
    /// a packet graph: each has an instance of it with the components of its flows, and the first
    /// all else.
    pub workers: u32,
    /// The name of the one node of [`Listen::Address`], if it differs from its address.
    pub address: Option<String>,
    /// Whether nodes may accept messages from everyone on the network.
    pub exposure: Exposure,
    /// The transport of tuples.
    pub fabric: Fabric,
    /// How messages between nodes are sealed.
    pub seal: Option<Seal>,
    /// The key files, which are read again when they change.
    pub key_files: Option<KeyFiles>,
    /// The token that tools on other hosts need to send requests to the nodes, at their own
    /// addresses; without it no such request is accepted.
    pub token: Option<Token>,
    /// The value of `LANDMARK`, if not the first of several nodes, or the only node.
    pub landmark: Option<String>,
    /// Tuples for the nodes at their locations, after the facts of the program.
    pub extra: Vec<Extra>,
    /// See [`Node::limit_turns`](tidemill_overlog::node::Node::limit_turns); a turn that derives
    /// more is abandoned.
    pub turn_tuples_max: Option<u64>,
    /// Whether to measure the cost of rules, for [`Report::profile`](super::Report::profile).
    pub profile: bool,
    /// The process ends after the run: when it is stopped, its memory is left to the system.
    pub ends_process: bool,
}

impl Default for NodeOptions {
    fn default() -> NodeOptions {
        NodeOptions {
            listen: Listen::Address(NODE.to_owned()),
            workers: 1,
            address: None,
            exposure: Exposure::Refused,
            fabric: Fabric::Udp,
            seal: None,
            key_files: None,
            token: None,
            landmark: None,
            extra: Vec::new(),
            turn_tuples_max: None,
            profile: false,
            ends_process: false,
        }
    }
}

impl NodeOptions {
    /// Whether nodes without a key can be reached from other hosts.
    ///
    /// # Errors
    /// They may not, or would have a name that cannot be reached.
    pub fn check_reach(&self) -> Result<Exposed, Error> {
        let Listen::Address(address) = &self.listen else { return Ok(Exposed::No) };
        let reach = Reach::of(address);
        if reach == Reach::Wildcard && self.address.is_none() {
            return Err(Error::Options(format!(
                "{address} stands for all addresses of this host, and a node has one: say which \
                 with --address HOST:PORT"
            )));
        }
        match (reach, &self.seal, self.exposure) {
            (Reach::Loopback, ..) => Ok(Exposed::No),
            (_, Some(_), _) => Ok(Exposed::No),
            (.., Exposure::Accepted) => Ok(Exposed::Yes),
            (.., Exposure::Refused) => Err(Error::Options(format!(
                "other hosts can reach {address}, and a node without a key believes everyone: \
                 give it a key with --key FILE (`tidemill key FILE` makes one), or say --open"
            ))),
        }
    }
}

/// Whether anyone can change the state of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposed {
    /// Members of the fleet and this host only.
    No,
    /// Anyone who reaches them.
    Yes,
}

/// The engine of components and rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// They are compiled: components before they start, rules when they have run often.
    #[default]
    Native,
    /// Interpreters, for comparison.
    Interpreter,
}

/// The source of Input.
#[derive(Debug, Default)]
pub enum Input {
    /// Nothing: Input is at its end.
    #[default]
    None,
    /// A terminal, pipe or file.
    Descriptor(OwnedFd),
}

/// Options of components.
#[derive(Debug, Default)]
pub struct ComponentOptions {
    /// Their engine.
    pub engine: Engine,
    /// The maximum memory of components in bytes.
    pub memory_max: Option<u64>,
    /// The maximum stack of a process in bytes.
    pub stack_max: Option<u64>,
    /// The folder that confines FileSystem; `None`: the current one.
    pub root: Option<PathBuf>,
    /// The number of loops for components; `None` or 0 means one. With a seed or a virtual clock it
    /// is one.
    pub workers: Option<u32>,
    /// Components migrate between the loops at every opportunity, even if that does not pay: for
    /// tests of what happens between loops.
    pub spread_eagerly: bool,
    /// Compile without checkpoints: a process then runs until it waits.
    pub no_checkpoints: bool,
    /// The file for the picture of GraphicView at the end.
    pub png: Option<PathBuf>,
    /// The values of Arguments.
    pub arguments: Vec<String>,
    /// The source of Input.
    pub input: Input,
    /// Called on a thread of its own if the run has to end and does not, because a process that
    /// cannot be preempted blocks it.
    pub overdue: Option<fn()>,
}

/// Options of a packet graph.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketOptions {
    /// Native code, or a dispatch loop.
    pub engine: EngineKind,
    /// Polls without pauses when nothing moves.
    pub busy_wait: bool,
}
