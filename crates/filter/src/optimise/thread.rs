//! Jump threading: known outcomes are not tested again.

use crate::graph::{Decided, Facts, Graph, Target, Values};

/// Follows the graph from its begin with what is known, and shortens each way by what it decides.
/// One pass: ways lead to later nodes, so all ways into a node are final when it is reached.
pub(super) fn thread(graph: &mut Graph, first: &Facts) {
    let mut known: Vec<Option<Facts>> = vec![None; graph.nodes.len()];
    graph.begin = skip(graph, graph.begin, first);
    if let Target::Node(begin) = graph.begin {
        known[begin.raw() as usize] = Some(first.clone());
    }
    let ids: Vec<_> = graph.nodes.ids().collect();
    for id in ids {
        let Some(mut facts) = known[id.raw() as usize].take() else { continue };
        let mut node = graph.nodes[id].clone();
        node.checks.retain(|&check| {
            let new = !facts.coverage.has(check, &graph.values);
            facts.coverage.add(check);
            new
        });
        match facts.decide(node.test, &graph.values) {
            Decided::Yes => node.no = node.yes,
            Decided::No => node.yes = node.no,
            Decided::Open => {}
        }
        for (holds, target) in [(true, &mut node.yes), (false, &mut node.no)] {
            let mut facts = facts.clone();
            facts.learn(node.test, holds, &graph.values);
            *target = skip(graph, *target, &facts);
            if let Target::Node(next) = *target {
                arrive(&mut known[next.raw() as usize], facts, &graph.values);
            }
        }
        graph.nodes[id] = node;
    }
}

fn arrive(known: &mut Option<Facts>, facts: Facts, values: &Values) {
    match known {
        Some(known) => known.meet(&facts, values),
        None => *known = Some(facts),
    }
}

/// Where a way on which `facts` hold really leads.
pub(crate) fn skip(graph: &Graph, mut target: Target, facts: &Facts) -> Target {
    while let Target::Node(id) = target {
        let node = &graph.nodes[id];
        if !node.checks.iter().all(|&check| facts.coverage.has(check, &graph.values)) {
            break;
        }
        target = match facts.decide(node.test, &graph.values) {
            Decided::Yes => node.yes,
            Decided::No => node.no,
            Decided::Open if node.yes == node.no => node.yes,
            Decided::Open => break,
        };
    }
    target
}
