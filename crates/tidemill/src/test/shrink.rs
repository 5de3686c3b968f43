//! Shrinks a failing run to a minimal script (Zeller and Hildebrandt, "Simplifying and Isolating
//! Failure-Inducing Input", 2002).
//!
//! ```text
//! the run, recorded: its script, what its seed has drawn, messages lost, doubled, late
//!   -> fewer nodes -> fewer actions -> without the seed -> rounder and earlier times
//! ```
//! Each step is kept if the reduced run fails in the same way. The number of runs follows from the
//! program and the run, not from wall-clock time.

use std::panic::{self, AssertUnwindSafe};

use tidemill_relation::text::{Pattern, Term};
use tidemill_relation::{OwnedValue, Value};

use super::notes::LastBytes;
use super::shape;
use crate::console::Console;
use crate::identities::{address, number};
use crate::script::{Cue, CueAction, When};
use crate::seconds::SECOND_NS;
use crate::sim::{Messages, Simulation};

/// The maximum number of runs per failure.
const RUNS_MAX: u64 = 2000;
/// The maximum number of turns of all of them, and the minimum number of runs regardless of turns.
const TURNS_MAX: u64 = 40_000_000;
const RUNS_MIN: u64 = 60;

/// The seed of a run without one.
const SEED: u64 = 1;

/// A shrunk failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shrunk {
    /// The number of nodes.
    pub nodes: u32,
    /// The number of faults among its actions.
    pub faults: usize,
    /// The number of tuples and timers among its actions.
    pub injections: usize,
    /// The time of the failure, in nanoseconds.
    pub at_ns: u64,
    /// The script that repeats it.
    pub script: Vec<String>,
    /// The note of the failure.
    pub note: String,
    /// The explanation of the failure, as lines; empty if there is none.
    pub why: Vec<String>,
    /// A space-time diagram of it, as SVG; `None` if the run cannot be repeated to draw it.
    pub diagram: Option<String>,
}

/// A run to try.
#[derive(Clone, Debug)]
struct Candidate {
    nodes: u32,
    seed: u64,
    cues: Vec<Cue>,
}

/// The failure of a run.
struct Failed {
    at_ns: u64,
    note: String,
}

struct Shrinking<'s> {
    simulation: &'s Simulation,
    shape: &'s str,
    runs: u64,
    runs_max: u64,
    best: Candidate,
    failed: Failed,
}

/// Shrinks a run that fails with this shape; `None` if a script cannot repeat it.
pub(super) fn shrink(simulation: &Simulation, shape: &str) -> Option<Shrunk> {
    let (cues, turns) = recorded(simulation, Messages::Faults)?;
    let options = simulation.options();
    let best = Candidate { nodes: options.nodes, seed: options.seed, cues };
    let runs_max = (TURNS_MAX / turns.max(1)).clamp(RUNS_MIN, RUNS_MAX);
    let failed = run(simulation, shape, &best)?;
    let mut it = Shrinking { simulation, shape, runs: 0, runs_max, best, failed };
    it.fewer_nodes();
    it.fewer_actions();
    it.fewer_nodes();
    it.plainer_messages();
    it.without_seed();
    it.rounder_times();
    it.earlier();
    it.fewer_nodes();
    it.fewer_actions();
    Some(it.shrunk())
}

/// The actions of a run, and the number of its turns.
fn recorded(simulation: &Simulation, which: Messages) -> Option<(Vec<Cue>, u64)> {
    let run = || simulation.clone().run_recorded(Console::silent(), which);
    let (report, cues) = panic::catch_unwind(AssertUnwindSafe(run)).ok()?.ok()?;
    Some((cues, report.nodes.map_or(0, |nodes| nodes.turns)))
}

/// Runs a candidate; returns its failure, if it has this shape.
fn run(simulation: &Simulation, shape: &str, candidate: &Candidate) -> Option<Failed> {
    let Candidate { nodes, seed, cues } = candidate.clone();
    let notes = LastBytes::default();
    let console = Console::of_notes(Box::new(notes.clone()));
    let run = || simulation.replay(nodes, seed, cues).run(console);
    let report = panic::catch_unwind(AssertUnwindSafe(run)).ok()?.ok()?;
    let interrupted = report.nodes.as_ref().is_some_and(|nodes| nodes.interrupted);
    if report.is_well() || interrupted {
        return None;
    }
    let notes: Vec<String> = notes.lines().into_iter().chain(report.problems).collect();
    let at_ns = report.nodes.map_or(0, |nodes| nodes.elapsed_ns);
    let note = shape::cause(report.cause, &notes);
    (shape::of(&note) == shape).then_some(Failed { at_ns, note })
}

/// The explanation of a failure, as lines.
fn explained(simulation: &Simulation) -> (Vec<String>, Option<String>) {
    let explained = panic::catch_unwind(AssertUnwindSafe(|| simulation.explain()));
    let explanation = explained.ok().and_then(Result::ok).flatten();
    let why = explanation.as_ref().and_then(|it| match it.why() {
        Some(why) => Some(why.to_string()),
        None => it.why_not().map(ToString::to_string),
    });
    let why = why.unwrap_or_default().lines().map(str::to_owned).collect();
    (why, explanation.map(|it| it.diagram()))
}

impl Shrinking<'_> {
    /// Keeps a candidate if it fails with the same shape.
    fn attempt(&mut self, candidate: Candidate) -> bool {
        if self.runs >= self.runs_max {
            return false;
        }
        self.runs += 1;
        let Some(failed) = run(self.simulation, self.shape, &candidate) else { return false };
        (self.best, self.failed) = (candidate, failed);
        true
    }

    fn attempt_cues(&mut self, cues: Vec<Cue>) -> bool {
        self.attempt(Candidate { cues, ..self.best.clone() })
    }

    fn fewer_nodes(&mut self) {
        self.closer_nodes();
        for nodes in 1..self.best.nodes {
            let cues = self.best.cues.iter().filter_map(|cue| among(cue, nodes)).collect();
            if self.attempt(Candidate { nodes, cues, ..self.best }) {
                break;
            }
        }
    }

    /// Moves the actions of the last nodes to others, so that fewer are needed.
    fn closer_nodes(&mut self) {
        for last in (1..self.best.nodes).rev() {
            for other in 1..last {
                // A partition names the last node beside others, which it still separates without
                // it.
                let swapped = |cue| among(&swapped(cue, last, other), last);
                let cues: Option<Vec<Cue>> = self.best.cues.iter().map(swapped).collect();
                let is_better = self.best.cues.iter().any(|cue| among(cue, last).is_none());
                if let Some(cues) = cues.filter(|_| is_better)
                    && self.attempt(Candidate { nodes: last, cues, ..self.best })
                {
                    break;
                }
            }
        }
    }

    /// Removes ever smaller parts, until no single action can be removed.
    fn fewer_actions(&mut self) {
        let late = self.failed.at_ns;
        let in_time = self.best.cues.iter().filter(|cue| cue.when.first() <= late).cloned();
        let in_time: Vec<Cue> = in_time.collect();
        if in_time.len() < self.best.cues.len() {
            self.attempt_cues(in_time);
        }
        let mut size = self.best.cues.len();
        while size > 0 {
            let (mut at, mut is_less) = (0, false);
            while at < self.best.cues.len() {
                let mut cues = self.best.cues.clone();
                cues.drain(at..(at + size).min(cues.len()));
                if self.attempt_cues(cues) { is_less = true } else { at += size }
            }
            size = match (size, is_less) {
                (1, false) => 0,
                (1, true) => 1,
                (size, _) => size.min(self.best.cues.len()).div_ceil(2),
            };
            if self.runs >= self.runs_max {
                break;
            }
        }
    }

    /// Identifies messages by as little as possible.
    fn plainer_messages(&mut self) {
        for number in 0..self.best.cues.len() {
            let CueAction::Message { tuple: Some(tuple), .. } = &self.best.cues[number].action
            else {
                continue;
            };
            // Keeps its relation, which identifies a message better than its position.
            let mut any = tuple.clone();
            any.terms.fill(Term::Any);
            if self.with_tuple(number, Some(any.clone())) {
                continue;
            }
            for column in 0..any.terms.len() {
                let CueAction::Message { tuple, .. } = &self.best.cues[number].action else {
                    break;
                };
                let mut tuple = tuple.clone();
                tuple.iter_mut().for_each(|tuple| tuple.terms[column] = Term::Any);
                self.with_tuple(number, tuple);
            }
        }
    }

    /// Identifies a message by another tuple.
    fn with_tuple(&mut self, number: usize, other: Option<Pattern>) -> bool {
        let mut cues = self.best.cues.clone();
        if let CueAction::Message { tuple, .. } = &mut cues[number].action {
            *tuple = other;
        }
        self.attempt_cues(cues)
    }

    /// Makes the run independent of the seed with which it was found.
    fn without_seed(&mut self) {
        if self.best.seed == SEED || self.attempt(Candidate { seed: SEED, ..self.best.clone() }) {
            return;
        }
        // The random events of messages become actions.
        let Candidate { nodes, seed, cues } = self.best.clone();
        let replayed = self.simulation.replay(nodes, seed, cues);
        let Some((mut all, _)) = recorded(&replayed, Messages::All) else { return };
        all.retain(|cue| !matches!(cue.action, CueAction::Latency { .. }));
        if self.attempt(Candidate { seed: SEED, cues: all, ..self.best }) {
            self.fewer_actions();
            self.plainer_messages();
        }
    }

    /// Rounds the times of actions.
    fn rounder_times(&mut self) {
        for number in 0..self.best.cues.len() {
            for unit in [SECOND_NS, SECOND_NS / 10, SECOND_NS / 1000] {
                let When::At(at) = self.best.cues[number].when else { break };
                let rounded = [at / unit * unit, at.div_ceil(unit) * unit];
                let is_done = rounded.into_iter().any(|time| {
                    let mut cues = self.best.cues.clone();
                    cues[number].when = When::At(time);
                    time == at || self.attempt_cues(cues)
                });
                if is_done {
                    break;
                }
            }
        }
        let mut cues = self.best.cues.clone();
        cues.sort_by_key(|cue| cue.when.first());
        if cues != self.best.cues {
            self.attempt_cues(cues);
        }
    }

    /// Removes time in which nothing has to happen.
    fn earlier(&mut self) {
        for number in 0..self.best.cues.len() {
            for share in [1, 2, 4, 8, 16] {
                let time = |number: usize| self.best.cues[number].when.first();
                let before = number.checked_sub(1).map_or(0, time);
                let gap = time(number).saturating_sub(before) / share;
                let less = gap / SECOND_NS * SECOND_NS;
                if less == 0 {
                    break;
                }
                let mut cues = self.best.cues.clone();
                for cue in &mut cues[number..] {
                    cue.when = When::At(cue.when.first() - less);
                }
                if self.attempt_cues(cues) {
                    break;
                }
            }
        }
    }

    fn shrunk(self) -> Shrunk {
        let Candidate { nodes, seed, cues } = self.best;
        let mut script = vec![format!("nodes {nodes}")];
        if seed != SEED {
            script.push(format!("seed {seed}"));
        }
        script.extend(cues.iter().flat_map(|cue| self.simulation.lines_of(cue)));
        // So that the run of a corrected program ends, too.
        let end = match self.simulation.options().settle {
            Some(_) => self.simulation.end_ns().unwrap_or(self.failed.at_ns),
            None => (self.failed.at_ns / SECOND_NS + 2) * SECOND_NS,
        };
        let last = Cue { when: When::At(end), action: CueAction::End, place: String::new() };
        script.extend(self.simulation.lines_of(&last));
        let is_injection = |cue: &&Cue| {
            matches!(cue.action, CueAction::Put(_) | CueAction::Delete(_) | CueAction::Timer(..))
        };
        let injections = cues.iter().filter(is_injection).count();
        let is_fault = |cue: &&Cue| {
            !is_injection(cue)
                && !matches!(cue.action, CueAction::Expect { .. } | CueAction::Seed(_))
        };
        let faults = cues.iter().filter(is_fault).count();
        let Failed { at_ns, note } = self.failed;
        let (why, diagram) = explained(&self.simulation.replay(nodes, seed, cues));
        Shrunk { nodes, faults, injections, at_ns, script, note, why, diagram }
    }
}

/// An action for one node instead of another.
fn swapped(cue: &Cue, one: u32, other: u32) -> Cue {
    let swap = |node: &mut u32| match *node {
        it if it == one => *node = other,
        it if it == other => *node = one,
        _ => {}
    };
    let swap_address = |value: &mut OwnedValue| {
        if let Some(mut node) = value.get().as_str().and_then(number) {
            swap(&mut node);
            *value = OwnedValue::new(Value::Str(&address(node)));
        }
    };
    let mut action = cue.action.clone();
    match &mut action {
        CueAction::Partition(groups, _) => groups.iter_mut().flatten().for_each(swap),
        CueAction::Put(tuples) | CueAction::Delete(tuples) => {
            for (node, _, values) in tuples {
                swap(node);
                values.iter_mut().for_each(swap_address);
            }
        }
        CueAction::Message { from, to, tuple, .. } => {
            [from, to].into_iter().for_each(swap);
            for term in tuple.iter_mut().flat_map(|tuple| &mut tuple.terms) {
                if let Term::Value(value) = term {
                    swap_address(value);
                }
            }
        }
        action => action.nodes_mut().into_iter().flatten().for_each(swap),
    }
    Cue { action, ..cue.clone() }
}

/// An action restricted to `nodes` nodes; `None` if it is for others.
fn among(cue: &Cue, nodes: u32) -> Option<Cue> {
    let is_there = |node: &u32| *node < nodes;
    let mut action = cue.action.clone();
    let is_for_these = match &mut action {
        CueAction::Partition(groups, _) => {
            groups.iter_mut().for_each(|group| group.retain(is_there));
            groups.iter().all(|group| !group.is_empty())
        }
        CueAction::Put(tuples) | CueAction::Delete(tuples) => {
            tuples.iter().all(|(node, ..)| is_there(node))
        }
        CueAction::Expect { rows, .. } => rows.iter().all(|(node, ..)| is_there(node)),
        CueAction::Message { from, to, .. } => is_there(from) && is_there(to),
        action => action.nodes_mut().is_none_or(|named| named.iter().all(is_there)),
    };
    is_for_these.then(|| Cue { action, ..cue.clone() })
}
