//! The command line: verbs, options and their help.
//!
//! A verb accepts the options of all kinds of programs; `unused` reports those that have no effect
//! on the given program, which is a usage error.

mod devices;
mod error;
mod exploring;
mod folder;
mod messages;
mod options;
mod origin;
mod settings;
mod sources;
mod testing;
mod unused;
mod values;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use exploring::{Bounds, ExploreArgs};
pub use folder::expand;
pub use messages::{DecoderKind, InputForm, MessagesArgs, OutputForm};
pub use options::{
    Clocks, ControlArgs, EngineKind, ExplainArgs, Fabric, Form, InstallArgs, Keys, QueryArgs,
    RunArgs, SimArgs, Simulated, Tuples, UninstallArgs, WhyArgs,
};
pub use origin::Origin;
pub use sources::{SchemaArgs, Sources};
pub use testing::TestArgs;
pub use unused::unused;
pub use values::Define;

/// Runs programs of rules (alone, across a network, or thousands of nodes in one process under
/// simulated faults), components (millions of communicating processes), packet apps and message
/// schemas; files of several kinds form one program.
#[derive(Parser, Debug)]
#[command(
    name = "tidemill",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  \
        tidemill run ping.olg --nodes 3 --for 10\n  \
        tidemill run hello.com\n  \
        tidemill sim ring.olg --nodes 100 --loss 0.05 --for 60\n  \
        tidemill test ring.olg --nodes 3..7 --seeds 1..1000\n  \
        tidemill explore commit.olg --nodes 3\n  \
        tidemill query localhost:10000 successor\n\n\
        Exit status: 0 fine; 1 the program or its input failed; 2 usage; 130 and 143 a\n\
        simulation, test or search that SIGINT or SIGTERM has ended."
)]
pub struct Cli {
    /// What all verbs take.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options of every verb.
#[derive(Args, Debug)]
pub struct Global {
    /// When to colour diagnostics and show excerpts of the source
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    #[arg(help_heading = "General")]
    pub color: Color,
    /// What to log: a level, or levels by topic and file: sched=debug,file:join.rs=trace; `json`
    /// makes each line of standard error a JSON object
    #[arg(long, global = true, value_name = "SPEC", help_heading = "General")]
    pub log: Option<String>,
    /// Log more: -v info, -vv debug, -vvv trace
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "General")]
    pub verbose: u8,
    /// Print no warnings and no notes on standard error, only errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "General")]
    pub quiet: bool,
}

/// When diagnostics are coloured.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// When standard error is a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Run a program on this machine and the network
    #[command(after_help = "Examples:\n  \
        tidemill run ping.olg\n  \
        tidemill run ring.olg --listen localhost:10001 -D LANDMARK='\"localhost:10000\"'\n  \
        tidemill run ping.olg --nodes 3 --for 10 --json --inject 'start(NODE)'\n  \
        tidemill run copy.com --root /tmp -- FROM TO")]
    Run(RunArgs),
    /// Simulate many nodes of a program in virtual time, with faults, repeatably
    #[command(after_help = "Examples:\n  \
        tidemill sim ring.olg --nodes 20 --for 120\n  \
        tidemill sim ring.olg --nodes 20 --seed 7 --loss 0.1 --script faults.sim --json\n  \
        tidemill sim chord.olg --nodes 400 --churn 3840 --for 7200\n\n\
        Script: at T inject|fact|crash|restart|kill|pause|slow|clock|partition|heal|loss|\n  \
        duplicate|reorder|latency|drop|delay|deliver|manual|timer|calm|expect|end ...,\n  \
        every T..U step D inject NODE event(...); NODE is an address, an index, * or i in A..B.")]
    Sim(SimArgs),
    /// Simulate a program many times, each with another seed and other faults, to find a run that
    /// fails
    ///
    /// A failure is printed with the `sim` command that repeats it. At the end failures are
    /// grouped, and the first of each group is shrunk to a script of which nothing can be left out.
    /// Every hundredth run is repeated in a fresh process and compared. Status 1 if a run fails.
    #[command(after_help = "Examples:\n  \
        tidemill test ring.olg --nodes 3..7\n  \
        tidemill test paxos.olg --nodes 5 --script test.sim --faults loss,duplicate,reorder\n  \
        tidemill test chord.olg --nodes 20 --for 300 --wall 3600 --json\n\n\
        Faults: latency, loss, duplicate, reorder, churn, partition, pause, slow, clock, \
        kill.")]
    Test(TestArgs),
    /// Explore all runs of a program of rules, within bounds, to find one that fails
    ///
    /// Messages come in any order, timers and faults at any time. The first run that fails is
    /// printed: none is shorter in messages, timers, script actions and faults. The summary says
    /// whether all runs were explored. Status 1 if a run fails.
    #[command(after_help = "Examples:\n  \
        tidemill explore commit.olg --nodes 3 --script start.sim\n  \
        tidemill explore paxos.olg --nodes 3 --timers 2 --crashes 1\n  \
        tidemill explore paxos.olg --nodes 3 --atomic-chains --memory 4G --json")]
    Explore(ExploreArgs),
    /// Report the errors and warnings of a program
    #[command(after_help = "Example:\n  tidemill check ring.olg -D LANDMARK='\"n0:1\"'")]
    Check(Sources),
    /// Format source files
    #[command(
        after_help = "Examples:\n  tidemill fmt ring.olg\n  tidemill fmt --check *.olg *.com\n  \
        tidemill fmt DIR"
    )]
    Fmt {
        /// Change nothing; list the files that would change and end with status 1
        #[arg(long)]
        check: bool,
        /// What to format.
        #[command(flatten)]
        sources: Sources,
    },
    /// Show how a program is compiled: its tree, plan, code and graph
    #[command(after_help = "Examples:\n  \
        tidemill explain ring.olg\n  \
        tidemill explain --asm hello.com\n  \
        tidemill explain ring.olg --form svg > ring.svg\n  \
        tidemill explain ring.olg --profile --nodes 20 --for 60")]
    Explain(ExplainArgs),
    /// Print the messages that nodes of a program exchange, as a .proto file
    #[command(after_help = "Examples:\n  \
        tidemill schema ring.olg > ring.proto\n  \
        tidemill schema --control > control.proto")]
    Schema(PrintedArgs),
    /// Check message schemas; decode, encode and convert messages
    #[command(after_help = "Examples:\n  \
        tidemill proto check --schema events.proto -I protos\n  \
        tidemill proto decode --schema events.proto --type p.Event event.pb\n  \
        tidemill proto convert --schema events.fds --type p.Event --from json --to delimited -")]
    Proto(ProtoArgs),
    /// Print the rows of a table, or the results of a rule, at a running node
    #[command(after_help = "Examples:\n  \
        tidemill query localhost:10000 successor\n  \
        tidemill query localhost:10000 'far(X, C) :- route(@N, X, C), C > 10.' --json\n  \
        tidemill query localhost:10000 successor --watch\n  \
        tidemill query alpha.example:10000 successor --token-file token")]
    Query(QueryArgs),
    /// Explain why a tuple is at a running node, or why it is not
    ///
    /// Why it is there: the tree of the tuples and rules that it was derived from, across nodes, as
    /// far as the program has traced it; `trace(p)` records what derives p and what p derives. Why
    /// it is not: the rules that could derive it, each with the term that fails on the present
    /// rows. Events are not kept: only traced ones are known.
    #[command(override_usage = "tidemill why [OPTIONS] [not] ADDR TUPLE")]
    #[command(after_help = "Examples:\n  \
        tidemill why localhost:10000 'path(\"localhost:10000\", \"localhost:10001\", 3)'\n  \
        tidemill why not localhost:10000 'path(\"localhost:10000\", \"localhost:10007\", _)'")]
    Why(WhyArgs),
    /// Add rules to a running program, or replace those of the same name
    ///
    /// They are checked with the program, and take effect at all its nodes between two turns. If
    /// they have errors, these are printed and nothing changes. They cannot include files.
    #[command(after_help = "Examples:\n  \
        tidemill install localhost:10000 monitor.olg\n  \
        tidemill uninstall localhost:10000 monitor.olg")]
    Install(InstallArgs),
    /// Remove installed rules
    Uninstall(UninstallArgs),
    /// List the built-in functions of the rule language, or describe one
    #[command(after_help = "Examples:\n  tidemill functions\n  tidemill functions f_sha1")]
    Functions {
        /// The function, with or without f_
        name: Option<String>,
    },
    /// List the types of packet apps, or describe one
    #[command(after_help = "Examples:\n  tidemill apps\n  tidemill apps RateLimiter")]
    Apps {
        /// The type
        name: Option<String>,
    },
    /// Show the counters of a running program: rates by app and link, rule and node
    #[command(after_help = "Examples:\n  \
        tidemill top\n  \
        tidemill top 4711\n  \
        tidemill top 4711 --form prometheus\n  \
        tidemill top localhost:10000\n  \
        tidemill top alpha.example:10000 --token-file token")]
    Top(TopArgs),
    /// Make the key of a fleet, or the identity of a node
    #[command(after_help = "Examples:\n  \
        tidemill key fleet.key\n  \
        tidemill key --identity node.identity\n  \
        tidemill run ring.olg --key fleet.key --identity node.identity")]
    Key(KeyArgs),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  tidemill completions bash > \
        ~/.local/share/bash-completion/completions/tidemill")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `key`.
#[derive(Args, Debug)]
pub struct KeyArgs {
    /// Write it to FILE, readable by its owner only; an existing file is not replaced. By default
    /// it is printed
    #[arg(value_name = "FILE")]
    pub file: Option<std::path::PathBuf>,
    /// Make an identity, and print its public half
    #[arg(long)]
    pub identity: bool,
}

/// `top`.
#[derive(Args, Debug)]
pub struct TopArgs {
    /// A process of this machine, or a node on any host; by default the only running process
    #[arg(value_name = "PID|ADDR", value_parser = whom)]
    pub whom: Option<TopTarget>,
    /// Rates, refreshed each second on a terminal; or counts, once, in the format of Prometheus
    #[arg(long, value_name = "FORM", value_enum, default_value_t = TopForm::Text)]
    pub form: TopForm,
    /// Query a node on any host whose run has the token in FILE, over TCP; by default a node on
    /// this host
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<std::path::PathBuf>,
}

/// Whose counters are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TopTarget {
    /// Those of a process, from its files.
    Process(u32),
    /// Those that the run of a node reports.
    Node(String),
}

fn whom(text: &str) -> Result<TopTarget, error::ValueError> {
    match text.parse() {
        Ok(pid) => Ok(TopTarget::Process(pid)),
        Err(_) => values::address(text).map(TopTarget::Node),
    }
}

/// How counters are printed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopForm {
    /// Tables of rates.
    Text,
    /// The text form of Prometheus.
    Prometheus,
}

/// `proto`.
#[derive(Args, Debug)]
pub struct ProtoArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: ProtoVerb,
}

/// The verbs of `proto`.
#[derive(Subcommand, Debug)]
pub enum ProtoVerb {
    /// Report the errors and warnings of a schema
    #[command(after_help = "Example:\n  tidemill proto check --schema events.proto -I protos")]
    Check(SchemaArgs),
    /// Convert messages from one form to another
    #[command(after_help = "Examples:\n  \
        tidemill proto convert --schema a.proto --type p.Event --from delimited --to json in.pb\n  \
        tidemill proto convert --schema a.proto --type p.Event --from json --to delimited -")]
    Convert(MessagesArgs),
    /// Decode messages, by default from binary to JSON
    #[command(after_help = "Examples:\n  \
        tidemill proto decode --schema a.proto --type p.Event event.pb\n  \
        tidemill proto decode --schema a.proto --type p.Event --to text --select user.name e.pb")]
    Decode(MessagesArgs),
    /// Encode messages, by default from JSON to binary
    #[command(after_help = "Example:\n  \
        echo '{\"x\":1}' | tidemill proto encode --schema a.proto --type p.Point > point.pb")]
    Encode(MessagesArgs),
    /// Convert the input repeatedly and print the speed
    #[command(after_help = "Example:\n  \
        tidemill proto bench --schema a.proto --type p.Event --from delimited --to json in.pb")]
    Bench(MessagesArgs),
}

/// `schema`.
#[derive(Args, Debug)]
pub struct PrintedArgs {
    /// Print the messages that tools and runs exchange
    #[arg(long, conflicts_with_all = ["files", "defines", "includes"])]
    pub control: bool,
    /// The program.
    #[command(flatten)]
    pub sources: Option<Sources>,
}
