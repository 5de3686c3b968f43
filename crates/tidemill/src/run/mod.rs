//! Running a program on this machine and the network: all its parts on one loop.
//!
//! ```no_run
//! use tidemill::console::{Console, Form};
//! use tidemill::program::{LoadOptions, Program};
//! use tidemill::run::RunOptions;
//!
//! let files = ["monitor.olg".into(), "edge.flow".into()];
//! let program = Program::load(&files, &LoadOptions::default());
//! let (data, notes) = (Box::new(std::io::stdout()), Box::new(std::io::stderr()));
//! let report = program.run(RunOptions::default(), Console::new(Form::Text, data, notes))?;
//! assert!(report.is_well());
//! # Ok::<(), String>(())
//! ```
//! A run ends when its time is over, when it is stopped, when a tuple of `violation` appears, when
//! its data cannot be written any more, and with its *main part*: the entry component, or, without
//! one, the packet graph, when all its sources are done and its links empty. Nodes of rules by
//! themselves, and with components that only stages use, run until they are stopped. When the main
//! part ends, nodes finish what they have begun.
//!
//! | part | holds |
//! |---|---|
//! | `options` | how a program is run |
//! | `report` | what a run amounts to |
//! | `ends` | what ends a run, or has it read something again |

mod ends;
mod options;
mod report;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tidemill_event::{Host, Loop, Os, Sim};
use tidemill_overlog::fleet;
use tidemill_overlog::node::Program as Rules;
use tidemill_packet::graph::Graph;
use tidemill_proc::arm;
use tidemill_proc::console::{Console as Output, Lines};
use tidemill_proc::program::Executable;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

pub use options::{
    Clock, ComponentOptions, Engine, EngineKind, Exposed, Exposure, Input, Listen, NodeOptions,
    PacketOptions, Reread, RunOptions,
};
pub use report::{ComponentsEnded, PacketsEnded, Report};

use crate::borders::{self, Borders};
use crate::components::output::Tap;
use crate::components::report::Reporter;
use crate::components::watchdog::Watchdog;
use crate::console::Console;
use crate::control::{self, Server};
use crate::journal::{Journal, SharedJournal};
use crate::machine::{Machine, components, nodes, packets};
use crate::program::{Program, Rules as Loaded};
use crate::summary::Summary;

/// What this file says at most.
const CEILING: Level = Level::Info;

/// How long a run goes on to finish what it has begun.
pub const DRAIN_MAX: Duration = Duration::from_secs(3);

/// How often the counters are shown.
const METER_EVERY: Duration = Duration::from_secs(1);

/// Steps and checkpoints of a slice, where slices are counted.
const SLICE_STEPS: u64 = 10_000;

/// How long a run that is over waits for the network to take what components have sent.
const LINGER_MAX: Duration = Duration::from_secs(2);

impl Program {
    /// Runs it; see [the module](self).
    ///
    /// # Errors
    /// What keeps it from running, as text: errors in it, a port in use, a file that is not there,
    /// or what [`NodeOptions::check_reach`] says.
    pub fn run(self, options: RunOptions, console: Console) -> Result<Report, String> {
        Prepared::new(self, options)?.run(console)
    }
}

/// A program that is compiled and can be run at once.
pub struct Prepared {
    rules: Option<Rules>,
    components: Option<Executable>,
    /// Whether one of the components is the program.
    has_entry: bool,
    packets: Option<Graph>,
    borders: borders::Checked,
    options: RunOptions,
}

impl Prepared {
    /// Compiles a program.
    ///
    /// # Errors
    /// If it has errors, or no code can be made for this machine.
    pub fn new(program: Program, mut options: RunOptions) -> Result<Prepared, String> {
        if program.has_errors() {
            return Err("the program has errors".to_owned());
        }
        let components = components::compiled(&program, &mut options)?;
        let has_entry = program.components.program.as_ref().is_some_and(|it| it.entry.is_some());
        let Program { rules, packets, borders, .. } = program;
        let Loaded { program: rules, operators, .. } = rules;
        let rules = rules.map(|rules| Rules::with_operators(rules, operators));
        let mut rules = rules.transpose()?;
        if let Some(rules) = &mut rules {
            borders.crossing().for_each(|relation| rules.cross(relation));
        }
        if borders.have_packets() && matches!(options.nodes.listen, Listen::Nodes(2..)) {
            return Err("packets of one graph cannot go to several nodes".to_owned());
        }
        if borders.have_components() && matches!(options.nodes.listen, Listen::Nodes(2..)) {
            return Err("the components of a program cannot serve several nodes".to_owned());
        }
        Ok(Prepared { rules, components, has_entry, packets, borders, options })
    }

    /// Runs it.
    ///
    /// # Errors
    /// What keeps it from running.
    pub fn run(self, console: Console) -> Result<Report, String> {
        let Prepared { rules, components: program, has_entry, packets, borders, mut options } =
            self;
        if rules.is_some() {
            options.nodes.check_reach()?;
        }
        let mut host = host(&options, program.is_some()).map_err(no_queue)?;
        let seed = options.seed.unwrap_or_else(|| host.random());
        let (heard, bell) = io::pipe().map_err(no_queue)?;
        let heard = OwnedFd::from(heard);
        let lines = if console.is_eager() { Lines::Each } else { Lines::Together };
        let journal = SharedJournal::new(Journal::new(console));
        let files = program.as_ref().map_or(Vec::new(), |program| program.files.clone());
        let outputs = components::Outputs {
            console: Output::new(Box::new(Tap::new(journal.clone(), bell)), lines),
            reports: Box::new(Reporter { files, journal: journal.clone() }),
        };
        let mut machine = components::machine(program, &mut options, &mut *host, outputs, journal)?;
        let secret = host.hash_secret().map_err(|error| format!("no random numbers: {error}"))?;
        machine.node.borders = Borders::new(&borders, packets.as_ref(), &machine.registry, secret);
        machine.node.borders.offer(machine.node.runner.worker());
        machine.has.entry = has_entry;
        let mut run = Run { machine, events: Loop::new(host), options, heard };
        run.start(rules, packets, seed)?;
        run.go()?;
        run.finish()
    }
}

fn host(options: &RunOptions, has_components: bool) -> io::Result<Box<dyn Host>> {
    Ok(match (options.clock, options.seed) {
        (Clock::Virtual, seed) => Box::new(Sim::new(seed.unwrap_or(1))),
        (Clock::Real, None) => Box::new(Os::new()?),
        (Clock::Real, Some(seed)) if has_components => {
            Box::new(Os::with_seed(seed)?.with_counted_slices(SLICE_STEPS))
        }
        (Clock::Real, Some(seed)) => Box::new(Os::with_seed(seed)?),
    })
}

fn no_queue(error: io::Error) -> String {
    format!("the system gives no event queue: {error}")
}

/// A program that runs.
struct Run {
    machine: Machine,
    events: Loop<Machine>,
    options: RunOptions,
    /// Can be read when what components write can be written no more.
    heard: OwnedFd,
}

impl Run {
    /// Starts all parts: ports are open and tools can ask before nodes start; components come last,
    /// when everything that they could ask for is there.
    fn start(
        &mut self,
        rules: Option<Rules>,
        graph: Option<Graph>,
        seed: u64,
    ) -> Result<(), String> {
        let Run { machine, events, options, .. } = self;
        machine.control = Some(Server::new(&machine.registry, options.nodes.token.clone()));
        let stop = options.stop_flag.as_ref();
        let opened =
            rules.map(|rules| nodes::open(machine, events, rules, &options.nodes, (seed, stop)));
        let opened = opened.transpose()?;
        if options.clock == Clock::Real {
            answer_tools(machine, events, opened.as_ref().map(|it| it.names.as_slice()));
        }
        if let Some(opened) = opened {
            nodes::start(machine, events, opened, &options.nodes)?;
            let nodes = machine.fleet.ids().count();
            say!(Info, "fleet", "{nodes} nodes by {:?}, seed {seed}", options.nodes.fabric);
        }
        if let Some(graph) = graph {
            let chosen = std::mem::take(&mut options.packets);
            packets::start(machine, events, graph, chosen, seed)?;
        }
        if options.clock == Clock::Real {
            show_counters(machine, events);
            ends::watch(events, options, &self.heard)
                .map_err(|error| format!("cannot wait for signals: {error}"))?;
            options.service.ready(events, Some(&machine.registry))?;
        }
        Ok(())
    }

    /// Runs until it ends.
    fn go(&mut self) -> Result<(), String> {
        let Run { machine, events, options, heard, .. } = self;
        // What is wrong then has been reported, and is how the run ended.
        if machine.has.entry && machine.node.runner.worker().start().is_err() {
            return Ok(());
        }
        if machine.has.components {
            arm(machine, events);
        }
        let overdue = options.components.overdue.filter(|_| options.clock == Clock::Real);
        let watchdog =
            overdue.map(|overdue| Watchdog::start(options.stop.as_ref(), options.end_ns, overdue));
        let _watchdog =
            watchdog.transpose().map_err(|error| format!("cannot watch for the end: {error}"))?;
        let end = options.end_ns.map(|end| events.now() + Duration::from_nanos(end));
        let outcome = ends::run(machine, events, options, heard, end)
            .map_err(|error| format!("the system fails to wait: {error}"))?;
        say!(Info, "fleet", "the run is over: {outcome:?}");
        if !machine.is_ending {
            options.service.stopping();
        }
        Ok(())
    }

    /// Ends what is left, writes what waits, and sums up.
    fn finish(self) -> Result<Report, String> {
        let Run { mut machine, mut events, options, .. } = self;
        let how = machine.node.runner.worker().ended().cloned();
        components::clear(&mut machine, &mut events);
        if options.clock == Clock::Real && machine.node.systems.has_unsent() {
            let end = events.now() + LINGER_MAX;
            // Whatever became of it, nobody waits any longer.
            let _ = events.run_until(&mut machine, end);
        }
        let packets = machine.stop_packets();
        let problems = problems(&mut machine, &options, packets.as_ref());
        let mut report = Report {
            components: components::stop(&mut machine, how),
            packets,
            problems,
            ..Report::default()
        };
        machine.meters.update(&machine.fleet, events.stats());
        if machine.has.nodes {
            let mut summary = Summary::of(&machine.fleet, &mut events);
            let journal = machine.journal.get();
            summary.violations = journal.violations;
            summary.given_up = journal.given_up;
            report.nodes = Some(summary);
        }
        let mut journal = machine.journal.get_mut();
        journal.console.flush();
        report.failure = journal.console.take_failure();
        drop(journal);
        report.timer_late_max = events.stats().timer_late_max;
        // Its files go whatever becomes of the rest.
        machine.control = None;
        // Relaxed: a wish, which nothing else is published with.
        let is_stopped = options.stop_flag.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if machine.has.nodes && (machine.is_ending || is_stopped) {
            // To free what a large run holds may take longer than its user should wait.
            std::mem::forget((machine, events));
        }
        Ok(report)
    }
}

/// Opens the run for tools of this host. Without that it is the same, and cannot be asked.
fn answer_tools(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    nodes: Option<&[(String, String)]>,
) {
    let Some(folder) = machine.registry.directory().map(Path::to_owned) else { return };
    let opened = control::open(machine, events, &folder).and_then(|()| {
        let server = machine.control.as_ref().zip(nodes);
        server.map_or(Ok(()), |(server, nodes)| server.list_nodes(nodes))
    });
    if let Err(error) = opened {
        machine.note(&format!("warning: tools cannot ask this run: {error}"));
    }
}

/// Shows the counters now and from now on.
fn show_counters(machine: &mut Machine, events: &mut Loop<Machine>) {
    machine.meters.update(&machine.fleet, events.stats());
    events.every(METER_EVERY, |machine: &mut Machine, events: &mut Loop<Machine>, _| {
        machine.meters.update(&machine.fleet, events.stats());
        fleet::sample(machine, events);
    });
}

/// What went wrong behind the backs of components and apps, which is reported.
fn problems(
    machine: &mut Machine,
    options: &RunOptions,
    packets: Option<&PacketsEnded>,
) -> Vec<String> {
    let mut problems = machine.node.systems.problems();
    let out_of_order = packets.iter().flat_map(|packets| &packets.out_of_order);
    problems.extend(out_of_order.map(|app| format!("app {app} was out of order at the end")));
    if let Some(path) = &options.components.png
        && let Err(error) = machine.node.systems.write_png(path)
    {
        problems.push(format!("{}: cannot write the picture: {error}", path.display()));
    }
    problems.iter().for_each(|problem| machine.note(problem));
    problems
}
