//! How a program is run: what concerns all of it, and what concerns the parts of one kind.

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

use crate::keys::KeyFiles;
use crate::reach::Reach;
use crate::reload::Reload;
use crate::service::Service;

/// How long a run goes on to finish what it has begun.
pub const DRAIN_MAX: Duration = Duration::from_secs(3);

/// How a program is run.
#[derive(Debug)]
pub struct RunOptions {
    /// When the run ends, nanoseconds after its start; `None`: when the program does, or it is
    /// stopped.
    pub end_ns: Option<u64>,
    /// What random numbers follow from; `None`: from chance. With it, processes have counted
    /// slices, so that a run can be repeated.
    pub seed: Option<u64>,
    /// Which time it is.
    pub clock: Clock,
    /// The run ends when this can be read.
    pub stop: Option<OwnedFd>,
    /// True once `stop` can be read: then it ends in the middle of a turn, too.
    pub stop_flag: Option<Arc<AtomicBool>>,
    /// Nodes take no new work when this can be read, and the run ends when they are done, or after
    /// [`DRAIN_MAX`].
    pub drain: Option<OwnedFd>,
    /// What can be read again is read again when this can be read: the program, files of keys.
    pub hang_up: Option<UnixStream>,
    /// How the program is read again.
    pub reload: Option<Reload>,
    /// What it is to a service manager. Under a virtual clock it is nothing.
    pub service: Service,
    /// Where the counters are shown. They go when the run and all others who hold it do. In their
    /// folder is the socket for tools of this host.
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

/// The time of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// That of its captures, if nothing else feeds the program, else the system's. Capture time
    /// passes as fast as there is nothing left to do, and begins with the first packet.
    #[default]
    Own,
    /// The system's. Captures are replayed in real time.
    Wall,
    /// A simulation's: it stands still while processes run, and jumps when all of them wait.
    Virtual,
}

/// Which nodes are started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// One node of this address.
    Address(String),
    /// Several, on loopback ports that the system chooses; each is noted as `INDEX ADDR`.
    Nodes(u32),
}

/// Whether a node without a key may be reached from other hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposure {
    /// It does not start then.
    Refused,
    /// Its owner knows that everyone there can change what it holds.
    Accepted,
}

/// How nodes of rules are run.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The nodes.
    pub listen: Listen,
    /// How many threads run several nodes, if the program has rules only.
    pub workers: u32,
    /// What the one node of [`Listen::Address`] is called, if not as it listens.
    pub address: Option<String>,
    /// Whether nodes may believe everyone on the network.
    pub exposure: Exposure,
    /// How tuples travel.
    pub fabric: Fabric,
    /// How what nodes send each other is sealed.
    pub seal: Option<Seal>,
    /// Where keys came from: read again when the files change.
    pub key_files: Option<KeyFiles>,
    /// What tools on other hosts have to have to ask the nodes, at their own addresses; none is
    /// listened to without it.
    pub token: Option<Token>,
    /// What `LANDMARK` is, if not the first of several nodes, or the only node.
    pub landmark: Option<String>,
    /// Tuples for the nodes where they are located, after the facts of the program.
    pub extra: Vec<Extra>,
    /// See [`Node::limit_turns`](tidemill_overlog::node::Node::limit_turns); a turn that derives
    /// more is given up.
    pub turn_tuples_max: Option<u64>,
    /// Whether it is measured what rules cost, for [`Report::profile`](super::Report::profile).
    pub profile: bool,
}

impl Default for NodeOptions {
    fn default() -> NodeOptions {
        NodeOptions {
            listen: Listen::Address("localhost:10000".to_owned()),
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
        }
    }
}

impl NodeOptions {
    /// Whether nodes run without a key where others than this host reach them.
    ///
    /// # Errors
    /// They may not, or would have a name that nobody can reach, as text.
    pub fn check_reach(&self) -> Result<Exposed, String> {
        let Listen::Address(address) = &self.listen else { return Ok(Exposed::No) };
        let reach = Reach::of(address);
        if reach == Reach::Wildcard && self.address.is_none() {
            return Err(format!(
                "{address} stands for all addresses of this host, and a node has one: say which \
                 with --address HOST:PORT"
            ));
        }
        match (reach, &self.seal, self.exposure) {
            (Reach::Loopback, ..) => Ok(Exposed::No),
            (_, Some(_), _) => Ok(Exposed::No),
            (.., Exposure::Accepted) => Ok(Exposed::Yes),
            (.., Exposure::Refused) => Err(format!(
                "other hosts can reach {address}, and a node without a key believes everyone: \
                 give it a key with --key FILE (`tidemill key FILE` makes one), or say --open"
            )),
        }
    }
}

/// Whether anyone can change what the nodes hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposed {
    /// Members of the fleet and this host only.
    No,
    /// Whoever reaches them.
    Yes,
}

/// What runs the functions of components, and the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// They are compiled: components before they start, rules when they have run often.
    #[default]
    Native,
    /// Interpreters, for comparison.
    Interpreter,
}

/// What components read from Input.
#[derive(Debug, Default)]
pub enum Input {
    /// Nothing: it is at its end.
    #[default]
    None,
    /// What can be read here, a terminal, pipe or file.
    Descriptor(OwnedFd),
}

/// How components are run.
#[derive(Debug, Default)]
pub struct ComponentOptions {
    /// What runs them.
    pub engine: Engine,
    /// The most bytes that components may use.
    pub memory_max: Option<u64>,
    /// The most bytes that the stack of one process may have.
    pub stack_max: Option<u64>,
    /// The folder that FileSystem is confined to; without it, the current one.
    pub root: Option<PathBuf>,
    /// On how many loops components run; none or 0 is one. With a seed or a virtual clock it is
    /// one.
    pub workers: Option<u32>,
    /// Components are spread over the loops at every opportunity, whether it pays or not: for tests
    /// of what happens between loops.
    pub spread_eagerly: bool,
    /// Compile without checkpoints: a process then runs until it waits.
    pub no_checkpoints: bool,
    /// Where the picture of GraphicView is written at the end.
    pub png: Option<PathBuf>,
    /// What Arguments answers.
    pub arguments: Vec<String>,
    /// What Input reads.
    pub input: Input,
    /// Called on a thread of its own if the run shall end and does not, because a process holds it
    /// up that nothing cuts off.
    pub overdue: Option<fn()>,
}

/// How a packet graph is run.
#[derive(Debug, Default)]
pub struct PacketOptions {
    /// By native code, or by a loop.
    pub engine: EngineKind,
    /// Without pauses when nothing moves.
    pub busy_wait: bool,
}
