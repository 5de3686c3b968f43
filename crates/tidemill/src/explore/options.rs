//! Options of a search.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tidemill_overlog::fleet::Extra;

/// Options of a search.
#[derive(Clone, Debug)]
pub struct ExploreOptions {
    /// The number of nodes, at least one.
    pub nodes: u32,
    /// The number of messages that may be lost in a run.
    pub drops: u8,
    /// The number of messages that may be duplicated.
    pub duplicates: u8,
    /// The number of crashes; a node that crashes restarts empty.
    pub crashes: u8,
    /// The number of timers that may fire in a run, over all nodes.
    pub timers: u8,
    /// The maximum number of messages, timers, script actions and faults of a run; `None`:
    /// unlimited.
    pub depth: Option<u32>,
    /// The maximum memory of the search in bytes; `None`: unlimited.
    pub memory_max: Option<u64>,
    /// Find [a fingerprint](super::ExploreReport::fingerprint) of the states, which takes time.
    pub fingerprint: bool,
    /// The number of distinct states above which the search ends; `None`: unlimited.
    pub distinct_max: Option<u64>,
    /// Depth first, which takes less memory and does not find a shortest counterexample.
    pub depth_first: bool,
    /// The number of threads of a search breadth first; its result does not depend on it.
    pub workers: u32,
    /// Treat runs that differ only in the order of independent turns as one.
    pub reduction: bool,
    /// States that differ by a permutation of interchangeable nodes are one.
    pub symmetry: bool,
    /// A node completes all turns that follow from a message before its next input.
    pub atomic_chains: bool,
    /// The value of `LANDMARK`, if not the address of the first node.
    pub landmark: Option<String>,
    /// Tuples for the nodes at their locations, after the facts of the program.
    pub extra: Vec<Extra>,
    /// See [`Node::limit_turns`](tidemill_overlog::node::Node::limit_turns).
    pub turn_tuples_max: Option<u64>,
    /// Setting this ends the search soon: for signals.
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
            fingerprint: false,
            distinct_max: None,
            depth_first: false,
            workers: 1,
            reduction: true,
            symmetry: false,
            atomic_chains: false,
            landmark: None,
            extra: Vec::new(),
            turn_tuples_max: None,
            stop: None,
        }
    }
}
