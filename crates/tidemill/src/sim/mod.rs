//! Simulation: many nodes of a program in one process and in virtual time, under faults.
//!
//! It is the production code on another host. Node `i` has the address `n<i>:1`; all of them
//! start at 0 s. Time passes only where nothing is left to do, and whatever is random follows
//! from one seed, so the same program, options and seed give the same bytes on every machine.
//!
//! ```text
//! Simulation::new ─ script ─ run ──> watch lines ... summary
//!                    │       │
//!              cues as timers┘   [life]   crash, restart, churn
//!                                [roll]   the table `sim::node`
//!                                [stage]  what cues do
//!                                [vigil]  when nothing is left but leases
//! ```
//! The first tuple of a relation `violation`, and the first expectation of the script that does
//! not hold, end the run.

mod life;
mod roll;
mod stage;
mod vigil;

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidemill_diag::{Diagnostic, Sources};
use tidemill_event::{Conditions, Loop, Outcome, Sim, Time};
use tidemill_overlog::fleet::{self, Extra, Fleet, NodeId, Seal, World};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Crossing, Identity, Program, Stages};
use tidemill_overlog::program::{Compiled, Watch};
use tidemill_overlog::stage::Registry;
use tidemill_relation::TupleBuf;
use tidemill_relation::plan::RelationId;

use crate::borders::files::{Existing, Place};
use crate::borders::sinks::{SinkBorder, Sinks, sinks_of};
use crate::components::system::confined::Root;
use crate::console::{Console, Form};
use crate::ended::Ended;
use crate::journal::{Journal, SharedJournal};
use crate::script::{Cue, Script, bind};
use crate::summary::Summary;
use roll::Roll;
use vigil::Vigil;

/// How a program is simulated.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// How many nodes.
    pub nodes: u32,
    /// What all chance follows from.
    pub seed: u64,
    /// When the run ends, nanoseconds; `None`: when nothing is left to do.
    pub end_ns: Option<u64>,
    /// The least and most time that a datagram takes.
    pub latency: (Duration, Duration),
    /// The probability that a datagram is lost.
    pub loss: f64,
    /// The probability that a datagram arrives twice.
    pub duplicate: f64,
    /// The probability that a datagram is held back behind later ones.
    pub reorder: f64,
    /// The mean life of a node but the first, nanoseconds; `None`: nodes live for ever.
    pub churn_ns: Option<u64>,
    /// How datagrams are sealed, if they are.
    pub seal: Option<Seal>,
    /// Print every stage of every tuple.
    pub trace: bool,
    /// What `LANDMARK` is, if not the address of the first node.
    pub landmark: Option<String>,
    /// Tuples for the nodes where they are located, after the facts of the program.
    pub extra: Vec<Extra>,
    /// The operators that the program was loaded with.
    pub operators: Arc<Registry>,
    /// See [`Node::limit_turns`](tidemill_overlog::node::Node::limit_turns); a turn that derives
    /// more is given up.
    pub turn_tuples_max: Option<u64>,
    /// The folder that files lie below; `None`: the current one.
    pub root: Option<PathBuf>,
    /// The run ends soon after this becomes true, whatever it does: for signals.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions {
            nodes: 1,
            seed: 1,
            end_ns: None,
            latency: (Duration::from_millis(10), Duration::from_millis(50)),
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            churn_ns: None,
            seal: None,
            trace: false,
            landmark: None,
            extra: Vec::new(),
            operators: Arc::default(),
            turn_tuples_max: None,
            root: None,
            stop: None,
        }
    }
}

/// A program and how it is simulated; see the module.
#[derive(Debug)]
pub struct Simulation {
    program: Program,
    sinks: Vec<SinkBorder>,
    options: SimOptions,
    identities: Vec<Identity>,
    cues: Vec<Cue>,
}

impl Simulation {
    /// Prepares a simulation.
    ///
    /// # Errors
    /// Relations of the program whose messages would have one name, as text.
    pub fn new(mut program: Compiled, options: SimOptions) -> Result<Simulation, String> {
        if options.trace {
            let all = (0..).map(RelationId).zip(&program.plan.relations);
            let visible = all.filter(|(_, relation)| !relation.hidden);
            let watch = |(relation, _)| Watch { relation, stages: Stages::ALL };
            program.watches = visible.map(watch).collect();
        }
        let address = |index: u32| format!("n{index}:1");
        let landmark = options.landmark.clone().unwrap_or_else(|| address(0));
        let identity = |index| Identity {
            address: address(index),
            index,
            count: options.nodes,
            landmark: landmark.clone(),
        };
        let identities = (0..options.nodes).map(identity).collect();
        let sinks = sinks_of(&program)?;
        let mut program = Program::with_operators(program, options.operators.clone())?;
        sinks.iter().for_each(|sink| program.cross(sink.relation));
        Ok(Simulation { program, sinks, options, identities, cues: Vec::new() })
    }

    /// Adds what a script does; says what in it does not fit the program and its nodes.
    pub fn script(&mut self, script: &Script, sources: &Sources) -> Vec<Diagnostic> {
        let plan = self.program.plan();
        let (cues, mut diagnostics) = bind(script, sources, plan, &self.identities);
        self.cues.extend(cues);
        let end = self.options.end_ns.unwrap_or(u64::MAX);
        let late = script.actions.iter().filter(|action| action.when.first() > end);
        diagnostics.extend(late.map(|action| {
            let message = "this never happens: the run ends before";
            Diagnostic::warning("script-late", action.span, message)
        }));
        diagnostics
    }

    /// Runs it; the summary is the last line written.
    ///
    /// # Errors
    /// What keeps the loop from running at all.
    pub fn run(self, console: Console) -> io::Result<Ended> {
        let (end, seed) = (self.options.end_ns, self.options.seed);
        let stop = self.options.stop.clone();
        let (mut world, mut events) = self.set_up(console)?;
        let outcome = match end {
            Some(end) => events.run_until(&mut world, Time(end)),
            None => events.run(&mut world),
        };
        // Relaxed: a wish, which nothing else is published with.
        let is_told = stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let interrupted = is_told && matches!(outcome, Outcome::Stopped);
        if let Outcome::Failed(error) = outcome {
            return Err(error);
        }
        let ended = world.finish(&mut events, seed, interrupted);
        if interrupted {
            // To free what a large run holds may take longer than its user should wait.
            std::mem::forget((world, events));
        }
        Ok(ended)
    }

    fn set_up(self, console: Console) -> io::Result<(SimWorld, Loop<SimWorld>)> {
        let Simulation { program, sinks, options, identities, cues } = self;
        let host = Sim::new(options.seed).with_conditions(Conditions {
            latency: options.latency.0..=options.latency.1,
            loss: options.loss,
            duplicate: options.duplicate,
            reorder: options.reorder,
            ..Conditions::default()
        });
        let mut events = Loop::new(Box::new(host));
        let journal = SharedJournal::new(Journal::new(console));
        let observer = Box::new(journal.clone());
        let roll = Roll::new(program.plan());
        // Where no view is shipped there are no leases, and the loop knows when all is done.
        let vigil = (options.end_ns.is_none() && !program.compiled.exports.is_empty())
            .then(|| Vigil::new(&mut events));
        let mut fleet = Fleet::new(Arc::new(program), Fabric::Udp, options.seed, observer);
        options.extra.into_iter().for_each(|extra| fleet.add_extra(extra));
        options.turn_tuples_max.into_iter().for_each(|most| fleet.limit_turns(most));
        options.seal.into_iter().for_each(|seal| fleet.seal_with(seal));
        if let Some(stop) = options.stop {
            events.stop_when(stop.clone());
            fleet.interrupt_by(stop);
        }
        let sinks = open_sinks(&sinks, options.root.as_deref(), &journal)?;
        let mut world = SimWorld { fleet, journal, sinks, roll, vigil, retired: 0 };
        // Before the nodes: what a script does at a time comes before what else happens then.
        cues.into_iter().for_each(|cue| stage::set(&mut events, Rc::new(cue)));
        if let Some(roll) = world.roll {
            let rows = identities.iter().map(|identity| (identity.address.clone(), true));
            world.fleet.open_with(roll::opening(roll, rows));
        }
        for identity in identities {
            let endpoint = events.host().bind(&identity.address)?;
            fleet::start(&mut world, &mut events, endpoint, identity)?;
        }
        if let Some(mean_ns) = options.churn_ns {
            life::churn(&world, &mut events, mean_ns, options.seed);
        }
        Ok((world, events))
    }
}

/// Opens the files that rules write. What is there is replaced, so that a simulation repeats.
fn open_sinks(
    checked: &[SinkBorder],
    root: Option<&Path>,
    journal: &SharedJournal,
) -> io::Result<Sinks> {
    let mut sinks = Sinks::new(checked, &tidemill_stat::Registry::in_memory());
    if !sinks.is_empty() {
        let root = Root::open_folder(root).map_err(io::Error::other)?;
        note(journal, &sinks.open(&Place { root, existing: Existing::Replaced }, 0));
    }
    Ok(sinks)
}

fn note(journal: &SharedJournal, faults: &[String]) {
    faults.iter().for_each(|fault| journal.get_mut().console.note(fault));
}

/// What the loop of a simulation works on.
struct SimWorld {
    fleet: Fleet,
    journal: SharedJournal,
    /// The files that rules write: of all nodes, as each line has its node.
    sinks: Sinks,
    roll: Option<Roll>,
    /// In a run that ends when nothing is left to do.
    vigil: Option<Vigil>,
    /// Turns of lives that have ended.
    retired: u64,
}

impl World for SimWorld {
    fn fleet(&mut self) -> &mut Fleet {
        &mut self.fleet
    }

    fn crossed(&mut self, events: &mut Loop<SimWorld>, _: NodeId, tuples: &TupleBuf<Crossing>) {
        if !self.sinks.is_empty() {
            let faults = self.sinks.take(events.wall(), tuples);
            note(&self.journal, &faults);
        }
    }

    fn turned(&mut self, events: &mut Loop<SimWorld>) {
        vigil::restart(self, events);
        if self.journal.get().is_over() {
            events.stop();
        }
    }
}

impl SimWorld {
    fn is_alive(&self, node: u32) -> bool {
        self.fleet.node(NodeId(node)).is_some()
    }

    /// Writes the summary and says how it ended.
    fn finish(&mut self, events: &mut Loop<SimWorld>, seed: u64, interrupted: bool) -> Ended {
        note(&self.journal, &self.sinks.finish());
        let problems: Vec<String> = self.sinks.problems().collect();
        note(&self.journal, &problems);
        let mut summary = Summary::of(&self.fleet, events);
        summary.turns += self.retired;
        summary.seed = Some(seed);
        summary.interrupted = interrupted;
        let mut journal = self.journal.get_mut();
        summary.violations = journal.violations;
        summary.given_up = journal.given_up;
        summary.expectations_met = journal.expectations_met;
        summary.expectations_failed = journal.expectations_failed;
        match journal.console.form() {
            Form::Text => journal.console.line(&summary),
            Form::Json => journal.console.line(summary.json()),
        }
        journal.console.flush();
        Ended { summary, problems, failure: journal.console.take_failure() }
    }
}
