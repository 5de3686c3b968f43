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
//!   [row]     states of all nodes and the network
//!   [actions] the script
//!   [steps]   the steps from a state
//!   [symmetry], [orbits], [renaming]  states that differ by a permutation of nodes are one
//!   [digest], [fingerprint]  the set of states, in a form to compare with that of another program
//!   [seen]    hashes of the states that were found
//!   [numbers] equal things have one number, in all threads
//!   [layer]   states that wait
//!   [round], [sharded]  steps by several threads, with the result of one
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

mod actions;
mod cause;
mod counterexample;
mod digest;
mod events;
mod fingerprint;
mod fit;
mod found;
mod layer;
mod locals;
mod numbers;
mod options;
mod orbits;
mod properties;
mod renaming;
mod repeat;
mod replay;
mod report;
mod round;
mod row;
mod search;
mod seen;
mod sharded;
mod steps;
mod symbols;
mod symmetry;
mod turns;

use std::sync::Arc;

use tidemill_diag::{Diagnostic, Sources};
use tidemill_overlog::node::{Identity, Program as Rules};

use crate::cost;
use crate::error::Error;
use crate::identities::identities;
use crate::program::Program;
use crate::script::{Cue, Script, bind};

use actions::actions;
use fit::Traits;
use locals::{Locals, Void};
use properties::{Properties, PropertyRules};
use search::{Cut, Search, Searched};
use steps::Steps;
use symmetry::Symmetry;
use turns::Turns;

pub use counterexample::{Counterexample, Happened};
pub use options::ExploreOptions;
pub use repeat::{Repetition, repeat};
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
            let message =
                "a search knows no such action: it knows inject, fact, delete, crash, end";
            Diagnostic::error("script-explore", action.span, message)
        }));
        self.cues.extend(cues);
        found
    }

    /// Searches.
    ///
    /// # Errors
    /// The script has too many actions at one time, or symmetry is requested where no nodes are
    /// interchangeable.
    pub fn run(&self) -> Result<ExploreReport, Error> {
        let began = cost::cpu_time();
        let mut traits = self.traits.clone();
        let mut treated = if self.options.symmetry { Treated::Alike } else { Treated::Apart };
        let mut asymmetry = None;
        let found = loop {
            match self.search(&traits, treated)? {
                Ended::Well(found) => break *found,
                Ended::NeedsOrder if traits.is_ordered => {
                    return Err(Error::program("the order of rows is needed, and is there"));
                }
                Ended::NeedsOrder => traits.is_ordered = true,
                Ended::Asymmetric(reason) => {
                    asymmetry = reason.or(asymmetry);
                    treated = treated.less();
                }
            }
        };
        let asymmetry = asymmetry.filter(|_| found.interchangeable.is_empty());
        let cpu = cost::cpu_time().saturating_sub(began);
        Ok(ExploreReport { cpu, peak_bytes: cost::peak_bytes(), asymmetry, ..found })
    }

    /// Searches, with some nodes treated as interchangeable.
    fn search(&self, traits: &Traits, treated: Treated) -> Result<Ended, Error> {
        let (rules, identities) = (self.rules.clone(), self.identities.clone());
        let kind = (traits.is_ordered, traits.uses_symbols);
        let properties = self.properties.clone();
        let properties = properties.map(|properties| Properties::new(properties, &identities));
        let mut turns = Turns::new(rules, identities, properties, &self.options, kind);
        let script = actions(&self.cues, &mut turns.events).map_err(Error::Options)?;
        let mut locals = Locals::new(turns, traits, &self.options);
        let symmetry = match treated.fixed(&self.identities) {
            None => None,
            Some(fixed) => match Symmetry::new(&mut locals, &script, &fixed) {
                None if treated == Treated::Alike => return Err(Error::Options(ALL_DIFFER.into())),
                None => return Ok(Ended::Asymmetric(None)),
                found => found,
            },
        };
        let (classes, permutations) =
            symmetry.as_ref().map_or((Vec::new(), 1), |it| (it.classes.clone(), it.all.len()));
        let mut steps = Steps::new(locals, script, &self.options, symmetry);
        let searched = Search::new(&mut steps, &self.options).run();
        match searched.void {
            Some(Void::Asymmetric(reason)) => return Ok(Ended::Asymmetric(Some(reason))),
            Some(Void::NeedsOrder) => return Ok(Ended::NeedsOrder),
            None => {}
        }
        let (turns, node_states) = (steps.locals.turns.ran(), steps.locals.count() as u64);
        let Searched { steps: taken, distinct, fingerprint, depth, cut, failed, .. } = searched;
        let counterexample = failed.map(|path| {
            let cause = cause::cause(&mut steps, path);
            let script = replay::replay(&steps, &cause);
            Counterexample { script, ..counterexample::describe(&mut steps, &cause) }
        });
        let missed = cut.iter().map(|cut| self.missed(*cut, depth));
        let missed: Vec<String> = missed.chain(traits.reasons.iter().cloned()).collect();
        let is_complete = missed.is_empty() && counterexample.is_none();
        let fingerprint = fingerprint.wrapping_add(fingerprint::of_classes(&classes));
        let address = |node: &u32| self.identities[*node as usize].address.clone();
        Ok(Ended::Well(Box::new(ExploreReport {
            // The first, and one for each step.
            states: taken + 1,
            distinct,
            depth,
            turns,
            node_states,
            is_ordered: traits.is_ordered,
            bounds: self.bounds(),
            missed,
            fingerprint: (is_complete && self.options.fingerprint).then_some(fingerprint),
            ignored: traits.ignored.clone(),
            interchangeable: classes.iter().map(|it| it.iter().map(address).collect()).collect(),
            collision: seen::collision_probability(distinct as usize * permutations),
            counterexample,
            interrupted: cut == Some(Cut::Interrupted),
            ..ExploreReport::default()
        })))
    }

    /// What a search has missed that was cut.
    fn missed(&self, cut: Cut, depth: u32) -> String {
        match cut {
            Cut::Depth => format!("runs of more than {depth} steps were not looked at"),
            Cut::Memory => "the memory was used up".to_owned(),
            Cut::Interrupted => "it was interrupted".to_owned(),
            Cut::Count => "there are too many states".to_owned(),
            Cut::Distinct => {
                let most = self.options.distinct_max.unwrap_or_default();
                format!("there are more than {most} states")
            }
        }
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

/// Why symmetry has nothing to act on.
const ALL_DIFFER: &str =
    "symmetry has nothing to act on: each node has its own facts, timers, or actions of the script";

/// The result of a search.
enum Ended {
    Well(Box<ExploreReport>),
    /// The order of rows is needed and was left out.
    NeedsOrder,
    /// Nodes are not interchangeable.
    Asymmetric(Option<String>),
}

/// Which nodes a search may take for interchangeable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Treated {
    /// All that begin alike.
    Alike,
    /// All but the landmark.
    ButLandmark,
    /// None.
    Apart,
}

impl Treated {
    fn less(self) -> Treated {
        match self {
            Treated::Alike => Treated::ButLandmark,
            Treated::ButLandmark | Treated::Apart => Treated::Apart,
        }
    }

    /// The nodes that stay where they are; `None`: all.
    fn fixed(self, identities: &[Identity]) -> Option<Vec<u32>> {
        match self {
            Treated::Alike => Some(Vec::new()),
            Treated::ButLandmark => {
                let is_landmark = |node: &&Identity| node.address == node.landmark;
                Some(identities.iter().filter(is_landmark).map(|node| node.index).collect())
            }
            Treated::Apart => None,
        }
    }
}

fn is_explored(what: &crate::script::ActionKind) -> bool {
    use crate::script::ActionKind;
    matches!(
        what,
        ActionKind::Put(..)
            | ActionKind::Delete(..)
            | ActionKind::Crash(_)
            | ActionKind::Restart(_)
            | ActionKind::End
    )
}
