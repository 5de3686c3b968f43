//! Runs a program on this machine and the network, with all its parts on one loop.
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
//! # Ok::<(), tidemill::error::Error>(())
//! ```
//! A run ends at its end time, when it is stopped, when a tuple of `violation` appears, when its
//! data cannot be written, and with its *main part*: the entry component, or, without one, the
//! packet graph, when all its sources are done and its links empty. Nodes of rules by themselves,
//! and with components that only stages use, run until they are stopped. When the main part ends,
//! nodes complete their pending work. In capture time, nothing comes any more after the captures:
//! the run ends some minutes of that time later, even if the entry component does not.
//!
//! | part | holds |
//! |---|---|
//! | `options` | options of a run |
//! | `report` | the report of a run |
//! | `captures` | captures as input, and their time |
//! | `engines` | what makes the engines of several nodes |
//! | `ends` | external requests to end or reload |
//! | `workers` | threads that run a share of the nodes, or of the flows, each |

mod captures;
mod ends;
mod engines;
mod options;
mod report;
mod workers;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tidemill_cl::system::System;
use tidemill_event::{Host, Loop, Os, Outcome, SharedTime, Sim};
use tidemill_overlog::node::Program as Rules;
use tidemill_packet::engine::CaptureTime;
use tidemill_packet::fanout::{Fanout, INSTANCES_MAX};
use tidemill_packet::graph::{AppSpec, Graph};
use tidemill_proc::arm;
use tidemill_proc::program::Executable;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use captures::{Captures, SLICE_STEPS, captures, has_readers, in_time_of};
pub(crate) use captures::{first_ns, live_capture};
use options::LINGER_MAX;
pub use options::{
    Clock, ComponentOptions, DRAIN_MAX, Engine, EngineKind, Exposed, Exposure, Input, Listen, NODE,
    NodeOptions, PacketOptions, RunOptions,
};
pub use report::{ComponentsEnded, PacketsEnded, Report};

use crate::borders::files::Existing;
use crate::borders::sinks::Sinks;
use crate::borders::{self, Checked};
use crate::components::output::{self, Bell, Tap};
use crate::components::watchdog::Watchdog;
use crate::console::Console;
use crate::control::{self, Server};
use crate::error::Error;
use crate::journal::{Journal, SharedJournal};
use crate::left::leave;
use crate::machine::components::{Making, Outputs, Seeds};
use crate::machine::counters::show_counters;
use crate::machine::parts::{Choices, Compiled, Has, Parts};
use crate::machine::{Machine, Source, Versions, components, nodes, packets};
use crate::profile::Profile;
use crate::program::Program;
use crate::summary::Summary;

use engines::NodeEngines;
use workers::{FlowComponents, Flows, Nodes, Work, Workers};

/// The maximum log level of this file.
const CEILING: Level = Level::Info;

impl Program {
    /// Runs the program; see [the module](self).
    ///
    /// # Errors
    /// Why it cannot run: errors in it, a port in use, a missing file, or an error of
    /// [`NodeOptions::check_reach`].
    pub fn run(self, options: RunOptions, console: Console) -> Result<Report, Error> {
        Prepared::new(self, options)?.run(console)
    }
}

/// A compiled program that is ready to run.
pub struct Prepared {
    program: Compiled,
    /// The source to reload it from.
    source: Option<Source>,
    options: RunOptions,
    /// Slices of components end after a number of checkpoints.
    are_counted: bool,
}

impl Prepared {
    /// Compiles a program.
    ///
    /// # Errors
    /// If it has errors, or the code generator does not support this machine.
    pub fn new(program: Program, mut options: RunOptions) -> Result<Prepared, Error> {
        let has_captures = program.packets.as_ref().is_some_and(has_readers);
        let are_counted = options.seed.is_some()
            || options.clock == Clock::Virtual
            || options.clock == Clock::Own && has_captures;
        let engine = options.components.engine;
        if has_several_nodes(&options) {
            // Workers divide the nodes; the components of each are on one loop.
            options.components.workers = None;
        }
        let reload = options.reload.take();
        let mut source = reload.map(|reload| Source::new(reload, &program, engine));
        let written = source.as_ref().and_then(|_| program.components.program.clone());
        let making = Making::new(&program, &mut options.components, are_counted);
        let program = Compiled::new(program, &making, engine)?;
        if let Some(source) = &mut source {
            let made = program.parts.components.clone();
            source.versions = Versions::new(written, made, making);
        }
        Ok(Prepared { program, source, options, are_counted })
    }

    /// Runs the program.
    ///
    /// # Errors
    /// Why it cannot run.
    pub fn run(self, console: Console) -> Result<Report, Error> {
        let Prepared { program, mut source, mut options, are_counted } = self;
        let has = program.has();
        let are_several = has_several_nodes(&options) && (has.components || has.packets);
        if has.nodes || are_several {
            let is_exposed = options.nodes.check_reach()? == Exposed::Yes;
            source.iter_mut().for_each(|source| source.is_exposed = is_exposed);
        }
        let Parts { graph, components, borders, .. } = &program.parts;
        let captures = captures(graph.as_ref(), components.as_ref(), options.clock);
        let for_one_worker = for_one_worker(borders, captures);
        let (flows, undivided) = match divide(&program.parts, &options, has, captures)? {
            Divided::Flows(flows) => (Some(*flows), None),
            Divided::No(why) => (None, why),
        };
        flows.iter().for_each(|flows| flows.share_components(&mut options.components));
        let time = flows.as_ref().and_then(|flows| Some((flows.time.clone()?, 0)));
        let mut host = host(&options, (are_counted, has), (captures, time)).map_err(no_queue)?;
        let captures = captures.map(|captures| captures.begin(host.now()));
        let seed = options.seed.unwrap_or_else(|| host.random());
        let (heard, bell) = io::pipe().map_err(no_queue)?;
        let heard = OwnedFd::from(heard);
        let journal = SharedJournal::new(Journal::new(console));
        let Compiled { rules, mut parts } = program;
        let tap = tap(journal.clone(), bell);
        let sinks = Sinks::new(&parts.borders.sinks, &options.registry);
        let (mut machine, rules, graph, engines) = if are_several {
            refuse_shared_devices(&parts)?;
            let engine = components::idle(&mut *host)?;
            let mut machine = Machine::new(engine, journal, options.registry.clone(), has);
            let engines = NodeEngines::new(parts, &mut options);
            let maker = engines.clone().maker((options.seed, captures), tap);
            machine.maker = Some(Rc::new(maker));
            (machine, Some(rules.unwrap_or_else(Rules::idle)), None, Some(engines))
        } else {
            let machine = of_one_node((&mut parts, has), &mut options, journal, tap(), &mut *host)?;
            (machine, rules, parts.graph, None)
        };
        machine.sinks = sinks;
        machine.ends_after_captures =
            captures.is_some() && options.clock == Clock::Own && options.end_ns.is_none();
        let watches = source.as_ref().is_some_and(|source| source.files.is_some());
        machine.source = source;
        match &flows {
            Some(flows) => flows.join(&mut machine),
            None => note_single_worker(&machine, &options, (for_one_worker, undivided)),
        }
        let may_spread =
            for_one_worker.is_none() && options.clock != Clock::Virtual && options.seed.is_none();
        let (events, others) = (Loop::new(host), Workers::default());
        let mut run =
            Run { machine, events, options, heard, captures, may_spread, engines, flows, others };
        Machine::follow(&mut run.events);
        if watches {
            ends::watch_files(&mut run.events);
        }
        run.start(rules, graph, seed)?;
        run.go()?;
        run.finish()
    }
}

/// Whether this run has several nodes.
fn has_several_nodes(options: &RunOptions) -> bool {
    matches!(options.nodes.listen, Listen::Nodes(2..))
}

/// Makes what takes the output of a node's components and apps; its errors end the run.
fn tap(journal: SharedJournal, bell: io::PipeWriter) -> impl Fn() -> Tap {
    move || {
        let bell = bell.try_clone().map(Bell::Pipe);
        // Without a pipe the run ends when the program does.
        let bell = bell.unwrap_or_else(|_| Bell::Flag(Arc::default()));
        Tap::new(journal.clone(), bell)
    }
}

/// The machine of a run of one node, which has its engines from the start.
fn of_one_node(
    (parts, has): (&mut Parts, Has),
    options: &mut RunOptions,
    journal: SharedJournal,
    output: Tap,
    host: &mut dyn Host,
) -> Result<Machine, Error> {
    let program = parts.components.take().unwrap_or_else(Executable::empty);
    let outputs = Outputs::of(output::sink(None, output), &journal, String::new());
    let seeds = Seeds::of(options.seed, host)?;
    let engine = components::engine(program, &mut options.components, seeds, outputs)?;
    let mut machine = Machine::new(engine, journal, options.registry.clone(), has);
    let (graph, registry) = (parts.graph.as_ref(), &machine.registry);
    machine.node.join(&parts.borders, graph, registry, host)?;
    Ok(machine)
}

/// Refuses graphs with a device, which several nodes cannot share.
fn refuse_shared_devices(parts: &Parts) -> Result<(), Error> {
    let apps = parts.graph.iter().flat_map(|graph| &graph.apps);
    let shared = apps.into_iter().find(|app| app.kind.exclusive);
    shared.map_or(Ok(()), |app| {
        let of = app.kind.keys.first().and_then(|key| app.config.get(key.name));
        let of = of.map_or(String::new(), |of| format!(" of {of}"));
        let shared = format!("several nodes cannot share app `{}`{of}: run one node", app.name);
        Err(Error::Options(shared))
    })
}

fn host(
    options: &RunOptions,
    (are_counted, has): (bool, Has),
    (captures, time): (Option<Captures>, Option<(SharedTime, u32)>),
) -> io::Result<Box<dyn Host>> {
    if options.clock == Clock::Virtual {
        return Ok(Box::new(Sim::new(options.seed.unwrap_or(1))));
    }
    let host = match options.seed {
        Some(seed) => Os::with_seed(seed)?,
        None => Os::new()?,
    };
    let is_of_captures = captures.is_some_and(|captures| captures.clock == Clock::Own);
    if are_counted && has.components && !is_of_captures {
        return Ok(Box::new(host.with_counted_slices(SLICE_STEPS)));
    }
    Ok(Box::new(in_time_of(captures, time, host)))
}

/// How a graph is run by several workers.
enum Divided {
    /// Each has an instance.
    Flows(Box<Flows>),
    /// One has all of it; the reason, unless several cannot be.
    No(Option<String>),
}

/// Divides the flows of a graph among several workers. Rules beside it are at the first.
///
/// # Errors
/// An app of a program that is a graph alone cannot take a part of the flows.
fn divide(
    parts: &Parts,
    options: &RunOptions,
    has: Has,
    captures: Option<Captures>,
) -> Result<Divided, Error> {
    let count = options.nodes.workers;
    let is_of_one_node = !has_several_nodes(options);
    let may_divide = options.clock != Clock::Virtual && options.seed.is_none();
    let Some(graph) = parts.graph.as_ref().filter(|_| is_of_one_node && may_divide && count > 1)
    else {
        return Ok(Divided::No(None));
    };
    if count > INSTANCES_MAX {
        let most = format!("a packet graph has {INSTANCES_MAX} instances at most");
        return Err(Error::Options(most));
    }
    if let Some(AppSpec { name, kind, .. }) = undivided_app(graph, &parts.borders) {
        let kind = kind.name;
        let why =
            format!("app `{name}` cannot take a part of the flows, as a {kind} is one for all");
        return if has.nodes || has.components {
            Ok(Divided::No(Some(why)))
        } else {
            Err(Error::Options(format!("{why}: run one worker")))
        };
    }
    if let Some(why) = parts.borders.for_one_worker().or_else(|| for_one_instance(parts)) {
        return Ok(Divided::No(Some(why)));
    }
    let is_in_time = captures.is_some_and(|captures| captures.clock == Clock::Own);
    let has_flows = !parts.borders.flows.is_empty();
    let components = parts.components.clone().filter(|_| has_flows).map(|program| FlowComponents {
        program,
        choices: Choices::of_flows(&options.components, count),
        has_entry: parts.has_entry,
    });
    Ok(Divided::Flows(Box::new(Flows {
        graph: graph.clone(),
        options: options.packets,
        parts: Fanout::all(count, &tidemill_apps::port_blocks(graph)),
        captures,
        time: (is_in_time && (has.nodes || has.components)).then(|| SharedTime::new(count)),
        borders: parts.borders.clone(),
        components,
    })))
}

/// Why several nodes need a single worker.
fn for_one_worker(borders: &Checked, captures: Option<Captures>) -> Option<&'static str> {
    if borders.have_files() {
        return Some("the program writes files");
    }
    let is_in_time = captures.is_some_and(|captures| captures.clock == Clock::Own);
    is_in_time.then_some("time is that of captures, which all nodes share")
}

/// Says that several workers do not divide the nodes, or the graph, if there are several.
fn note_single_worker(
    machine: &Machine,
    options: &RunOptions,
    (for_one_worker, undivided): (Option<&str>, Option<String>),
) {
    if options.nodes.workers <= 1 {
        return;
    }
    if !has_several_nodes(options) {
        return if machine.has.packets {
            note_undivided(machine, undivided)
        };
    }
    if let Some(why) = for_one_worker {
        machine.note(&format!("one worker only: {why}"));
    }
}

/// Says that several workers do not divide a graph, if components do not use them.
fn note_undivided(machine: &Machine, why: Option<String>) {
    match why {
        Some(why) if machine.has.components => {
            machine.note(&format!("the graph has one instance: {why}"));
        }
        None if machine.has.components => {}
        why => {
            let why = why.unwrap_or_else(|| "the program has more than rules".to_owned());
            machine.note(&format!("one worker only: {why}"));
        }
    }
}

/// The first app that is one for all flows.
fn undivided_app<'g>(graph: &'g Graph, borders: &Checked) -> Option<&'g AppSpec> {
    let is_border = |app: &AppSpec| {
        let mut to_rules = borders.packets.iter().map(|border| &border.app);
        let mut decoders = borders.decoders.iter().map(|border| &border.app);
        let mut flows = borders.flows.iter().map(|border| &border.app);
        to_rules.any(|name| *name == app.name)
            || decoders.any(|name| *name == app.name)
            || flows.any(|name| *name == app.name)
    };
    let takes_all = |app: &AppSpec| (app.kind.pulls || app.kind.exclusive) && !app.kind.divides;
    graph.apps.iter().find(|app| takes_all(app) && !is_border(app))
}

/// Why components cannot run at several workers: those of flows at each, and others at the first.
fn for_one_instance(parts: &Parts) -> Option<String> {
    let program = parts.components.as_ref()?;
    let entry = program.components.get(program.entry as usize).filter(|_| parts.has_entry);
    let has_flows = !parts.borders.flows.is_empty();
    let deliver = |name: &str| {
        parts.borders.rules.iter().any(|border| border.interface == name && border.has_changes())
    };
    program.components.iter().find_map(|component| {
        let is_of_entry = entry.is_some_and(|entry| {
            let rest = component.name.strip_prefix(&entry.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        // All others may be parts of flows.
        let is_at_first = is_of_entry || !has_flows;
        let required = component.required.iter();
        let names = required.filter_map(|port| program.interfaces.get(port.interface as usize));
        let mut names = names.map(|interface| interface.name.as_str());
        let name = names.find(|name| match System::ALL.iter().find(|it| it.name() == *name) {
            Some(System::Packets | System::Time | System::Messages | System::Arguments) => false,
            Some(_) => !is_at_first,
            None => !is_at_first && deliver(name),
        })?;
        Some(format!("component {} uses {name}, which one worker has", component.name))
    })
}

fn no_wait(error: io::Error) -> Error {
    Error::System(format!("the system fails to wait: {error}"))
}

fn no_queue(error: io::Error) -> Error {
    Error::System(format!("the system gives no event queue: {error}"))
}

/// A running program.
struct Run {
    machine: Machine,
    events: Loop<Machine>,
    options: RunOptions,
    /// Readable once the output of components cannot be written.
    heard: OwnedFd,
    /// The arrival times of packets from captures.
    captures: Option<CaptureTime>,
    /// Its nodes may be run by several workers.
    may_spread: bool,
    /// Their engines except for rules, if there are several with others.
    engines: Option<NodeEngines>,
    /// The flows of its graph, if several workers have an instance each.
    flows: Option<Flows>,
    /// All workers but the first.
    others: Workers,
}

impl Run {
    /// Starts all parts: ports are open and tools can connect before nodes start; components come
    /// last, when everything that they could require is available.
    fn start(
        &mut self,
        rules: Option<Rules>,
        graph: Option<Graph>,
        seed: u64,
    ) -> Result<(), Error> {
        let Run { machine, events, options, others, engines, .. } = self;
        machine.control = Some(Server::new(&machine.registry, options.nodes.token.clone()));
        let stop = options.stop_flag.as_ref();
        let opened = match rules.map(Arc::new) {
            None => None,
            Some(rules) => {
                let count = if self.may_spread { workers::count(&options.nodes) } else { 1 };
                if count > 1 {
                    let (rules, engines, has) = (rules.clone(), engines.take(), machine.has);
                    let nodes = Work::Nodes(Box::new(Nodes { rules, engines, has }));
                    let of_run = (&nodes, &options.nodes);
                    *others = Workers::open(machine, events, of_run, (seed, stop), count)?;
                }
                let opened = nodes::open(machine, events, rules, &options.nodes, (seed, stop))?;
                let names = others.names(opened.names.clone());
                Some((opened, names))
            }
        };
        if options.clock != Clock::Virtual {
            answer_tools(machine, events, opened.as_ref().map(|(_, names)| names.as_slice()));
        }
        if let Some((opened, names)) = opened {
            nodes::announce(machine, &names, &options.nodes);
            others.start(&names)?;
            nodes::start(machine, events, (opened, &names), &options.nodes)?;
            let nodes = machine.fleet.ids().count();
            say!(Info, "fleet", "{nodes} nodes by {:?}, seed {seed}", options.nodes.fabric);
        }
        let root = options.components.root.as_deref();
        let existing = match options.clock {
            Clock::Virtual => Existing::Replaced,
            _ => Existing::Kept,
        };
        borders::open_files(machine, events, root, existing)?;
        if let Some(graph) = graph {
            let chosen = std::mem::take(&mut options.packets);
            let times = (seed, self.captures);
            match &self.flows {
                None => packets::start(machine, events, graph, chosen, times, Fanout::default())?,
                Some(flows) => {
                    *others = flows.open(machine, events, &options.nodes, (seed, stop))?;
                    flows.start(machine, events, times)?;
                    others.start(&Vec::new())?;
                }
            }
        }
        if options.clock != Clock::Virtual {
            show_counters(machine, events);
            ends::watch(events, options, &self.heard)
                .map_err(|error| Error::Start(format!("cannot wait for signals: {error}")))?;
            options.service.ready(events, Some(&machine.registry))?;
        }
        Ok(())
    }

    /// Runs until the end.
    fn go(&mut self) -> Result<(), Error> {
        let Run { machine, events, options, heard, .. } = self;
        // An error then has been reported, and is the result of the run.
        if machine.maker.is_none() && machine.has.components {
            if machine.has.entry && machine.node.runner.worker().start().is_err() {
                return Ok(());
            }
            arm(machine, events);
        }
        let overdue = options.components.overdue.filter(|_| options.clock != Clock::Virtual);
        let watchdog =
            overdue.map(|overdue| Watchdog::start(options.stop.as_ref(), options.end_ns, overdue));
        let _watchdog = watchdog
            .transpose()
            .map_err(|error| Error::System(format!("cannot watch for the end: {error}")))?;
        let end = options.end_ns.map(|end| events.now() + Duration::from_nanos(end));
        let mut outcome = ends::run(machine, events, options, heard, end).map_err(no_wait)?;
        // `--for` ends a run in order for components that wait for the end of its rules.
        if matches!(outcome, Outcome::Reached) && !machine.is_ending && machine.has_listeners() {
            options.service.stopping();
            nodes::drain(machine, events);
            let end = events.now() + DRAIN_MAX;
            outcome = ends::run(machine, events, options, heard, Some(end)).map_err(no_wait)?;
        }
        say!(Info, "fleet", "the run is over: {outcome:?}");
        if !machine.is_ending {
            options.service.stopping();
        }
        Ok(())
    }

    /// Ends the remaining parts, flushes the output, and sums up.
    fn finish(self) -> Result<Report, Error> {
        let Run { mut machine, mut events, options, mut others, .. } = self;
        let has_unsent = machine.clear(&mut events);
        if options.clock != Clock::Virtual && has_unsent {
            let end = events.now() + LINGER_MAX;
            // An error is ignored, as the run is over.
            let _ = events.run_until(&mut machine, end);
        }
        let mut report = Report { starts_again: machine.starts_again, ..Report::default() };
        machine.sum_up(&mut events, &mut report);
        draw(&mut machine, &options, &mut report);
        report.profile = options.nodes.profile.then(|| Profile::of(&machine.fleet));
        let mut summary = Summary::default();
        if machine.has.nodes {
            summary = Summary::of_part(&machine.fleet, &mut events);
            let (violations, given_up) = {
                let journal = machine.journal.get();
                (journal.violations, journal.given_up)
            };
            (summary.violations, summary.given_up) = (violations, given_up);
        }
        if others.are_some() {
            others.end(&machine, (&mut summary, &mut report))?;
            machine.count_borders(&mut report);
        }
        if machine.has.nodes {
            summary.leave_out();
            report.nodes = Some(summary);
        }
        let mut journal = machine.journal.get_mut();
        journal.console.flush();
        report.failure = journal.console.take_failure();
        drop(journal);
        report.timer_late_max = events.stats().timer_late_max;
        // Removes its files even if the rest fails.
        machine.control = None;
        // Relaxed: the flag publishes no other data.
        let is_stopped = options.stop_flag.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let is_over = machine.is_ending || is_stopped;
        let is_left = options.nodes.ends_process && machine.has.nodes && is_over;
        report.counters.push(options.registry.hold());
        if report.starts_again {
            report.counters.clear();
        }
        leave((machine, events), is_left);
        Ok(report)
    }
}

/// Opens the control socket for tools of this host. If that fails, the run only lacks it.
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

/// Writes the picture.
fn draw(machine: &mut Machine, options: &RunOptions, report: &mut Report) {
    if let Some(path) = &options.components.png
        && let Err(error) = machine.node.systems.write_png(path)
    {
        let problem = format!("{}: cannot write the picture: {error}", path.display());
        machine.note(&problem);
        report.problems.push(problem);
    }
}
