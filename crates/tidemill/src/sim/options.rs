//! How a program is simulated.

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

/// How a program is simulated.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// How many nodes.
    pub nodes: u32,
    /// How many threads run its nodes. A run that one has to do says so: see
    /// [`Simulation::run`](super::Simulation::run).
    pub workers: u32,
    /// What all chance follows from.
    pub seed: u64,
    /// When the run ends, nanoseconds; `None`: when nothing is left to do.
    pub end_ns: Option<u64>,
    /// The least and most time that a datagram takes.
    pub latency: (Duration, Duration),
    /// Which of these times are likely.
    pub latency_shape: Shape,
    /// The probability that a datagram is lost.
    pub loss: f64,
    /// The probability that a datagram arrives twice.
    pub duplicate: f64,
    /// The probability that a datagram is held back behind later ones.
    pub reorder: f64,
    /// The mean life of a node but the first, nanoseconds; `None`: nodes live for ever.
    pub churn_ns: Option<u64>,
    /// The mean time between partitions, nanoseconds.
    pub partition_ns: Option<u64>,
    /// The mean time between two pauses of a node, nanoseconds.
    pub pause_ns: Option<u64>,
    /// How long turns of slow nodes take, nanoseconds.
    pub slow_ns: Option<u64>,
    /// How wrong clocks may be at the start, nanoseconds.
    pub skew_ns: Option<u64>,
    /// All faults end in time for this, and then rows of `unsettled` must go.
    pub settle: Option<Settle>,
    /// How datagrams are sealed, if they are.
    pub seal: Option<Seal>,
    /// What the tuples of `history` are compared with at the end of the run; see
    /// [`history`](crate::history).
    pub linearizable: Option<Model>,
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
    /// [`Report::profile`](crate::run::Report::profile). Nothing that the program sees follows from
    /// it.
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
            workers: 1,
            seed: 1,
            end_ns: None,
            latency: (Duration::from_millis(10), Duration::from_millis(50)),
            latency_shape: Shape::Uniform,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            churn_ns: None,
            partition_ns: None,
            pause_ns: None,
            slow_ns: None,
            skew_ns: None,
            settle: None,
            seal: None,
            linearizable: None,
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
