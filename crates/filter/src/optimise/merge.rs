//! Nodes that do the same are one; what nothing uses goes.

use tidemill_stdx::hash::Map;
use tidemill_stdx::id::{IdMap, IdVec};

use crate::graph::{Check, Graph, Node, NodeId, Target, Test, Value, ValueId, Values};

/// Merges nodes that have the same checks, test and targets, from the end; a node without checks
/// whose targets are one is that target.
pub(super) fn merge(graph: &Graph) -> Graph {
    let mut merged: IdMap<NodeId, Target> = IdMap::new();
    let mut known: Map<Node, NodeId> = Map::default();
    let mut result = graph.clone();
    let turn = |merged: &IdMap<NodeId, Target>, target: Target| match target {
        Target::Node(id) => merged.get(id).copied().unwrap_or(target),
        end => end,
    };
    for (id, node) in graph.nodes.iter_enumerated().rev() {
        let (yes, no) = (turn(&merged, node.yes), turn(&merged, node.no));
        let node = Node { yes, no, ..node.clone() };
        if node.yes == node.no && (node.checks.is_empty() || node.yes == Target::Reject) {
            merged.insert(id, node.yes);
            continue;
        }
        result.nodes[id] = node.clone();
        let first = *known.entry(node).or_insert(id);
        merged.insert(id, Target::Node(first));
    }
    result.begin = turn(&merged, graph.begin);
    result
}

/// Keeps the nodes that are reached and the values that they use, counted anew.
pub(super) fn sweep(graph: &Graph) -> Graph {
    let reached = graph.reached();
    let (values, moved) = kept(graph, &reached);
    let numbers: IdMap<NodeId, NodeId> =
        reached.iter().zip(0..).map(|(&id, new)| (id, NodeId::new(new))).collect();
    let turn = |target: Target| match target {
        Target::Node(id) => numbers.get(id).map_or(Target::Reject, |&new| Target::Node(new)),
        end => end,
    };
    let at = |value: ValueId| moved.get(value).copied().unwrap_or(value);
    let mut nodes = IdVec::with_capacity(reached.len());
    for &id in &reached {
        let node = &graph.nodes[id];
        let checks = node.checks.iter().map(|check| match *check {
            Check::Bound { base, end } => Check::Bound { base: base.map(at), end },
            Check::Divisor(value) => Check::Divisor(at(value)),
            Check::Walk(value) => Check::Walk(at(value)),
        });
        let Test { comparison, left, right } = node.test;
        nodes.push(Node {
            checks: checks.collect(),
            test: Test { comparison, left: at(left), right: at(right) },
            yes: turn(node.yes),
            no: turn(node.no),
        });
    }
    Graph { values, nodes, begin: turn(graph.begin) }
}

/// The values that these nodes use, and the number of each among them.
fn kept(graph: &Graph, reached: &[NodeId]) -> (Values, IdMap<ValueId, ValueId>) {
    let mut used = vec![false; graph.values.len()];
    for &id in reached {
        let node = &graph.nodes[id];
        for check in &node.checks {
            match *check {
                Check::Bound { base: Some(value), .. }
                | Check::Divisor(value)
                | Check::Walk(value) => used[value.raw() as usize] = true,
                Check::Bound { base: None, .. } => {}
            }
        }
        used[node.test.left.raw() as usize] = true;
        used[node.test.right.raw() as usize] = true;
    }
    let mut all: Vec<(ValueId, Value)> = graph.values.iter().collect();
    for &(id, _) in all.iter().rev() {
        if used[id.raw() as usize] {
            for operand in graph.values.operands(id).into_iter().flatten() {
                used[operand.raw() as usize] = true;
            }
        }
    }
    all.retain(|(id, _)| used[id.raw() as usize]);
    let mut values = Values::default();
    let mut moved: IdMap<ValueId, ValueId> = IdMap::new();
    for (id, value) in all {
        let at = |operand: ValueId| moved.get(operand).copied().unwrap_or(operand);
        let value = match value {
            Value::Load { width, base, offset } => {
                Value::Load { width, base: base.map(at), offset }
            }
            Value::Binary(operator, left, right) => Value::Binary(operator, at(left), at(right)),
            other => other,
        };
        let new = values.add(value);
        moved.insert(id, new);
    }
    (values, moved)
}
