//! How a program is explored.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tidemill_overlog::fleet::Extra;

/// How a program is explored.
#[derive(Clone, Debug)]
pub struct ExploreOptions {
    /// How many nodes, at least one.
    pub nodes: u32,
    /// How many messages may be lost in a run.
    pub drops: u8,
    /// How many messages may come once more.
    pub duplicates: u8,
    /// How many crashes there may be; a node that crashes starts again, empty.
    pub crashes: u8,
    /// How many timers may fire in a run, of all nodes together.
    pub timers: u8,
    /// The most messages, timers, script actions and faults of a run; `None`: any number.
    pub depth: Option<u32>,
    /// The most bytes that the search takes; `None`: what there is.
    pub memory_max: Option<u64>,
    /// Follow each run to its end before another begins, which takes less memory and does not find
    /// a shortest counterexample.
    pub depth_first: bool,
    /// Runs in which turns of different nodes have changed places count as one.
    pub reduction: bool,
    /// A node works off what follows from a message before anything else reaches it.
    pub atomic_chains: bool,
    /// What `LANDMARK` is, if not the address of the first node.
    pub landmark: Option<String>,
    /// Tuples for the nodes where they are located, after the facts of the program.
    pub extra: Vec<Extra>,
    /// See [`Node::limit_turns`](tidemill_overlog::node::Node::limit_turns).
    pub turn_tuples_max: Option<u64>,
    /// The search ends soon after this becomes true: for signals.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for ExploreOptions {
    fn default() -> ExploreOptions {
        ExploreOptions {
            nodes: 1,
            drops: 0,
            duplicates: 0,
            crashes: 0,
            timers: 4,
            depth: None,
            memory_max: None,
            depth_first: false,
            reduction: true,
            atomic_chains: false,
            landmark: None,
            extra: Vec::new(),
            turn_tuples_max: None,
            stop: None,
        }
    }
}
