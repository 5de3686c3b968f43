//! Options of a simulation.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tidemill_event::Shape;
use tidemill_overlog::fleet::{Extra, Seal};
use tidemill_stdx::sorted::SortedMap;

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
    /// The minimum and maximum latency of a datagram.
    pub latency: (Duration, Duration),
    /// The shape of its distribution.
    pub latency_shape: Shape,
    /// The probability that a datagram is lost.
    pub loss: f64,
    /// The probability that a datagram is duplicated.
    pub duplicate: f64,
    /// The probability that a datagram is reordered.
    pub reorder: f64,
    /// The mean life of a node but the first, in nanoseconds; `None`: unlimited.
    pub churn_ns: Option<u64>,
    /// The mean time between two faults of components and apps of a node, in nanoseconds.
    pub kill_ns: Option<u64>,
    /// The mean time between partitions, in nanoseconds.
    pub partition_ns: Option<u64>,
    /// The mean time between two pauses of a node, in nanoseconds.
    pub pause_ns: Option<u64>,
    /// The duration of the turns of slow nodes, in nanoseconds.
    pub slow_ns: Option<u64>,
    /// The maximum offset of clocks at the start, in nanoseconds.
    pub skew_ns: Option<u64>,
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
            latency: (Duration::from_millis(10), Duration::from_millis(50)),
            latency_shape: Shape::Uniform,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            churn_ns: None,
            kill_ns: None,
            partition_ns: None,
            pause_ns: None,
            slow_ns: None,
            skew_ns: None,
            settle: None,
            seal: None,
            linearizable: None,
            observes_order: false,
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
