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
//!                                [devices] what stands for devices of the system
//!                                [stage]  what cues do
//!                                [vigil]  when nothing is left but leases
//!                                [end]    the summary
//! ```
//! A node has all parts of the program, with state of its own. Without an end and a script, the run
//! ends when the main parts of all nodes have ended (see [`run`](crate::run)), or nothing is left
//! to do.
//!
//! The first tuple of a relation `violation`, and the first expectation of the script that does
//! not hold, end the run.

mod devices;
mod end;
mod life;
mod roll;
mod stage;
mod vigil;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidemill_diag::{Diagnostic, Sources};
use tidemill_event::{Conditions, Loop, Outcome, Sim, Time, machine_ns};
use tidemill_overlog::fleet::{Extra, Fleet, Seal};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Identity, Observer, Program as Rules, Stages};
use tidemill_overlog::program::{Compiled as OfRules, Watch};
use tidemill_packet::engine::CaptureTime;
use tidemill_relation::plan::RelationId;
use tidemill_stat::Registry;
use tidemill_stdx::sorted::SortedMap;

use crate::borders;
use crate::borders::files::Existing;
use crate::borders::sinks::Sinks;
use crate::components::output::{Bell, Named, Tap};
use crate::console::Console;
use crate::devices::SimDevice;
use crate::journal::{Journal, SharedJournal};
use crate::machine::parts::{Choices, Compiled, Has, Maker, Parts};
use crate::machine::simulated::Simulated;
use crate::machine::{Machine, components, nodes};
use crate::profile::Profile;
use crate::program::Program;
use crate::run::{ComponentOptions, Engine, EngineKind, Report, first_ns};
use crate::script::{Cue, Script, bind};
use crate::switch::Plug;

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
    /// What runs components.
    pub components: Engine,
    /// The most bytes that the components of a node may use.
    pub memory_max: Option<u64>,
    /// What runs packet graphs.
    pub packets: EngineKind,
    /// See [`Node::limit_turns`](tidemill_overlog::node::Node::limit_turns); a turn that derives
    /// more is given up.
    pub turn_tuples_max: Option<u64>,
    /// Whether it is measured what rules cost, by the clock of the machine, for
    /// [`Report::profile`]. Nothing that the program sees follows from it.
    pub profile: bool,
    /// What stands for the devices of the system that its packet graph names.
    pub devices: SortedMap<String, SimDevice>,
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
            components: Engine::default(),
            memory_max: None,
            packets: EngineKind::default(),
            turn_tuples_max: None,
            profile: false,
            devices: SortedMap::new(),
            root: None,
            stop: None,
        }
    }
}

/// A program and how it is simulated; see the module.
pub struct Simulation {
    rules: Rules,
    parts: Parts,
    has: Has,
    options: SimOptions,
    identities: Vec<Identity>,
    plugs: Vec<Plug>,
    cues: Vec<Cue>,
}

impl Program {
    /// Simulates it; see [the module](self).
    ///
    /// # Errors
    /// What keeps it from running at all, as text.
    pub fn sim(self, options: SimOptions, console: Console) -> Result<Report, String> {
        Simulation::new(self, options)?.run(console)
    }
}

impl Simulation {
    /// Prepares a simulation.
    ///
    /// # Errors
    /// The program has errors, or relations whose messages would have one name; as text.
    pub fn new(mut program: Program, options: SimOptions) -> Result<Simulation, String> {
        if let Some(rules) = program.rules.program.as_mut().filter(|_| options.trace) {
            let all = (0..).map(RelationId).zip(&rules.plan.relations);
            let visible = all.filter(|(_, relation)| !relation.hidden);
            let watch = |(relation, _)| Watch { relation, stages: Stages::ALL };
            rules.watches = visible.map(watch).collect();
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
        let mut components =
            ComponentOptions { engine: options.components, ..ComponentOptions::default() };
        let mut compiled = Compiled::new(program, &mut components, true)?;
        let plugs = devices::replace(&mut compiled.parts.graph, &options.devices)?;
        let has = compiled.has();
        let idle = || Rules::new(OfRules::default());
        let rules = compiled.rules.map_or_else(idle, Ok)?;
        let (parts, cues) = (compiled.parts, Vec::new());
        Ok(Simulation { rules, parts, has, options, identities, plugs, cues })
    }

    /// Adds what a script does; says what in it does not fit the program and its nodes.
    pub fn script(&mut self, script: &Script, sources: &Sources) -> Vec<Diagnostic> {
        let plan = self.rules.plan();
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

    /// Runs it; the summary is the last line written, but for one node that has components and no
    /// rules: that writes what its components write.
    ///
    /// # Errors
    /// What keeps the loop from running at all.
    pub fn run(self, console: Console) -> Result<Report, String> {
        let (end, seed) = (self.options.end_ns, self.options.seed);
        let is_plain = self.has.components && !self.has.nodes && self.options.nodes == 1;
        let (stop, profile) = (self.options.stop.clone(), self.options.profile);
        let (mut machine, mut events) = self.set_up(console)?;
        let outcome = match end {
            Some(end) => events.run_until(&mut machine, Time(end)),
            None => events.run(&mut machine),
        };
        // Relaxed: a wish, which nothing else is published with.
        let is_told = stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let has_failed = machine.journal.get().console.has_failed();
        let interrupted = is_told && !has_failed && matches!(outcome, Outcome::Stopped);
        if let Outcome::Failed(error) = outcome {
            return Err(format!("the simulation cannot run: {error}"));
        }
        let profile = profile.then(|| Profile::of(&machine.fleet));
        let mut report = Report { is_plain, profile, ..Report::default() };
        end::finish(&mut machine, &mut events, (seed, interrupted), &mut report);
        if interrupted {
            // To free what a large run holds may take longer than its user should wait.
            std::mem::forget((machine, events));
        }
        Ok(report)
    }

    fn set_up(self, console: Console) -> Result<(Machine, Loop<Machine>), String> {
        let Simulation { rules, parts, has, mut options, identities, plugs, cues } = self;
        let host = Sim::new(options.seed).with_conditions(Conditions {
            latency: options.latency.0..=options.latency.1,
            loss: options.loss,
            duplicate: options.duplicate,
            reorder: options.reorder,
            ..Conditions::default()
        });
        let mut events = Loop::new(Box::new(host));
        let journal = SharedJournal::new(Journal::new(console));
        let engine = components::idle(events.host())?;
        let mut machine = Machine::new(engine, journal.clone(), Registry::keeping("border/"), has)?;
        let stop = options.stop.clone().unwrap_or_default();
        events.stop_when(stop.clone());
        machine.fleet = fleet(rules, &mut options, &stop, Box::new(journal));
        machine.sinks = Sinks::new(&parts.borders.sinks, &machine.registry);
        let root = options.root.clone();
        if has.components || has.packets {
            Machine::follow(&mut events);
            machine.maker = Some(Rc::new(maker(parts, &options, &machine, stop)));
        }
        // Where no view is shipped there are no leases, and the loop knows when all is done.
        let has_leases = !machine.fleet.program().compiled.exports.is_empty();
        let vigil = (options.end_ns.is_none() && has_leases).then(|| vigil::keep(&mut events));
        let roll = roll::table(machine.fleet.program().plan());
        let lasts = options.end_ns.is_some() || !cues.is_empty();
        let addresses = identities.iter().map(|identity| identity.address.as_str());
        let switches = devices::switches(&plugs, addresses);
        machine.sim = Some(Simulated { roll, vigil, lasts, retired: 0, plugs, switches });
        // Before the nodes: what a script does at a time comes before what else happens then.
        cues.into_iter().for_each(|cue| stage::set(&mut events, Rc::new(cue)));
        if let Some(roll) = roll {
            let rows = identities.iter().map(|identity| (identity.address.clone(), true));
            machine.fleet.open_with(roll::opening(roll, rows));
        }
        for identity in identities {
            let bound = events.host().bind(&identity.address);
            let endpoint = bound.map_err(|error| format!("{}: {error}", identity.address))?;
            let node = nodes::start_one(&mut machine, &mut events, endpoint, identity)?;
            nodes::begin(&mut machine, &mut events, node)?;
        }
        borders::open_files(&mut machine, &mut events, root.as_deref(), Existing::Replaced)?;
        if let Some(mean_ns) = options.churn_ns {
            life::churn(&machine, &mut events, mean_ns, options.seed);
        }
        Ok((machine, events))
    }
}

/// Nodes of rules that are not started.
fn fleet(
    rules: Rules,
    options: &mut SimOptions,
    stop: &Arc<AtomicBool>,
    observer: Box<dyn Observer>,
) -> Fleet {
    let mut fleet = Fleet::new(Arc::new(rules), Fabric::Udp, options.seed, observer);
    options.extra.drain(..).for_each(|extra| fleet.add_extra(extra));
    options.turn_tuples_max.into_iter().for_each(|most| fleet.limit_turns(most));
    options.seal.take().into_iter().for_each(|seal| fleet.seal_with(seal));
    fleet.interrupt_by(stop.clone());
    if options.profile {
        fleet.measure(machine_ns);
    }
    fleet
}

/// What makes the other engines of nodes.
fn maker(parts: Parts, options: &SimOptions, machine: &Machine, stop: Arc<AtomicBool>) -> Maker {
    let first_ns = parts.graph.as_ref().and_then(first_ns);
    let (journal, are_several) = (machine.journal.clone(), options.nodes > 1);
    Maker {
        parts,
        components: Choices {
            memory_max: options.memory_max,
            root: options.root.clone(),
            are_several,
            ..Choices::default()
        },
        engine: options.packets,
        seed: Some(options.seed),
        captures: first_ns.map(|wall_ns| CaptureTime { wall_ns, loop_ns: 0 }),
        registry: machine.registry.clone(),
        output: Rc::new(move |name| {
            let tap = Tap::new(journal.clone(), Bell::Flag(stop.clone()));
            match are_several {
                true => Box::new(Named::new(name, tap)),
                false => Box::new(tap),
            }
        }),
        names: are_several,
        existing: Existing::Replaced,
        disks: Some(RefCell::default()),
    }
}
