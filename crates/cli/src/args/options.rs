//! Options of the larger verbs.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tidemill_stdx::sorted::SortedMap;

use tidemill::devices::SimDevice;
use tidemill::history::{Model, parse_model};
use tidemill_event::User;

use super::Sources;
use super::devices::Devices;
use super::values::{address, nodes, size, some_milliseconds, some_seconds};
use tidemill::script::{latency_of_shape, probability};
use tidemill_event::Shape;

/// Tuples given on the command line.
#[derive(Args, Debug)]
pub struct Tuples {
    /// Put in a tuple at every node that its location names (NODE: each), after the facts
    #[arg(long, value_name = "TUPLE")]
    pub fact: Vec<String>,
    /// Likewise, for events
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
    /// Give up turns of rules that derive more than N event tuples, or N rows of recursive views
    /// that compute values; without it 10 million, 500000 in a cycle of rules, and 3 million rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub turn_limit: Option<u64>,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Measure what rules cost, and write it at the end: to a .svg file as a flame graph, to any
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
    /// Run one node of this address; one that other hosts can reach needs --key or --open
    #[arg(long, value_name = "ADDR", value_parser = address, conflicts_with = "nodes")]
    pub listen: Option<String>,
    /// What the node is called (NODE), if not as it listens
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    #[arg(requires = "listen", conflicts_with = "nodes")]
    pub address: Option<String>,
    /// Let other hosts reach a node without a key: everyone there can change what it holds
    #[arg(long, requires = "listen", conflicts_with = "nodes")]
    pub open: bool,
    /// Take tuples of relation P from other nodes, as `export(P).` in the program would
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
    /// Start all random numbers here; without it each run has its own
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// How nodes talk: udp (the default), reliable or tcp
    #[arg(long, value_name = "FABRIC", value_parser = fabric)]
    pub fabric: Option<Fabric>,
    /// Keys and identities of peers.
    #[command(flatten)]
    pub keys: Keys,
    /// Let tools on other hosts that have the token in FILE (made by `tidemill key`) ask the nodes,
    /// over TCP at their own addresses
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// How it is executed.
    #[command(flatten)]
    pub engine: Engine,
    /// Loops, one to a core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub workers: Option<u32>,
    /// The most memory that components may use, such as 512M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// The most stack that one process of components may use; 64M if not given
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub stack: Option<u64>,
    /// The folder that files of components and rules lie below; the current one if not given
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Where components draw
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    /// Replay captures in real time, not in their own time as fast as it goes
    #[arg(long, value_name = "wall")]
    pub clock: Option<Clocks>,
    /// Read the program again when the content of a file changes, as on SIGHUP
    #[arg(long)]
    pub watch: bool,
    /// When more has changed then than rules and the packet graph, start the run again
    #[arg(long)]
    pub restart: bool,
    /// Never sleep while packets may come
    #[arg(long)]
    pub busy_wait: bool,
    /// Compile components without checkpoints
    #[arg(long)]
    pub no_checkpoints: bool,
    /// Go on as this user, in its group alone, once all devices, sockets and files are open: a name
    /// or a number, with :GID another group
    #[arg(long, value_name = "NAME|UID[:GID]", value_parser = super::values::user)]
    pub user: Option<User>,
    /// Tell perf the names of compiled functions, in /tmp/perf-PID.map
    #[arg(long)]
    pub perf_map: bool,
    /// What components read as their arguments
    #[arg(last = true, value_name = "ARG")]
    pub arguments: Vec<String>,
}

/// Keys of nodes.
#[derive(Args, Debug)]
pub struct Keys {
    /// Seal what nodes send each other with the fleet key in FILE (made by `tidemill key`), and
    /// hear nothing else
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Who the node is to its peers, a file made by `tidemill key --identity`; without it, somebody
    /// new at each start
    #[arg(long, value_name = "FILE", requires = "key")]
    pub identity: Option<PathBuf>,
    /// Hear only peers with these identities: lines of ADDRESS PUBLICKEY
    #[arg(long, value_name = "FILE", requires = "key")]
    pub peers: Option<PathBuf>,
}

/// The time of a run that captures feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Clocks {
    /// The system's.
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

fn fabric(text: &str) -> Result<Fabric, String> {
    match text {
        "udp" => Ok(Fabric::Udp),
        "reliable" => Ok(Fabric::Reliable),
        "tcp" => Ok(Fabric::Tcp),
        _ if text == "zenoh" || text.starts_with("zenoh/") => {
            Err("this build has no zenoh; known are udp, reliable and tcp".to_owned())
        }
        _ => Err("known are udp, reliable and tcp".to_owned()),
    }
}

/// `sim`.
#[derive(Args, Debug)]
pub struct SimArgs {
    /// The program.
    #[command(flatten)]
    pub sources: Sources,
    /// Run N nodes, n0:1, n1:1, ...; without it as many as the script says, or one
    #[arg(long, value_name = "N", value_parser = nodes)]
    pub nodes: Option<u32>,
    /// Threads that run nodes of rules; the output is that of one
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub workers: u32,
    /// What all chance follows from; without it the seed of the script, or 1
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// End after S seconds of virtual time; without it, when nothing is left to do
    #[arg(long = "for", value_name = "S", value_parser = some_seconds)]
    pub end: Option<u64>,
    /// Datagrams take A to B milliseconds, all of these as likely, or most of them short (tail), or
    /// short or long (bimodal); without it 10..50
    #[arg(long, value_name = "A..B[:tail|bimodal]", value_parser = latency_of_shape)]
    pub latency: Option<(Duration, Duration, Shape)>,
    /// Datagrams are lost with this probability
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub loss: f64,
    /// Datagrams arrive twice with this probability
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub duplicate: f64,
    /// Datagrams are held back behind later ones with this probability
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub reorder: f64,
    /// Nodes but the first live S seconds on average, crash, and return empty
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub churn: Option<u64>,
    /// Every S seconds on average nodes are in two groups for a while that do not hear each other
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub partition: Option<u64>,
    /// Each node does nothing for some seconds every S seconds on average
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub pause: Option<u64>,
    /// Turns of one node or more take MS milliseconds
    #[arg(long, value_name = "MS", value_parser = some_milliseconds)]
    pub slow: Option<u64>,
    /// Clocks are up to S seconds ahead or behind, and gain or lose up to a hundredth
    #[arg(long, value_name = "S", value_parser = some_seconds, conflicts_with = "linearizable")]
    pub skew: Option<u64>,
    /// End all faults 1.5 S before the end, and fail if the table `unsettled` of a node has a row
    /// after S of that
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub settle: Option<u64>,
    /// Forgive rows of `unsettled` that are gone within T seconds
    #[arg(long, value_name = "T", value_parser = some_seconds, requires = "settle")]
    pub tolerate: Option<u64>,
    /// What happens when, and what must be true then
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Seal datagrams with the fleet key in FILE
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The folder that files of rules lie below; the current one if not given
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Compare what `history` records with a model at the end; what has no order fails
    #[arg(long, value_name = "register|kv|queue|set|counter", value_parser = parse_model)]
    pub linearizable: Option<Model>,
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
    /// Simulate the program, and show what its rules cost: as tables, in the boxes of a graph, or
    /// as a flame graph (svg)
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
    /// Simulate N nodes; without it 1
    #[arg(long, value_name = "N", requires = "profile", value_parser = nodes)]
    pub nodes: Option<u32>,
    /// What all chance follows from; without it 1
    #[arg(long, value_name = "S", requires = "profile")]
    pub seed: Option<u64>,
    /// End after S seconds of virtual time; without it 10
    #[arg(long = "for", value_name = "S", requires = "profile", value_parser = some_seconds)]
    pub end: Option<u64>,
    /// What happens when
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub script: Option<PathBuf>,
    /// Put in a tuple at every node that its location names (NODE: each), after the facts
    #[arg(long, value_name = "TUPLE", requires = "profile")]
    pub fact: Vec<String>,
    /// Likewise, for events
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
    /// The rules, a .olg file; its name, without folders, is what they are called
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How the run is reached.
    #[command(flatten)]
    pub line: Line,
}

/// `uninstall`.
#[derive(Args, Debug)]
pub struct UninstallArgs {
    /// A node of the run: host:port
    #[arg(value_name = "ADDR", value_parser = address)]
    pub address: String,
    /// What the rules are called
    #[arg(value_name = "NAME")]
    pub name: String,
    /// How the run is reached.
    #[command(flatten)]
    pub line: Line,
}

/// How a run is reached that is to change.
#[derive(Args, Debug)]
pub struct Line {
    /// Give up after S seconds without an answer
    #[arg(long, value_name = "S", default_value = "5", value_parser = some_seconds)]
    pub timeout: u64,
    /// Reach a node anywhere whose run has the same token, over TCP; without it, one of this host
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// `why`.
#[derive(Args, Debug)]
pub struct WhyArgs {
    /// The node, host:port, and the tuple as it is printed: 'path("localhost:10000", 3)'; with
    /// `not` before them, why it is not there, where `_` stands for anything
    #[arg(value_names = ["[not] ADDR", "TUPLE"], num_args = 2..=3, required = true)]
    pub words: Vec<String>,
    /// Give up on a node after S seconds without an answer
    #[arg(long, value_name = "S", default_value = "5", value_parser = some_seconds)]
    pub timeout: u64,
    /// Ask nodes anywhere whose runs have the same token, over TCP; without it, those of this host
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

impl WhyArgs {
    /// Whether the tuple should be absent, the node, and the tuple.
    ///
    /// # Errors
    /// What is wrong with the words.
    pub fn question(&self) -> Result<(bool, &str, &str), String> {
        let (not, node, tuple) = match self.words.as_slice() {
            [node, tuple] => (false, node, tuple),
            [not, node, tuple] if not == "not" => (true, node, tuple),
            _ => return Err("write `tidemill why [not] ADDR TUPLE`".to_owned()),
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
    /// A table, or a rule 'head(...) :- body.'
    #[arg(value_name = "QUERY")]
    pub text: String,
    /// Print one JSON object a row: {"tuple":[NAME, COLUMN, ...]}
    #[arg(long)]
    pub json: bool,
    /// Go on and print what changes: + and - before each row
    #[arg(long)]
    pub watch: bool,
    /// Give up after S seconds without an answer
    #[arg(long, value_name = "S", default_value = "5", value_parser = some_seconds)]
    pub timeout: u64,
    /// Ask a node anywhere whose run has the same token, over TCP; without it, one of this host
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}
