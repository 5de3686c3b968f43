//! Graphs with the same meaning and less to do.
//!
//! * `raise`: a bound is checked as early as it is certain to be needed. Where every path from a
//!   node to `accept` needs 34 bytes, the node checks 34 at once; that a shorter packet is
//!   rejected sooner changes nothing.
//! * `thread`: known outcomes are not tested again. An edge into a node whose test it decides
//!   leads past it; a check that every path has made is dropped.
//! * `merge`: nodes that do the same are one.
//! * `sweep`: unused nodes and values are dropped.

mod merge;
mod raise;
mod thread;

use crate::graph::{Facts, Graph};
use merge::{merge, sweep};
use raise::raise;
pub(crate) use thread::skip;
use thread::thread;

/// Each round may show something to the next; three find nearly all.
const ROUNDS: usize = 3;

/// The graph with less to do.
pub fn optimise(graph: &Graph) -> Graph {
    let mut graph = sweep(&merge(graph));
    raise(&mut graph);
    shortened(graph, |_| Facts::default())
}

/// The graph for packets with more facts: with less to do, and not one that verifies. Rounds
/// renumber values, so the facts are computed in terms of each.
pub(crate) fn for_packets_with(graph: &Graph, known: impl Fn(&Graph) -> Facts) -> Graph {
    shortened(graph.clone(), known)
}

fn shortened(mut graph: Graph, known: impl Fn(&Graph) -> Facts) -> Graph {
    for _ in 0..ROUNDS {
        let before = graph.clone();
        let facts = known(&graph);
        thread(&mut graph, &facts);
        graph = sweep(&merge(&graph));
        if graph == before {
            break;
        }
    }
    graph
}
