//! Options of the larger verbs.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tidemill_stdx::sorted::SortedMap;

use tidemill::devices::SimDevice;
use tidemill::history::ModelName;
use tidemill_event::User;

use super::Sources;
use super::devices::Devices;
use super::error::ValueError;
use super::values::{address, nodes, size};
use tidemill::script::{latency_of_shape, probability, some_milliseconds, some_seconds};
use tidemill::sim::Phase;
use tidemill_event::Shape;

/// Tuples given on the command line.
#[derive(Args, Debug)]
pub struct Tuples {
    /// Insert a tuple at the node of its location (NODE: at each node), after the facts
    #[arg(long, value_name = "TUPLE")]
    pub fact: Vec<String>,
    /// Inject an event at the node of its location (NODE: at each node), after the facts
    #[arg(long, value_name = "TUPLE")]
    pub inject: Vec<String>,
}

/// How engines run and what is printed about it.
#[derive(Args, Debug)]
pub struct Engine {
    /// How programs are executed
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<EngineKind>,
    /// Print counters at the end, on standard error
    #[arg(long)]
    pub stats: bool,
    /// Abort turns of rules that derive more than N event tuples, or N rows of recursive views that
    /// compute values; by default 10 million, 500000 in a cycle of rules, and 3 million rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub turn_limit: Option<u64>,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    /// Profile the rules, and write the profile at the end: to a .svg file as a flame graph, to any
    /// other as folded stacks
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
}

/// The ways to execute.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// Native code.
    Compiled,
    /// A dispatch loop.
    Dispatch,
    /// An interpreter.
    Interpret,
}

/// `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The program.
    #[command(flatten)]
    pub sources: Sources,
    /// Run one node that listens on ADDR; if other hosts can reach it, it needs --key or --open
    #[arg(long, value_name = "ADDR", value_parser = address, conflicts_with = "nodes")]
    pub listen: Option<String>,
    /// The address of the node (NODE), if it is not the one where it listens
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    #[arg(requires = "listen", conflicts_with = "nodes")]
    pub address: Option<String>,
    /// Let other hosts reach a node without a key: any of them can change its tables
    #[arg(long, requires = "listen", conflicts_with = "nodes")]
    pub open: bool,
    /// Accept tuples of relation P from other nodes, as `export(P).` in the program would
    #[arg(long, value_name = "P")]
    pub export: Vec<String>,
    /// Run N nodes on loopback ports that the system chooses; each is printed as INDEX ADDR
    #[arg(long, value_name = "N", value_parser = nodes)]
    pub nodes: Option<u32>,
    /// Tuples from outside.
    #[command(flatten)]
    pub tuples: Tuples,
    /// End after S seconds
    #[arg(long = "for", value_name = "S", value_parser = some_seconds)]
    pub end: Option<u64>,
    /// The seed of all random numbers; by default each run draws its own
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// How nodes exchange messages: udp (the default), reliable or tcp
    #[arg(long, value_name = "FABRIC", value_parser = fabric)]
    pub fabric: Option<Fabric>,
    /// Keys and identities of peers.
    #[command(flatten)]
    pub keys: Keys,
    /// Let tools on other hosts query the nodes if they have the token in FILE (made by `tidemill
    /// key`), over TCP at the addresses of the nodes
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// How it is executed.
    #[command(flatten)]
    pub engine: Engine,
    /// Run N event loops, one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub workers: Option<u32>,
    /// Limit the memory of components to SIZE, such as 512M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Limit the stack of each process of components to SIZE; by default 64M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub stack: Option<u64>,
    /// Confine the files of components and rules to DIR; by default the current folder
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Write what components draw to FILE
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    /// Replay captures in real time, not in their own time as fast as possible
    #[arg(long, value_name = "wall")]
    pub clock: Option<Clocks>,
    /// Reload the program when the content of a file changes, as on SIGHUP
    #[arg(long)]
    pub watch: bool,
    /// Restart the run when a reload changes a part that cannot be replaced while it runs
    #[arg(long)]
    pub restart: bool,
    /// Poll for packets without ever sleeping
    #[arg(long)]
    pub busy_wait: bool,
    /// Compile components without checkpoints
    #[arg(long)]
    pub no_checkpoints: bool,
    /// Run as this user, in its group alone, once all devices, sockets and files are open; with
    /// :GID in another group
    #[arg(long, value_name = "NAME|UID[:GID]", value_parser = super::values::user)]
    pub user: Option<User>,
    /// Write the names of compiled functions to /tmp/perf-PID.map, for perf
    #[arg(long)]
    pub perf_map: bool,
    /// The arguments of the components
    #[arg(last = true, value_name = "ARG")]
    pub arguments: Vec<String>,
}

/// Keys of nodes.
#[derive(Args, Debug)]
pub struct Keys {
    /// Seal messages between nodes with the fleet key in FILE (made by `tidemill key`), and accept
    /// no others
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The identity of the node to its peers, a file made by `tidemill key --identity`; by default
    /// a new one at each start
    #[arg(long, value_name = "FILE", requires = "key")]
    pub identity: Option<PathBuf>,
    /// Accept only peers with these identities: lines of ADDRESS PUBLICKEY
    #[arg(long, value_name = "FILE", requires = "key")]
    pub peers: Option<PathBuf>,
}

/// The time of a run that captures feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Clocks {
    /// The clock of the system.
    Wall,
}

/// How nodes talk to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fabric {
    /// Datagrams, best effort.
    Udp,
    /// Datagrams, delivered once and in order.
    Reliable,
    /// Streams.
    Tcp,
}

fn fabric(text: &str) -> Result<Fabric, ValueError> {
    match text {
        "udp" => Ok(Fabric::Udp),
        "reliable" => Ok(Fabric::Reliable),
        "tcp" => Ok(Fabric::Tcp),
        _ if text == "zenoh" || text.starts_with("zenoh/") => Err(ValueError::NoZenoh),
        _ => Err(ValueError::Fabric),
    }
}

/// `sim`.
#[derive(Args, Debug)]
pub struct SimArgs {
    /// The program.
    #[command(flatten)]
    pub sources: Sources,
    /// Run N nodes, n0:1, n1:1, ...; by default as many as the script says, or one
    #[arg(long, value_name = "N", value_parser = nodes)]
    pub nodes: Option<u32>,
    /// Run nodes of rules on N threads; the output is the same for any N
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub workers: u32,
    /// The seed of all random choices; by default that of the script, or 1
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// End after S seconds of virtual time; by default when no work is left
    #[arg(long = "for", value_name = "S", value_parser = some_seconds)]
    pub end: Option<u64>,
    /// The latency of datagrams in milliseconds: uniform from A to B, or mostly short (tail), or
    /// either short or long (bimodal); by default 10..50
    #[arg(long, value_name = "A..B[:tail|bimodal]", value_parser = latency_of_shape)]
    pub latency: Option<(Duration, Duration, Shape)>,
    /// The probability that a datagram is lost
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub loss: f64,
    /// The probability that a datagram arrives twice
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub duplicate: f64,
    /// The probability that a datagram is held back behind later ones
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub reorder: f64,
    /// Crash each node but the first after S seconds on average; it restarts empty
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub churn: Option<u64>,
    /// Make a component or an app of each node fail, every S seconds on average; not the entry
    /// component
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub kill: Option<u64>,
    /// Partition the nodes into two groups for a while, every S seconds on average
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub partition: Option<u64>,
    /// Pause each node for some seconds, every S seconds on average
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub pause: Option<u64>,
    /// Make each turn of one or more nodes take MS milliseconds
    #[arg(long, value_name = "MS", value_parser = some_milliseconds)]
    pub slow: Option<u64>,
    /// Set clocks up to S seconds ahead or behind, with a drift of up to 1%
    #[arg(long, value_name = "S", value_parser = some_seconds, conflicts_with = "linearizable")]
    pub skew: Option<u64>,
    /// From T seconds on, draw random numbers from seed S, and have these faults in place of the
    /// others; what happens before T stays the same. May be given several times
    #[arg(long, value_name = "T seed S [FAULT VALUE]...", value_parser = Phase::parse)]
    pub then: Vec<Phase>,
    /// End all faults 1.5 S before the end, and fail if the table `unsettled` of a node still has a
    /// row S later
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub settle: Option<u64>,
    /// Ignore rows of `unsettled` that last less than T seconds
    #[arg(long, value_name = "T", value_parser = some_seconds, requires = "settle")]
    pub tolerate: Option<u64>,
    /// A script of timed actions and expectations
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Seal datagrams with the fleet key in FILE
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Confine the files of rules to DIR; by default the current folder
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Check at the end that the operations in `history` are linearizable for this model; FILE.olg
    /// defines one by rules of step(State, Operation, Argument, Result, Next)
    #[arg(long, value_name = "register|kv|queue|set|counter|FILE", value_parser = ModelName::parse)]
    pub linearizable: Option<ModelName>,
    /// Print every stage of every tuple
    #[arg(long)]
    pub trace: bool,
    /// Draw a space-time diagram: of what led to a violation, or else of the end of the run
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Simulated devices.
    #[command(flatten)]
    pub devices: Devices,
    /// Tuples from outside.
    #[command(flatten)]
    pub tuples: Tuples,
    /// How it is executed.
    #[command(flatten)]
    pub engine: Engine,
}

/// `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The program.
    #[command(flatten)]
    pub sources: Sources,
    /// text prints tree, plan and graph; the others draw the graph
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Text)]
    pub form: Form,
    /// Print the native code
    #[arg(long)]
    pub asm: bool,
    /// Explain one message type of a schema
    #[arg(long = "type", value_name = "T")]
    pub message: Option<String>,
    /// Simulate the program and show the profile of its rules: as tables, in the boxes of a graph,
    /// or as a flame graph (svg)
    #[arg(long, conflicts_with_all = ["asm", "message"])]
    pub profile: bool,
    /// How it is simulated.
    #[command(flatten)]
    pub simulated: Simulated,
}

/// How a program is simulated whose rules are profiled.
#[derive(Args, Debug)]
#[command(next_help_heading = "With --profile")]
pub struct Simulated {
    /// Simulate N nodes; by default 1
    #[arg(long, value_name = "N", requires = "profile", value_parser = nodes)]
    pub nodes: Option<u32>,
    /// The seed of all random choices; by default 1
    #[arg(long, value_name = "S", requires = "profile")]
    pub seed: Option<u64>,
    /// End after S seconds of virtual time; by default 10
    #[arg(long = "for", value_name = "S", requires = "profile", value_parser = some_seconds)]
    pub end: Option<u64>,
    /// A script of timed actions
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub script: Option<PathBuf>,
    /// Insert a tuple at the node of its location (NODE: at each node), after the facts
    #[arg(long, value_name = "TUPLE", requires = "profile")]
    pub fact: Vec<String>,
    /// Inject an event at the node of its location (NODE: at each node), after the facts
    #[arg(long, value_name = "TUPLE", requires = "profile")]
    pub inject: Vec<String>,
    /// Simulated devices: the section [sim.devices] of the settings.
    #[arg(skip)]
    pub devices: SortedMap<String, SimDevice>,
}

/// The forms of a graph.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Plain text.
    Text,
    /// The language of Graphviz.
    Dot,
    /// The language of Mermaid.
    Mermaid,
    /// A picture.
    Svg,
}

/// `install`.
#[derive(Args, Debug)]
pub struct InstallArgs {
    /// A node of the run: host:port
    #[arg(value_name = "ADDR", value_parser = address)]
    pub address: String,
    /// The rules, a .olg file; its name without folders is the name of the rules
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How the run is reached.
    #[command(flatten)]
    pub control: ControlArgs,
}

/// `uninstall`.
#[derive(Args, Debug)]
pub struct UninstallArgs {
    /// A node of the run: host:port
    #[arg(value_name = "ADDR", value_parser = address)]
    pub address: String,
    /// The name of the rules
    #[arg(value_name = "NAME")]
    pub name: String,
    /// How the run is reached.
    #[command(flatten)]
    pub control: ControlArgs,
}

/// How a run is reached that is to change.
#[derive(Args, Debug)]
pub struct ControlArgs {
    /// Give up after S seconds without an answer
    #[arg(long, value_name = "S", default_value = "5", value_parser = some_seconds)]
    pub timeout: u64,
    /// Reach a node on any host whose run has the token in FILE, over TCP; by default a node on
    /// this host
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// `why`.
#[derive(Args, Debug)]
pub struct WhyArgs {
    /// The node, host:port, and the tuple as it is printed: 'path("localhost:10000", 3)', where `_`
    /// stands for anything (of several tuples the last is explained); with `not` before them, why
    /// it is not there
    #[arg(value_names = ["[not] ADDR", "TUPLE"], num_args = 2..=3, required = true)]
    pub words: Vec<String>,
    /// Give up on a node after S seconds without an answer
    #[arg(long, value_name = "S", default_value = "5", value_parser = some_seconds)]
    pub timeout: u64,
    /// Query nodes on any host whose runs have the token in FILE, over TCP; by default those on
    /// this host
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

impl WhyArgs {
    /// Whether the tuple should be absent, the node, and the tuple.
    ///
    /// # Errors
    /// What is wrong with the words.
    pub fn question(&self) -> Result<(bool, &str, &str), ValueError> {
        let (not, node, tuple) = match self.words.as_slice() {
            [node, tuple] => (false, node, tuple),
            [not, node, tuple] if not == "not" => (true, node, tuple),
            _ => return Err(ValueError::Question),
        };
        address(node).map(|_| (not, node.as_str(), tuple.as_str()))
    }
}

/// `query`.
#[derive(Args, Debug)]
pub struct QueryArgs {
    /// The node: host:port
    #[arg(value_name = "ADDR", value_parser = address)]
    pub address: String,
    /// A table, a pattern of its rows 'table(X, 3, _)', or a rule 'head(...) :- body.'
    #[arg(value_name = "QUERY")]
    pub text: String,
    /// Print one JSON object per row: {"tuple":[NAME, COLUMN, ...]}
    #[arg(long)]
    pub json: bool,
    /// Keep running and print the changes, with + or - before each row
    #[arg(long)]
    pub watch: bool,
    /// Give up after S seconds without an answer
    #[arg(long, value_name = "S", default_value = "5", value_parser = some_seconds)]
    pub timeout: u64,
    /// Query a node on any host whose run has the token in FILE, over TCP; by default a node on
    /// this host
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}
