//! `top`: the counters of a running program. Those of a process of this machine are read from its
//! files without its help; its socket serves the component tree, and starts the measurement of
//! rules. A remote run serves all of that over the network.

use std::fmt;
use std::io::IsTerminal;
use std::thread;
use std::time::{Duration, Instant};

use tidemill::ask::{AskError, Asker, Costs, RunAddress};
use tidemill::control::place::SOCKET;
use tidemill::top::{prometheus, table};
use tidemill_event::Os;
use tidemill_stat::{OpenError, Snapshot, place};

use super::common;
use crate::args::{TopArgs, TopForm, TopTarget};
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// The period between two snapshots.
const PERIOD: Duration = Duration::from_secs(1);

/// The maximum time for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// To the upper left corner; and clear the rest.
const HOME: &str = "\x1b[H";
const CLEAR: &str = "\x1b[J";

/// `top`.
pub fn top(args: &TopArgs, report: Reporter) -> Status {
    let mut out = Out::new();
    let shown = Looker::new(args).and_then(|mut looker| match args.form {
        TopForm::Text if std::io::stdout().is_terminal() => watch(&mut looker, &mut out),
        TopForm::Text => once(&mut looker, &mut out),
        TopForm::Prometheus => {
            looker.look(Costs::Unasked).map(|snapshot| out.write(&prometheus(&snapshot)))
        }
    });
    match shown {
        Ok(()) => out.finish(),
        Err(error) => {
            report.error(&error.to_string());
            Status::Failed
        }
    }
}

/// Why there are no counters to show.
#[derive(Debug)]
enum TopError {
    /// No process counts.
    NoProcess,
    /// One of these processes must be named.
    Several(Vec<u32>),
    /// A token is given, and no node.
    NoNode,
    /// The files of the process cannot be read.
    Open(OpenError),
    /// The run does not answer.
    Ask(AskError),
}

impl fmt::Display for TopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopError::NoProcess => f.write_str("nothing runs that counts"),
            TopError::Several(pids) => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                write!(f, "there are several runs: name one of {}", pids.join(", "))
            }
            TopError::NoNode => f.write_str("--token-file is for a node: give its address"),
            TopError::Open(error) => error.fmt(f),
            TopError::Ask(error) => error.fmt(f),
        }
    }
}

/// The only running process.
fn only() -> Result<u32, TopError> {
    match place::all_processes().as_slice() {
        [] => Err(TopError::NoProcess),
        [pid] => Ok(*pid),
        pids => Err(TopError::Several(pids.to_vec())),
    }
}

/// The source of counters.
enum Looker {
    /// The files of a process, and a client for its component tree, if it has a socket.
    Process(u32, Option<Box<Asker>>),
    /// The run of a node, and the component tree of its last answer.
    Node(String, Box<Asker>, String),
}

impl Looker {
    fn new(args: &TopArgs) -> Result<Looker, TopError> {
        match (&args.whom, &args.token_file) {
            (None | Some(TopTarget::Process(_)), Some(_)) => Err(TopError::NoNode),
            (None, None) => only().map(Looker::process),
            (Some(TopTarget::Process(pid)), None) => Ok(Looker::process(*pid)),
            (Some(TopTarget::Node(address)), token) => {
                let asker = common::asker(address, token.as_ref()).map_err(TopError::Ask)?;
                Ok(Looker::Node(address.clone(), Box::new(asker), String::new()))
            }
        }
    }

    fn process(pid: u32) -> Looker {
        let socket = place::base_of(pid).join(pid.to_string()).join(SOCKET);
        let asker = |host| Box::new(Asker::new(Box::new(host), RunAddress::Socket(socket)));
        Looker::Process(pid, Os::new().ok().map(asker))
    }

    /// The current counters.
    fn look(&mut self, costs: Costs) -> Result<Snapshot, TopError> {
        match self {
            Looker::Process(pid, _) => Snapshot::open(*pid).map_err(TopError::Open),
            Looker::Node(_, asker, tree) => {
                let counted = asker.top(costs, TIMEOUT).map_err(TopError::Ask)?;
                let counters = counted.counters.into_iter().collect();
                *tree = counted.tree;
                Ok(Snapshot { counters, ..Snapshot::default() })
            }
        }
    }

    /// The component tree reported by the process; empty if it has none.
    fn components(&mut self) -> String {
        match self {
            Looker::Process(_, asker) => {
                let counted =
                    asker.as_mut().and_then(|asker| asker.top(Costs::Measured, PERIOD).ok());
                counted.map_or_else(String::new, |counted| counted.tree)
            }
            Looker::Node(_, _, tree) => std::mem::take(tree),
        }
    }

    /// Whether further snapshots are possible.
    fn goes_on(&self) -> bool {
        match self {
            Looker::Process(pid, _) => place::all_processes().contains(pid),
            Looker::Node(..) => true,
        }
    }

    fn name(&self) -> String {
        match self {
            Looker::Process(pid, _) => format!("process {pid}"),
            Looker::Node(address, ..) => format!("node {address}"),
        }
    }
}

/// Prints the rates of one second; for a process that has died, its last values.
fn once(looker: &mut Looker, out: &mut Out) -> Result<(), TopError> {
    let name = looker.name();
    if !looker.goes_on() {
        let last = looker.look(Costs::Unasked)?;
        let none = Snapshot { pid: last.pid, ..Snapshot::default() };
        out.write(&format!("{name} has ended; rates are its counts\n\n"));
        out.write(&table(&none, &last, 1.0));
        return Ok(());
    }
    // Starts to measure costs, which are published each second, so that the second snapshot has
    // them.
    looker.components();
    thread::sleep(PERIOD);
    let (before, since) = (looker.look(Costs::Measured)?, Instant::now());
    thread::sleep(PERIOD);
    let after = looker.look(Costs::Measured)?;
    out.write(&format!("{name}\n\n{}", looker.components()));
    out.write(&table(&before, &after, since.elapsed().as_secs_f64()));
    Ok(())
}

/// Prints rates each second, until the process ends.
fn watch(looker: &mut Looker, out: &mut Out) -> Result<(), TopError> {
    let name = looker.name();
    looker.components();
    let (mut before, mut since) = (looker.look(Costs::Measured)?, Instant::now());
    out.write(&format!("{HOME}{CLEAR}{name}\n"));
    while !out.has_failed() {
        thread::sleep(PERIOD);
        let (Ok(after), true) = (looker.look(Costs::Measured), looker.goes_on()) else {
            out.write(&format!("{name} has ended\n"));
            return Ok(());
        };
        let seconds = since.elapsed().as_secs_f64();
        since = Instant::now();
        let text = looker.components() + &table(&before, &after, seconds);
        out.write(&format!("{HOME}{name}\x1b[K\n\x1b[K\n"));
        // Lines may become shorter and fewer: clears after each, and below.
        out.write(&format!("{}{CLEAR}", text.replace('\n', "\x1b[K\n")));
        before = after;
    }
    Ok(())
}
