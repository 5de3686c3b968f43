//! A model checker: explores every run of a program of rules, within bounds, to find one that
//! fails.
//!
//! ```text
//! Explorer::new ── script ── run ──> report, counterexample
//!      │
//!   [fit] what cannot be explored, and what makes a search less than complete
//!
//!   [turns]   turns of a node on the engine that is deployed, each run once
//!   [events]  events and tuples by number
//!   [found]   what turns do wrong
//!   [properties] what is wrong with all nodes together: rules at `@SIM`
//!   [locals]  states of a node: tables, inbox, timers
//!   [steps]   states of all nodes and the network; the steps from one
//!   [seen]    hashes of the states that were found
//!   [search]  breadth first or depth first; the path to a failure
//!   [cause]   what of a path its failure follows from
//!   [counterexample], [report]  what is printed
//!   [replay], [repeat]  the path as a script for a simulation, and whether that fails
//! ```
//! A turn is a function of a node's state and an event, so it is run once for each pair, and the
//! rest of the search handles numbers. **Invariant:** a search reports that it is complete only if
//! it has covered every run within its bounds; what cannot be treated exactly is refused, or named
//! as a reason.
//!
//! The order of rows is not part of a state, as in most programs nothing depends on it. Where
//! something may have depended on it, which is detected as turns are run (see
//! [`Turned::is_ordered`](tidemill_overlog::node::Turned)), the search restarts with the order
//! included.
//!
//! *Reduction*: the turn of an event that puts nothing into the inbox commutes with all else, so it
//! is taken at once, alone: nothing that can happen before it changes it, or is changed by it, as
//! new events go to the end of the inbox. Such turns shorten inboxes, so no step is postponed for
//! ever (ample sets: Peled, "All from one, one for all", 1993). A change of a row that starts no
//! strand does not get into an inbox. A turn after which rules at `@SIM` see other rows of its node
//! is never taken at once: these rules observe the nodes between any two turns, and would miss the
//! state before this turn and after others.

mod cause;
mod counterexample;
mod events;
mod fit;
mod found;
mod locals;
mod options;
mod properties;
mod repeat;
mod replay;
mod report;
mod search;
mod seen;
mod steps;
mod turns;

use std::sync::Arc;

use tidemill_diag::{Diagnostic, Sources};
use tidemill_overlog::node::{Event, Identity, Program as Rules};
use tidemill_relation::SeqBuilder;

use crate::cost;
use crate::error::Error;
use crate::identities::identities;
use crate::program::Program;
use crate::script::{Cue, CueAction, Script, bind};

use fit::Traits;
use locals::Locals;
use properties::{Properties, PropertyRules};
use search::{Cut, Search, Searched};
use steps::{Action, Effect, GROUP_MAX, Steps};
use turns::Turns;

pub use counterexample::{Counterexample, Happened};
pub use options::ExploreOptions;
pub use repeat::seed_that_fails;
pub use report::ExploreReport;

/// A search through the runs of a program.
pub struct Explorer {
    rules: Arc<Rules>,
    properties: Option<PropertyRules>,
    options: ExploreOptions,
    identities: Vec<Identity>,
    traits: Traits,
    cues: Vec<Cue>,
}

impl Explorer {
    /// Prepares a search.
    ///
    /// # Errors
    /// The program cannot be explored.
    pub fn new(program: Program, options: ExploreOptions) -> Result<Explorer, Error> {
        if let Some(refusal) = fit::refusal(&program) {
            return Err(Error::Program(refusal));
        }
        let mut compiled =
            program.rules.program.ok_or_else(|| Error::program("the program has errors"))?;
        let traits = fit::traits(&compiled);
        let global = compiled.global.take();
        let properties = global.map(|global| PropertyRules::new(*global)).transpose();
        let properties = properties.map_err(Error::program)?.flatten();
        let rules = Rules::new(compiled).map_err(Error::program)?;
        let identities = identities(options.nodes, options.landmark.as_deref());
        let rules = Arc::new(rules);
        Ok(Explorer { rules, properties, options, identities, traits, cues: Vec::new() })
    }

    /// Adds the actions of a script; returns diagnostics for those that do not fit the program and
    /// its nodes, or cannot be explored.
    pub fn script(&mut self, script: &Script, sources: &Sources) -> Vec<Diagnostic> {
        // A search has rules only.
        let nothing = |_| None;
        let program = (self.rules.plan(), &nothing as &dyn Fn(_) -> _);
        let (cues, mut found) = bind(script, sources, program, &self.identities);
        let refused = script.actions.iter().filter(|action| !is_explored(&action.what));
        found.extend(refused.map(|action| {
            let message = "a search knows no such action: it knows inject, fact, crash and end";
            Diagnostic::error("script-explore", action.span, message)
        }));
        self.cues.extend(cues);
        found
    }

    /// Searches.
    ///
    /// # Errors
    /// The script has too many actions at one time.
    pub fn run(&self) -> Result<ExploreReport, Error> {
        let traits = &self.traits;
        let began = cost::cpu_time();
        let mut found = self.search(traits)?;
        if found.is_none() {
            let ordered = Traits { is_ordered: true, ..traits.clone() };
            found = self.search(&ordered)?;
        }
        let found =
            found.ok_or_else(|| Error::program("the order of rows is needed, and is there"))?;
        let cpu = cost::cpu_time().saturating_sub(began);
        Ok(ExploreReport { cpu, peak_bytes: cost::peak_bytes(), ..found })
    }

    /// Searches; `None` if the order of rows is needed and was left out.
    fn search(&self, traits: &Traits) -> Result<Option<ExploreReport>, Error> {
        let (rules, identities) = (self.rules.clone(), self.identities.clone());
        let kind = (traits.is_ordered, traits.uses_symbols);
        let properties = self.properties.clone();
        let properties = properties.map(|properties| Properties::new(properties, &identities));
        let mut turns = Turns::new(rules, identities, properties, &self.options, kind);
        let script = actions(&self.cues, &mut turns).map_err(Error::Options)?;
        let locals = Locals::new(turns, traits, &self.options);
        let mut steps = Steps::new(locals, script, &self.options);
        let searched = Search::new(&mut steps, &self.options).run();
        if steps.locals.turns.needs_order {
            return Ok(None);
        }
        let (turns, node_states) = (steps.locals.turns.ran, steps.locals.count() as u64);
        let Searched { steps: taken, distinct, depth, cut, failed } = searched;
        let counterexample = failed.map(|path| {
            let cause = cause::cause(&mut steps, path);
            let script = replay::replay(&steps, &cause);
            Counterexample { script, ..counterexample::describe(&mut steps, &cause) }
        });
        let missed = cut.iter().map(|cut| match cut {
            Cut::Depth => format!("runs of more than {depth} steps were not looked at"),
            Cut::Memory => "the memory was used up".to_owned(),
            Cut::Interrupted => "it was interrupted".to_owned(),
            Cut::Count => "there are too many states".to_owned(),
        });
        Ok(Some(ExploreReport {
            steps: taken,
            distinct,
            depth,
            turns,
            node_states,
            is_ordered: traits.is_ordered,
            bounds: self.bounds(),
            missed: missed.chain(traits.reasons.iter().cloned()).collect(),
            ignored: traits.ignored.clone(),
            collision: seen::collision_probability(distinct as usize),
            counterexample,
            interrupted: cut == Some(Cut::Interrupted),
            ..ExploreReport::default()
        }))
    }

    /// The bounds of runs, as text.
    fn bounds(&self) -> String {
        let ExploreOptions { drops, duplicates, crashes, timers, atomic_chains, .. } = self.options;
        let mut bounds = format!(
            "at most {drops} drops, {duplicates} duplicates, {crashes} crashes and {timers} timers"
        );
        if atomic_chains {
            bounds += ", where a node works off all that follows from a message at once";
        }
        bounds
    }
}

fn is_explored(what: &crate::script::ActionKind) -> bool {
    use crate::script::ActionKind;
    matches!(
        what,
        ActionKind::Put(..) | ActionKind::Crash(_) | ActionKind::Restart(_) | ActionKind::End
    )
}

/// The actions of a script, in groups of equal time. Times only order them; a node that crashes
/// restarts at once.
fn actions(cues: &[Cue], turns: &mut Turns) -> Result<Vec<Action>, String> {
    let mut timed: Vec<(u64, u32, Effect)> = Vec::new();
    let end =
        cues.iter().filter(|cue| cue.action == CueAction::End).map(|cue| cue.when.first()).min();
    for cue in cues {
        for at in cue.when.times().take_while(|at| end.is_none_or(|end| *at <= end)) {
            match &cue.action {
                CueAction::Put(tuples) => {
                    timed.extend(tuples.iter().map(|(node, relation, columns)| {
                        let row: SeqBuilder = columns.iter().map(|value| value.get()).collect();
                        let (delete, received) = (false, false);
                        let event = Event::Tuple { relation: *relation, row, delete, received };
                        (at, *node, Effect::Give(turns.events.number(event, None)))
                    }))
                }
                CueAction::Crash(nodes) => {
                    timed.extend(nodes.iter().map(|node| (at, *node, Effect::Crash)))
                }
                _ => {}
            }
        }
    }
    timed.sort_by_key(|(at, ..)| *at);
    let mut actions: Vec<Action> = Vec::with_capacity(timed.len());
    let (mut group, mut size, mut last) = (0, 0, None);
    for (at, node, effect) in timed {
        if last.replace(at).is_some_and(|last| last != at) {
            (group, size) = (group + 1, 0);
        }
        size += 1;
        if size > GROUP_MAX {
            return Err(format!("a script does at most {GROUP_MAX} things at one time here"));
        }
        actions.push(Action { group, node, effect });
    }
    Ok(actions)
}
