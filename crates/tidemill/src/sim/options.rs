//! Options of a simulation.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tidemill_overlog::fleet::{Extra, Seal};
use tidemill_stdx::sorted::SortedMap;

use super::fault_options::FaultOptions;
use super::phase::Phase;
use crate::devices::SimDevice;
use crate::history::Model;
use crate::run::{Engine, EngineKind};
use crate::unsettled::Settle;

/// Options of a simulation.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// The number of nodes.
    pub nodes: u32,
    /// The number of threads. A run that needs a single one notes that: see
    /// [`Simulation::run`](super::Simulation::run).
    pub workers: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The end of the run, in nanoseconds; `None`: when nothing is left to do.
    pub end_ns: Option<u64>,
    /// The faults from the start on.
    pub faults: FaultOptions,
    /// Later phases, in the order of their times; from the end of all faults on there is none.
    pub then: Vec<Phase>,
    /// All faults end early enough for this check, after which rows of `unsettled` must be gone.
    pub settle: Option<Settle>,
    /// How datagrams are sealed, if they are.
    pub seal: Option<Seal>,
    /// The model for the tuples of `history` at the end of the run; see
    /// [`history`](crate::history).
    pub linearizable: Option<Model>,
    /// Observe the order of events at nodes, for the
    /// [coverage](crate::run::Report::coverage) of the report.
    pub observes_order: bool,
    /// Look in this period, in nanoseconds, at what rules have done, if the program has rules only.
    /// Needs an end. The run does not depend on it.
    pub sample_ns: Option<u64>,
    /// Print every stage of every tuple.
    pub trace: bool,
    /// The value of `LANDMARK`, if not the address of the first node.
    pub landmark: Option<String>,
    /// Tuples for the nodes at their locations, after the facts of the program.
    pub extra: Vec<Extra>,
    /// The engine of components.
    pub components: Engine,
    /// The maximum memory of the components of a node in bytes.
    pub memory_max: Option<u64>,
    /// The engine of packet graphs.
    pub packets: EngineKind,
    /// See [`Node::limit_turns`](tidemill_overlog::node::Node::limit_turns); a turn that derives
    /// more is abandoned.
    pub turn_tuples_max: Option<u64>,
    /// Whether to measure the cost of rules, by the clock of the machine, for
    /// [`Report::profile`](crate::run::Report::profile). The run does not depend on it.
    pub profile: bool,
    /// Replacements of the system devices in its packet graph.
    pub devices: SortedMap<String, SimDevice>,
    /// The folder for files; `None`: the current one.
    pub root: Option<PathBuf>,
    /// Setting this ends the run soon, whatever it does: for signals.
    pub stop: Option<Arc<AtomicBool>>,
    /// The process ends after the run: when it is interrupted, its memory is left to the system.
    pub ends_process: bool,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions {
            nodes: 1,
            workers: 1,
            seed: 1,
            end_ns: None,
            faults: FaultOptions::default(),
            then: Vec::new(),
            settle: None,
            seal: None,
            linearizable: None,
            observes_order: false,
            sample_ns: None,
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
            ends_process: false,
        }
    }
}

/// A part of a run whose seed and faults stay the same.
#[derive(Debug)]
pub(super) struct Stretch<'o> {
    /// Its start.
    pub(super) from_ns: u64,
    /// Its end, before which all that begins in it begins; `None`: that of the run.
    pub(super) before_ns: Option<u64>,
    /// The seed of random numbers.
    pub(super) seed: u64,
    /// The faults.
    pub(super) faults: &'o FaultOptions,
}

impl SimOptions {
    /// The run up to the end of faults, by its phases.
    pub(super) fn stretches(&self, until_ns: Option<u64>) -> Vec<Stretch<'_>> {
        let in_time = |phase: &&Phase| until_ns.is_none_or(|until| phase.from_ns < until);
        let later = self.then.iter().filter(in_time);
        let later = later.map(|phase| (phase.from_ns, phase.seed, &phase.faults));
        let all: Vec<_> = std::iter::once((0, self.seed, &self.faults)).chain(later).collect();
        let ends = all.iter().skip(1).map(|(from_ns, ..)| Some(*from_ns)).chain([None]);
        let stretch =
            |(&(from_ns, seed, faults), before_ns)| Stretch { from_ns, before_ns, seed, faults };
        all.iter().zip(ends).map(stretch).collect()
    }
}
