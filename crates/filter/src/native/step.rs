//! A graph in steps: nodes, and rows and pairs of nodes that are tested at once.

use super::row::Row;
use crate::graph::{Comparison, Graph, NodeId, Target, Value, ValueId, Values};
use tidemill_stdx::sorted::SortedSet;

/// `n0: if v ge first then n1 else no`, `n1: if v gt last then no else within`.
pub(super) struct Range {
    pub value: ValueId,
    pub first: u32,
    pub last: u32,
    within: Target,
}

fn range(graph: &Graph, id: NodeId) -> Option<Range> {
    let low = &graph.nodes[id];
    let Target::Node(next) = low.yes else { return None };
    let high = &graph.nodes[next];
    let comparisons = (low.test.comparison, high.test.comparison);
    let is_range = comparisons == (Comparison::GreaterOrEqual, Comparison::Greater)
        && (high.test.left, high.yes) == (low.test.left, low.no)
        && high.checks.is_empty();
    let first = graph.values.as_constant(low.test.right)?;
    let last = graph.values.as_constant(high.test.right)?;
    (is_range && first <= last).then_some(Range {
        value: low.test.left,
        first,
        last,
        within: high.no,
    })
}

/// The tests that are made at once, from a node on.
pub(super) enum Step {
    Range(Range),
    Row(Row),
    Test,
}

impl Step {
    fn of(graph: &Graph, id: NodeId) -> Step {
        let range = || range(graph, id).map(Step::Range);
        range().or_else(|| Row::of(graph, id).map(Step::Row)).unwrap_or(Step::Test)
    }

    /// Whether it hardly ever holds.
    pub fn is_rare(&self) -> bool {
        matches!(self, Step::Row(row) if row.is_rare())
    }

    /// Where it leads if it holds, and if not.
    pub fn targets(&self, graph: &Graph, id: NodeId) -> [Target; 2] {
        match self {
            Step::Range(range) => [range.within, graph.nodes[id].no],
            Step::Row(row) => [row.on, row.off],
            Step::Test => graph.nodes[id].targets(),
        }
    }
}

/// All steps in order: a node that is part of another step has its own only if there are other
/// edges to it.
pub(super) struct Steps<'g> {
    pub graph: &'g Graph,
    all: Vec<(NodeId, Step)>,
}

impl<'g> Steps<'g> {
    pub fn of(graph: &'g Graph) -> Steps<'g> {
        let mut needed: SortedSet<NodeId> = graph.begin.node().into_iter().collect();
        let mut all = Vec::new();
        while let Some(id) = needed.pop_first() {
            let step = Step::of(graph, id);
            needed.extend(step.targets(graph, id).into_iter().filter_map(Target::node));
            all.push((id, step));
        }
        Steps { graph, all }
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Step)> {
        self.all.iter().map(|(id, step)| (*id, step))
    }

    /// Steps that hardly ever hold, of which one has to for a packet to match; none if there are no
    /// such.
    pub fn decisive(&self) -> Vec<(NodeId, &Step)> {
        let rare: Vec<(NodeId, &Step)> = self.iter().filter(|(_, step)| step.is_rare()).collect();
        let ids: Vec<NodeId> = rare.iter().map(|&(id, _)| id).collect();
        let one_needed = !self.reached_without(&ids, Way::Yes).contains(&Target::Accept);
        if one_needed { rare } else { Vec::new() }
    }

    /// The range of bytes that usual packets are tested for: the first, and the end.
    pub fn reads(&self) -> (u32, u32) {
        let decisive = self.decisive();
        let rows = decisive.iter().filter_map(|(_, step)| match step {
            Step::Row(row) => Some(row.reads()),
            Step::Range(_) | Step::Test => None,
        });
        let loads = || reads(&self.graph.values);
        rows.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_else(loads)
    }

    /// The steps to which all ways lead over this one.
    pub fn only_over(&self, id: NodeId, way: Way) -> SortedSet<NodeId> {
        let others = self.reached_without(&[id], way);
        let only = |step: &NodeId| !others.contains(&Target::Node(*step));
        self.all.iter().map(|&(step, _)| step).filter(only).collect()
    }

    /// Where ways lead if these were cut.
    fn reached_without(&self, cut: &[NodeId], way: Way) -> Vec<Target> {
        let mut reached = vec![self.graph.begin];
        for (id, step) in self.iter() {
            if !reached.contains(&Target::Node(id)) {
                continue;
            }
            for (target, taken) in step.targets(self.graph, id).into_iter().zip([Way::Yes, Way::No])
            {
                let is_cut = taken == way && cut.contains(&id);
                if !is_cut && !reached.contains(&target) {
                    reached.push(target);
                }
            }
        }
        reached
    }
}

/// Between which bytes loads lie: the first, and the end.
pub(super) fn reads(values: &Values) -> (u32, u32) {
    let places = values.iter().filter_map(|(_, value)| match value {
        Value::Load { width, base, offset } => {
            // A base is the length of a header, and that of IPv4 mostly 20.
            let base = base.map_or(0, |base| values.range(base).max.min(20));
            let first = offset.saturating_add(base);
            Some((first, first.saturating_add(width.bytes())))
        }
        _ => None,
    });
    places.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default()
}

/// One of the two ways on from a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Yes,
    No,
}
