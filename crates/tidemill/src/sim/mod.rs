//! Simulation: many nodes of a program in one process and in virtual time, under faults.
//!
//! It is the production code on another host. Node `i` has the address `n<i>:1`; all of them start
//! at 0 s. Time advances only when nothing is left to do, and all random numbers follow from one
//! seed, so the same program, options and seed give the same bytes on every machine.
//!
//! ```text
//! Simulation::new ─ script ─ run ──> watch lines ... summary
//!                    │       │
//!              cues as timers┘   [setup]  a machine with all nodes, or with some of them
//!                                [workers] several machines, each with some of the nodes
//!                                [barrier] where they wait for each other
//!                                [alone]  why there is one machine only
//!                                [life]   crash, restart, churn
//!                                [kills]  faults of components and apps
//!                                [random_times] when both happen
//!                                [roll]   the table `sim::node`
//!                                [devices] replacements of system devices
//!                                [common] what all machines have alike
//!                                [drawn]  faults that the seed draws, as cues
//!                                [stage]  what cues do
//!                                [recording] a run as cues
//!                                [fault_options] how likely and strong faults are
//!                                [phase]  other random numbers and faults from a time on
//!                                [messages] what they do to single datagrams
//!                                [sampling] when rules first do something
//!                                [settle] when faults end, and what must be gone then
//!                                [vigil]  when nothing is left but leases
//!                                [end]    the summary
//! ```
//! If the program has rules only, output of several nodes at one time is written in the order of
//! their numbers. So it does not matter which worker runs which: with several
//! [workers](SimOptions::workers) a run writes the same bytes.
//!
//! A node has all parts of the program, with state of its own. Without an end and a script, the run
//! ends when the main parts of all nodes have ended (see [`run`](crate::run)), or nothing is left
//! to do.
//!
//! The first tuple of a relation `violation`, and the first expectation of the script that does not
//! hold, end the run: later events of that time still happen, and are not written.

mod alone;
mod barrier;
mod common;
mod devices;
mod drawn;
mod end;
mod fault_options;
mod kills;
mod life;
mod messages;
mod options;
mod phase;
mod random_times;
mod recording;
mod roll;
mod sampling;
mod settle;
mod setup;
mod stage;
mod vigil;
mod workers;

use std::sync::{Arc, PoisonError};

use tidemill_diag::{Diagnostic, Sources};
use tidemill_overlog::node::{Identity, Program as Rules, Stages};
use tidemill_overlog::program::Watch;
use tidemill_relation::plan::RelationId;
use tidemill_wire::SchemaError;

use crate::console::Console;
use crate::error::Error;
use crate::identities::identities;
use crate::machine::components::Making;
use crate::machine::parts::{Compiled, Has, Parts};
use crate::machine::share::Share;
use crate::program::Program;
use crate::properties::PropertyRules;
use crate::run::{self, ComponentOptions, Engine, Report};
use crate::script::{Cue, Script, bind, lines};
use crate::switch::Plug;
use crate::unsettled;
use crate::why::Explanation;

use common::{Common, Recording};
use setup::Setup;

pub(crate) use phase::{PhaseWords, write_seeded};
pub(crate) use recording::Messages;

pub use crate::identities::number as node_number;
pub use crate::unsettled::Settle;
pub use fault_options::FaultOptions;
pub use options::SimOptions;
pub use phase::{Phase, PhaseError, PhaseReason};

/// A program with its simulation options; see the module. Clones share the compiled program.
#[derive(Clone)]
pub struct Simulation {
    rules: Arc<Rules>,
    properties: Option<Arc<PropertyRules>>,
    parts: Parts,
    has: Has,
    options: SimOptions,
    identities: Arc<[Identity]>,
    plugs: Vec<Plug>,
    cues: Arc<[Cue]>,
}

impl Program {
    /// Simulates the program; see [the module](self).
    ///
    /// # Errors
    /// Why it cannot run at all.
    pub fn sim(self, options: SimOptions, console: Console) -> Result<Report, Error> {
        Simulation::new(self, options)?.run(console)
    }
}

impl Simulation {
    /// Prepares a simulation.
    ///
    /// # Errors
    /// The program has errors, or relations whose messages would have one name; or a device to be
    /// replaced does not exist.
    pub fn new(mut program: Program, options: SimOptions) -> Result<Simulation, Error> {
        if let Some(rules) = program.rules.program.as_mut().filter(|_| options.trace) {
            let all = (0..).map(RelationId).zip(&rules.plan.relations);
            let visible = all.filter(|(_, relation)| !relation.hidden);
            let watch = |(relation, _)| Watch { relation, stages: Stages::ALL };
            rules.watches = visible.map(watch).collect();
        }
        let identities = identities(options.nodes, options.landmark.as_deref());
        let mut components =
            ComponentOptions { engine: options.components, ..ComponentOptions::default() };
        let making = Making::new(&program, &mut components, true);
        let mut compiled = Compiled::new(program, &making, components.engine)?;
        let plugs = devices::replace(&mut compiled.parts.graph, &options.devices);
        let plugs = plugs.map_err(Error::Options)?;
        let live = compiled.parts.graph.as_ref().and_then(run::live_capture);
        live.map_or(Ok(()), |why| Err(Error::Options(why)))?;
        let has = compiled.has();
        let mut rules = compiled.rules.unwrap_or_else(Rules::idle);
        rules.refuse_pipes();
        let properties = properties(&mut rules, options.components == Engine::Interpreter);
        let properties = properties.map_err(Error::program)?;
        settle::table(&rules).into_iter().for_each(|table| rules.cross(table));
        let rules = Arc::new(rules);
        let (parts, cues): (_, Arc<[Cue]>) = (compiled.parts, Arc::new([]));
        Ok(Simulation { rules, properties, parts, has, options, identities, plugs, cues })
    }

    /// Adds the actions of a script; returns diagnostics for those that do not fit the program and
    /// its nodes.
    pub fn script(&mut self, script: &Script, sources: &Sources) -> Vec<Diagnostic> {
        let filled = |relation| self.parts.borders.fills(relation);
        let program = (self.rules.plan(), &filled as &dyn Fn(_) -> _);
        let (cues, mut diagnostics) = bind(script, sources, program, &self.identities);
        self.cues = self.cues.iter().cloned().chain(cues).collect();
        let ends = self.options.end_ns.into_iter().chain(script.end_ns());
        let end = ends.min().unwrap_or(u64::MAX);
        let late = script.actions.iter().filter(|action| action.when.first() > end);
        diagnostics.extend(late.map(|action| {
            let message = "this never happens: the run ends before";
            Diagnostic::warning("script-late", action.span, message)
        }));
        diagnostics
    }

    /// The same compiled program, with `nodes` nodes and no script.
    pub(crate) fn of_nodes(&self, nodes: u32) -> Simulation {
        let options = SimOptions { nodes, ..self.options.clone() };
        let (identities, cues): (_, Arc<[Cue]>) =
            (identities(options.nodes, options.landmark.as_deref()), Arc::new([]));
        Simulation { options, identities, cues, ..self.clone() }
    }

    /// Its options. To change the number of nodes, use [`Self::of_nodes`].
    pub(crate) fn options_mut(&mut self) -> &mut SimOptions {
        &mut self.options
    }

    /// Its options.
    pub(crate) fn options(&self) -> &SimOptions {
        &self.options
    }

    fn setup(self) -> Setup {
        let Simulation { rules, properties, parts, has, options, identities, plugs, cues } = self;
        let recording = None;
        let common = Common { rules, properties, has, options, identities, cues, recording };
        Setup { common, parts, plugs, share: Share::ALL }
    }

    /// Runs it with one worker; also returns the actions that repeat the run: those of its script,
    /// and those drawn from its seed.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub(crate) fn run_recorded(
        self,
        console: Console,
        which: Messages,
    ) -> Result<(Report, Vec<Cue>), Error> {
        let mut setup = self.setup();
        let recording = Recording::default();
        setup.common.recording = Some(recording.clone());
        let common = setup.common.clone();
        let report = setup.run(console)?;
        let recorded = recording.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed_ns = report.nodes.as_ref().map_or(u64::MAX, |nodes| nodes.elapsed_ns);
        let cues = recording::cues(&common, &recorded, which, elapsed_ns);
        Ok((report, cues))
    }

    /// The same program under these actions, without other faults, on `nodes` nodes.
    pub(crate) fn replay(&self, nodes: u32, seed: u64, cues: Vec<Cue>) -> Simulation {
        let options = SimOptions {
            nodes,
            seed,
            end_ns: self.end_ns(),
            faults: FaultOptions::default(),
            then: Vec::new(),
            ..self.options.clone()
        };
        let identities = identities(options.nodes, options.landmark.as_deref());
        Simulation { options, identities, cues: cues.into(), ..self.clone() }
    }

    /// Its end, by its options or its script.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        settle::end_ns(&self.cues, self.options.end_ns)
    }

    /// The end of faults that are drawn; `None` if they need not end.
    pub fn faults_end_ns(&self) -> Option<u64> {
        settle::faults_end_ns(&self.cues, &self.options)
    }

    /// The names of its rules and their places, by number.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.plan().rules.iter().map(|rule| (rule.name.as_str(), rule.place.as_str()))
    }

    /// The same of its rules at `@SIM`.
    pub(crate) fn global_rules(&self) -> impl Iterator<Item = (&str, &str)> {
        self.properties.iter().flat_map(|properties| properties.rules())
    }

    /// The names of events at nodes.
    pub(crate) fn event_names(&self) -> Vec<String> {
        self.rules.event_names()
    }

    /// An action as lines of a script.
    pub(crate) fn lines_of(&self, cue: &Cue) -> Vec<String> {
        lines(cue, self.rules.plan())
    }

    /// Whether its runs write files that all nodes share.
    pub(crate) fn writes_files(&self) -> bool {
        let mut apps = self.parts.graph.iter().flat_map(|graph| &graph.apps);
        self.parts.borders.have_files() || apps.any(|app| app.kind.exclusive && !app.kind.device)
    }

    /// Runs it again to explain what it did, and why it found a violation. A program that writes
    /// files is not run again, as it would overwrite them.
    ///
    /// # Errors
    /// Why the loop cannot run at all.
    pub fn explain(&self) -> Result<Option<Explanation>, Error> {
        if self.writes_files() {
            return Ok(None);
        }
        self.explained().setup().explain().map(Some)
    }

    /// The same simulation, whose observers see each execution of a rule.
    pub(crate) fn explained(&self) -> Simulation {
        let mut rules = (*self.rules).clone();
        rules.explain();
        let properties = self.properties.as_ref().map(|rules| Arc::new(rules.explained()));
        Simulation { rules: Arc::new(rules), properties, ..self.clone() }
    }

    /// Runs it; the summary is the last line written. A single node with components and no rules
    /// writes the output of its components, and the summary only as JSON.
    ///
    /// With several [workers](SimOptions::workers) it writes the same; if a run needs a single one,
    /// a note gives the reason.
    ///
    /// # Errors
    /// Why the loop cannot run at all.
    pub fn run(self, console: Console) -> Result<Report, Error> {
        let SimOptions { workers, nodes, .. } = self.options;
        let setup = self.setup();
        if workers <= 1 {
            return setup.run(console);
        }
        let Some(reason) = alone::reason(&setup) else {
            return workers::run(setup, workers.min(nodes), console);
        };
        let mut console = console;
        console.note(format_args!("tidemill: one worker only: {reason}"));
        setup.run(console)
    }
}

/// Whether a program can have unsettled rows: its nodes have that table, or rules at `@SIM` derive
/// it.
pub fn can_be_unsettled(program: &Program) -> bool {
    program.rules.program.as_ref().is_some_and(unsettled::is_derived)
}

/// The rules at `@SIM`; nodes report changes of the rows that these read.
fn properties(
    rules: &mut Rules,
    is_interpreted: bool,
) -> Result<Option<Arc<PropertyRules>>, SchemaError> {
    let Some(global) = rules.compiled.global.take() else { return Ok(None) };
    let properties = PropertyRules::new(*global, rules.operators().clone(), is_interpreted)?;
    properties.reads().for_each(|relation| rules.cross(relation));
    Ok(Some(Arc::new(properties)))
}
