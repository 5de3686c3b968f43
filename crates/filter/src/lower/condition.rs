//! Tests joined by and, or and not, and the graph they make.

use tidemill_stdx::id::IdVec;

use crate::graph::{Check, Graph, Node, NodeId, Target, Test, Values};

/// A condition, in the order of evaluation.
pub(super) enum Condition {
    Always,
    Test(Vec<Check>, Test),
    Not(Box<Condition>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
}

impl Condition {
    pub fn not(self) -> Condition {
        match self {
            Condition::Not(inner) => *inner,
            other => Condition::Not(Box::new(other)),
        }
    }

    /// Both; `next` is decided only if this holds.
    pub fn and(self, next: Condition) -> Condition {
        match self {
            Condition::And(mut all) => {
                all.push(next);
                Condition::And(all)
            }
            first => Condition::And(vec![first, next]),
        }
    }

    /// Either; `next` is decided only if this does not hold.
    pub fn or(self, next: Condition) -> Condition {
        match self {
            Condition::Or(mut all) => {
                all.push(next);
                Condition::Or(all)
            }
            first => Condition::Or(vec![first, next]),
        }
    }

    /// The number of tests.
    pub fn tests(&self) -> usize {
        match self {
            Condition::Always => 0,
            Condition::Test(..) => 1,
            Condition::Not(inner) => inner.tests(),
            Condition::And(all) | Condition::Or(all) => all.iter().map(Condition::tests).sum(),
        }
    }
}

/// The graph that accepts where the condition holds. Built from the end, so that every edge leads
/// to an existing node.
pub(super) fn graph(values: Values, condition: &Condition) -> Graph {
    let mut nodes = Vec::new();
    let begin = build(condition, Target::Accept, Target::Reject, &mut nodes);
    let count = nodes.len() as u32;
    let turn = |target: Target| match target {
        Target::Node(id) => Target::Node(NodeId::new(count - 1 - id.raw())),
        end => end,
    };
    let mut turned = IdVec::with_capacity(nodes.len());
    for node in nodes.into_iter().rev() {
        turned.push(Node { yes: turn(node.yes), no: turn(node.no), ..node });
    }
    Graph { values, nodes: turned, begin: turn(begin) }
}

fn build(condition: &Condition, yes: Target, no: Target, nodes: &mut Vec<Node>) -> Target {
    match condition {
        Condition::Always => yes,
        Condition::Not(inner) => build(inner, no, yes, nodes),
        Condition::And(all) => all.iter().rev().fold(yes, |next, one| build(one, next, no, nodes)),
        Condition::Or(all) => all.iter().rev().fold(no, |next, one| build(one, yes, next, nodes)),
        Condition::Test(checks, test) => {
            nodes.push(Node { checks: checks.clone(), test: *test, yes, no });
            Target::Node(NodeId::new(nodes.len() as u32 - 1))
        }
    }
}
