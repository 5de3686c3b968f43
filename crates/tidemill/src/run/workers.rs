//! Further workers of a run: threads that run a share of the nodes each, or an instance of the
//! packet graph each. Rules beside a graph are at the first worker (`borders/instances`).
//!
//! ```text
//! first worker                       another
//! open the ports of its nodes        open the ports of its nodes -> names, a remote
//! all names -> everybody             start its nodes
//! start its nodes                    run
//! run ... the run is over -> stop    -> what its nodes did
//! ```
//! Calls between running workers are in `machine/others.rs`.

use std::io;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use tidemill_event::{Host, Loop, Os, Outcome, Owner, Remote, SharedTime};
use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::node::Program as Rules;
use tidemill_packet::engine::CaptureTime;
use tidemill_packet::fanout::Fanout;
use tidemill_packet::graph::Graph;
use tidemill_proc::program::Executable;
use tidemill_proc::{Runner, arm};
use tidemill_stat::{Held, Registry};

use super::captures::{Captures, in_time_of};
use super::engines::NodeEngines;
use super::options::{ComponentOptions, LINGER_MAX, Listen, NodeOptions, PacketOptions};
use super::report::{ComponentsEnded, PacketsEnded, Report};
use crate::borders::Checked;
use crate::borders::instances::Instances;
use crate::components::output::{self, Bell, Tap};
use crate::components::system::Systems;
use crate::console::Console;
use crate::control::Server;
use crate::error::Error;
use crate::journal::{Journal, SharedJournal};
use crate::left::leave;
use crate::machine::components::{Outputs, Seeds};
use crate::machine::counters::show_counters;
use crate::machine::crew::{ASKERS, Crew};
use crate::machine::others::WorkerOutput;
use crate::machine::parts::{Choices, Has};
use crate::machine::share::Share;
use crate::machine::{Machine, components, nodes, packets};
use crate::meters::Meters;
use crate::profile::Profile;
use crate::summary::Summary;

/// Names of nodes, and their addresses.
type Names = Vec<(String, String)>;

/// The results of a worker.
#[derive(Default)]
struct Part {
    summary: Summary,
    /// The cost of rules, if it was measured.
    profile: Option<Profile>,
    held: Option<Held>,
    /// Those of its instance of the graph, of its components, and other errors.
    packets: Option<PacketsEnded>,
    components: Option<ComponentsEnded>,
    problems: Vec<String>,
}

/// What is divided among the workers.
#[derive(Clone)]
pub(super) enum Work {
    /// The nodes.
    Nodes(Box<Nodes>),
    /// The flows of a packet graph.
    Flows(Box<Flows>),
}

/// The nodes of a program.
#[derive(Clone)]
pub(super) struct Nodes {
    pub(super) rules: Arc<Rules>,
    /// Their other engines, if they have some.
    pub(super) engines: Option<NodeEngines>,
    pub(super) has: Has,
}

/// The flows of a packet graph, of which each instance has a part.
#[derive(Clone)]
pub(super) struct Flows {
    pub(super) graph: Graph,
    pub(super) options: PacketOptions,
    /// The parts, by worker.
    pub(super) parts: Vec<Fanout>,
    /// The captures, if time is theirs.
    pub(super) captures: Option<Captures>,
    /// The clock that all workers share: then rules at the first one see the packets of all in
    /// their time.
    pub(super) time: Option<SharedTime>,
    /// What packets become at the first worker, and the components of flows at each.
    pub(super) borders: Checked,
    /// The components, if flows have some.
    pub(super) components: Option<FlowComponents>,
}

/// The components of a program that each worker runs for its flows.
#[derive(Clone)]
pub(super) struct FlowComponents {
    pub(super) program: Executable,
    pub(super) choices: Choices,
    /// There is an entry component, at the first worker.
    pub(super) has_entry: bool,
}

/// The input of all workers.
#[derive(Clone)]
struct Common {
    work: Work,
    options: NodeOptions,
    registry: Registry,
    seed: u64,
    stop: Option<Arc<AtomicBool>>,
}

/// Another worker.
struct Worker {
    remote: Remote<Machine>,
    /// The channel for the names of all nodes; it closes without any if the run does not start.
    start: Sender<Names>,
    started: Receiver<Result<(), Error>>,
    thread: JoinHandle<Result<Part, Error>>,
    written: WorkerOutput,
    names: Names,
}

/// The other workers of a run.
#[derive(Default)]
pub(super) struct Workers(Vec<Worker>);

/// The number of workers of a run: one, if it has a single node.
pub(super) fn count(options: &NodeOptions) -> u32 {
    match options.listen {
        Listen::Nodes(count) => options.workers.clamp(1, count.max(1)),
        Listen::Address(_) => 1,
    }
}

impl Workers {
    /// Starts the other workers of a machine, which is the first of `count`: they open their ports.
    ///
    /// # Errors
    /// A port cannot be opened, or a thread cannot be started.
    pub(super) fn open(
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        (divided, options): (&Work, &NodeOptions),
        (seed, stop): (u64, Option<&Arc<AtomicBool>>),
        count: u32,
    ) -> Result<Workers, Error> {
        let (divided, options) = (divided.clone(), options.clone());
        let (registry, stop) = (machine.registry.clone(), stop.cloned());
        let common = Common { work: divided, options, registry, seed, stop };
        let first = events.remote().map_err(no_worker)?;
        let mut workers = Workers::default();
        for me in 1..count {
            let share = Share { me, parts: count };
            let written = WorkerOutput::default();
            let (to_worker, start) = channel();
            let (opened, from_worker) = channel();
            let (to_first, started) = channel();
            let (common, of_worker, first) = (common.clone(), written.clone(), first.clone());
            let form = {
                let journal = machine.journal.get();
                (journal.console.form(), journal.console.is_eager())
            };
            let thread = thread::Builder::new().name(format!("worker-{me}"));
            let work = move || {
                let ends = Ends { opened, start, started: to_first };
                work(common, share, (of_worker.console(form, first.clone()), first), ends)
            };
            let thread = thread.spawn(work).map_err(no_worker)?;
            let (names, remote) = from_worker.recv().map_err(gone)??;
            workers.0.push(Worker { remote, start: to_worker, started, thread, written, names });
        }
        machine.share = Share { me: 0, parts: count };
        let others = workers.0.iter().map(|worker| worker.remote.clone()).collect();
        machine.crew = (count > 1).then(|| Crew::new(others));
        Ok(workers)
    }

    /// Whether there are others.
    pub(super) fn are_some(&self) -> bool {
        !self.0.is_empty()
    }

    /// The names of all nodes, given those of the first worker.
    pub(super) fn names(&self, own: Names) -> Names {
        let mut each: Vec<_> = [own]
            .into_iter()
            .chain(self.0.iter().map(|it| it.names.clone()))
            .map(Vec::into_iter)
            .collect();
        let mut names = Vec::new();
        loop {
            let before = names.len();
            names.extend(each.iter_mut().filter_map(Iterator::next));
            if names.len() == before {
                return names;
            }
        }
    }

    /// Makes the others start their nodes, or instances of the graph, which know no names.
    ///
    /// # Errors
    /// One cannot start.
    pub(super) fn start(&self, names: &Names) -> Result<(), Error> {
        self.0.iter().try_for_each(|it| it.start.send(names.clone()).map_err(gone))?;
        self.0.iter().try_for_each(|it| it.started.recv().map_err(gone)?)
    }

    /// Ends the others, and adds their results to a report, those of nodes to a summary.
    ///
    /// # Errors
    /// Why one of them failed.
    pub(super) fn end(
        &mut self,
        machine: &Machine,
        (summary, report): (&mut Summary, &mut Report),
    ) -> Result<(), Error> {
        let mut failure = Ok(());
        for worker in self.stop() {
            match worker.thread.join() {
                Ok(Ok(part)) => {
                    summary.add(&part.summary);
                    report.counters.extend(part.held);
                    if let Some((all, more)) = report.profile.as_mut().zip(part.profile) {
                        all.add(more);
                    }
                    report.add(part.components, part.packets);
                    report.problems.extend(part.problems);
                }
                Ok(Err(error)) => failure = Err(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
            worker.written.write(&mut machine.journal.get_mut().console);
        }
        failure
    }

    /// Stops the loops of the others.
    fn stop(&mut self) -> Vec<Worker> {
        let workers = mem::take(&mut self.0);
        for worker in &workers {
            // A worker that accepts no posts has ended.
            let _ = worker.remote.event(Owner::LOOP, |_: &mut Machine, events| events.stop());
        }
        workers
    }
}

impl Drop for Workers {
    /// A run that does not start must not leave threads behind.
    fn drop(&mut self) {
        for Worker { start, thread, .. } in self.stop() {
            drop(start);
            let _ = thread.join();
        }
    }
}

/// The channels by which a worker reports its progress to the first.
struct Ends {
    opened: Sender<Result<(Names, Remote<Machine>), Error>>,
    start: Receiver<Names>,
    started: Sender<Result<(), Error>>,
}

fn no_worker(error: io::Error) -> Error {
    Error::Start(format!("no worker: {error}"))
}

/// A channel to or from a worker has closed.
fn gone<E>(_: E) -> Error {
    Error::start("a worker has ended")
}

/// The thread of another worker.
fn work(
    common: Common,
    share: Share,
    (console, first): (Console, Remote<Machine>),
    ends: Ends,
) -> Result<Part, Error> {
    let opened = open(&common, share, (console, first.clone()));
    let (mut machine, mut events, opened) = match opened {
        Ok((machine, events, opened, remote)) => {
            let _ = ends.opened.send(Ok((opened.names.clone(), remote)));
            (machine, events, opened)
        }
        Err(error) => {
            let _ = ends.opened.send(Err(error.clone()));
            return Err(error);
        }
    };
    let Ok(names) = ends.start.recv() else { return Ok(Part::default()) };
    let started = start(&common, &mut machine, &mut events, (opened, &names));
    let failed = started.is_err();
    let _ = ends.started.send(started);
    if failed {
        return Ok(Part::default());
    }
    show_counters(&mut machine, &mut events);
    let ends_all = EndsAll(first);
    let outcome = events.run(&mut machine);
    drop(ends_all);
    if let Outcome::Failed(error) = outcome {
        return Err(Error::System(format!("the system fails to wait: {error}")));
    }
    let mut ended = Report::default();
    if machine.has.components || machine.has.packets {
        if machine.clear(&mut events) {
            let end = events.now() + LINGER_MAX;
            // An error is ignored, as the run is over.
            let _ = events.run_until(&mut machine, end);
        }
        machine.sum_up(&mut events, &mut ended);
    }
    machine.meters.update(&machine.fleet, &events);
    let profile = common.options.profile.then(|| Profile::of(&machine.fleet));
    let mut summary = Summary::of_part(&machine.fleet, &mut events);
    let mut journal = machine.journal.get_mut();
    (summary.violations, summary.given_up) = (journal.violations, journal.given_up);
    journal.console.flush();
    drop(journal);
    let held = Some(common.registry.hold());
    leave((machine, events), common.options.ends_process);
    let Report { packets, components, problems, .. } = ended;
    Ok(Part { summary, profile, held, packets, components, problems })
}

/// Starts the nodes of a worker, or its instance of the graph.
fn start(
    common: &Common,
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (opened, names): (nodes::Opened, &Names),
) -> Result<(), Error> {
    match &common.work {
        Work::Nodes(_) => nodes::start(machine, events, (opened, names), &common.options),
        Work::Flows(flows) => {
            let captures = flows.captures.map(|captures| captures.begin(events.now()));
            flows.start(machine, events, (common.seed, captures))?;
            if machine.has.components {
                arm(machine, events);
            }
            Ok(())
        }
    }
}

/// The end of one worker ends all, even if it panics: the first would wait for it.
struct EndsAll(Remote<Machine>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        let _ = self.0.event(Owner::LOOP, |_: &mut Machine, events| events.stop());
    }
}

impl Flows {
    /// Makes the other workers.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(super) fn open(
        &self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        options: &NodeOptions,
        seed: (u64, Option<&Arc<AtomicBool>>),
    ) -> Result<Workers, Error> {
        let count = self.parts.len() as u32;
        Workers::open(machine, events, (&Work::Flows(Box::new(self.clone())), options), seed, count)
    }

    /// If each worker runs the components of its flows, the workers are the loops of components,
    /// and share their memory.
    pub(super) fn share_components(&self, options: &mut ComponentOptions) {
        if self.components.is_some() {
            let count = self.parts.len() as u64;
            options.workers = None;
            options.memory_max = options.memory_max.map(|max| max / count);
        }
    }

    /// Prepares the first worker for the instances of the others.
    pub(super) fn join(&self, machine: &mut Machine) {
        let instances = Instances::new(self.parts[0].clone(), &machine.registry);
        machine.node.borders.instances = Some(instances);
    }

    /// The components of another worker, and what that has.
    fn engine(
        &self,
        journal: &SharedJournal,
        host: &mut dyn Host,
    ) -> Result<((Runner, Systems), Has), Error> {
        let has = Has { packets: true, ..Has::default() };
        let Some(FlowComponents { program, choices, has_entry }) = &self.components else {
            return Ok((components::idle(host)?, has));
        };
        // The first worker finds out that output cannot be written.
        let tap = Tap::new(journal.clone(), Bell::Flag(Arc::default()));
        let outputs = Outputs::of(output::sink(None, tap), journal, String::new());
        let mut options = choices.of_node(NodeId(0))?;
        let seeds = Seeds::of(None, host)?;
        let engine = components::engine(program.clone(), &mut options, seeds, outputs)?;
        Ok((engine, Has { components: true, entry: *has_entry, ..has }))
    }

    /// Starts the instance of a worker.
    pub(super) fn start(
        &self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        chosen: (u64, Option<CaptureTime>),
    ) -> Result<(), Error> {
        let fanout = self.parts[machine.share.me as usize].clone();
        let (graph, options) = (self.graph.clone(), self.options);
        packets::start(machine, events, graph, options, chosen, fanout)
    }
}

type Open = (Machine, Loop<Machine>, nodes::Opened, Remote<Machine>);

/// Makes the machine of a worker, and opens the ports of its nodes.
fn open(
    common: &Common,
    share: Share,
    (console, first): (Console, Remote<Machine>),
) -> Result<Open, Error> {
    let host = Os::new().map_err(no_worker)?;
    let (captures, time) = match &common.work {
        Work::Flows(flows) => (flows.captures, flows.time.clone()),
        Work::Nodes(_) => (None, None),
    };
    let time = time.map(|time| (time, share.me));
    let mut events = Loop::new(Box::new(in_time_of(captures, time, host)));
    let remote = events.remote().map_err(no_worker)?;
    let journal = SharedJournal::new(Journal::new(console));
    let (engine, has) = match &common.work {
        Work::Nodes(nodes) => (components::idle(events.host())?, nodes.has),
        Work::Flows(flows) => flows.engine(&journal, events.host())?,
    };
    let mut machine = Machine::new(engine, journal, common.registry.clone(), has);
    machine.meters = Meters::new(common.registry.clone(), share.me);
    let server = Server::new(&common.registry, common.options.token.clone());
    machine.control = Some(server.numbered_from(u64::from(share.me) * ASKERS));
    (machine.share, machine.crew) = (share, Some(Crew::new(vec![first])));
    let seed = (common.seed, common.stop.as_ref());
    let opened = match &common.work {
        Work::Nodes(work) => {
            // The first worker finds out that output cannot be written.
            let tap = {
                let journal = machine.journal.clone();
                move || Tap::new(journal.clone(), Bell::Flag(Arc::default()))
            };
            let maker = work.engines.clone().map(|engines| engines.maker((None, None), tap));
            machine.maker = maker.map(Rc::new);
            Machine::follow(&mut events);
            nodes::open(&mut machine, &mut events, work.rules.clone(), &common.options, seed)?
        }
        Work::Flows(flows) => {
            let (borders, registry) = (&flows.borders, &common.registry);
            machine.node.join_instance(borders, share.me, registry, events.host())?;
            nodes::Opened::default()
        }
    };
    Ok((machine, events, opened, remote))
}
