//! Several decisions in one: conditions that are put together, so that one branch takes the place of
//! some.
//!
//! ```text
//! n: a ? m : T    m: b ? U : T                   n: (a and b) ? U : T
//! n: a ? m : T    m: b ? T : U                   n: (not a or b) ? T : U
//! n: a ? m : k    m: b ? T : U    k: c ? T : U   n: (a ? b : c) ? T : U
//! ```
//! What kind a packet is of is what machines guess worst: a branch that goes wrong costs as much as a
//! dozen comparisons, and holds up the bytes of the packets behind it. A node is taken into the one
//! before it only if nothing can go wrong there: it has no checks but static bounds, and the code is
//! for packets that have so many bytes in any case.

use tidemill_stdx::id::IdVec;

use crate::graph::{Check, Graph, Node, NodeId, Target};

/// Comparisons of one condition at most: with more of them a branch is the better guess.
const TESTS_MAX: usize = 8;

/// Bounds up to here are asked for beforehand: that many bytes most packets have.
const BOUND_MAX: u32 = 60;

/// What is asked of a packet.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// The test of a node.
    Test(NodeId),
    /// Not so.
    Not(Box<Condition>),
    /// Both.
    And(Box<Condition>, Box<Condition>),
    /// Any of both.
    Or(Box<Condition>, Box<Condition>),
    /// The second if the first, else the third.
    Choose(Box<Condition>, Box<Condition>, Box<Condition>),
}

/// A decision.
#[derive(Clone, Debug)]
pub(super) struct Compound {
    pub condition: Condition,
    tests: usize,
    pub yes: Target,
    pub no: Target,
}

/// The decisions of a graph.
pub(super) struct Compounds {
    /// By node; none, where it is part of another or not reached.
    of: IdVec<NodeId, Option<Compound>>,
    /// The bytes that packets have for which they hold.
    pub bound: u32,
}

impl Compounds {
    /// Puts decisions together; nothing, if there are none for which it can be done.
    pub fn of(graph: &Graph) -> Option<Compounds> {
        let reached = graph.reached();
        // The first node is part of none, though no way leads to it.
        let mut ways: IdVec<NodeId, isize> = graph.nodes.ids().map(|_| 0).collect();
        for target in reached.iter().flat_map(|&id| graph.nodes[id].targets()) {
            if let Target::Node(to) = target {
                ways[to] += 1;
            }
        }
        let mut of: IdVec<NodeId, Option<Compound>> = graph.nodes.ids().map(|_| None).collect();
        let mut is_any = false;
        // Ways lead to later nodes: those are put together before.
        for &id in reached.iter().rev() {
            let node = &graph.nodes[id];
            let condition = Condition::Test(id);
            let mut compound = Compound { condition, tests: 1, yes: node.yes, no: node.no };
            while let Some((next, parts)) =
                grown(&compound, &of, |part| ways[part] == 1 && is_safe(&graph.nodes[part]))
            {
                // Ways of several that lead to one place are one way of all together.
                for part in [&compound].into_iter().chain(parts.iter().flat_map(|&it| &of[it])) {
                    count(&mut ways, part, -1);
                }
                count(&mut ways, &next, 1);
                compound = next;
                parts.into_iter().for_each(|part| of[part] = None);
                is_any = true;
            }
            of[id] = Some(compound);
        }
        let checks = reached.iter().flat_map(|&id| &graph.nodes[id].checks);
        let bound = checks.filter_map(early_bound).max().unwrap_or(0);
        is_any.then_some(Compounds { of, bound })
    }

    /// The decision of a node; none, if it is made elsewhere.
    pub fn get(&self, id: NodeId) -> Option<&Compound> {
        self.of[id].as_ref()
    }
}

/// The bound of a check that is made beforehand.
pub(super) fn early_bound(check: &Check) -> Option<u32> {
    match check {
        Check::Bound { base: None, end } if *end <= BOUND_MAX => Some(*end),
        _ => None,
    }
}

/// Whether the test of a node may be made early.
fn is_safe(node: &Node) -> bool {
    node.checks.iter().all(|check| early_bound(check).is_some())
}

/// Adds to the count of ways that lead where the ways of a decision do.
fn count(ways: &mut IdVec<NodeId, isize>, of: &Compound, change: isize) {
    for target in [of.yes, of.no] {
        if let Target::Node(to) = target {
            ways[to] += change;
        }
    }
}

/// The decision with one or two of those after it taken in.
fn grown(
    this: &Compound,
    of: &IdVec<NodeId, Option<Compound>>,
    may: impl Fn(NodeId) -> bool,
) -> Option<(Compound, Vec<NodeId>)> {
    let part = |target: Target| match target {
        Target::Node(id) if may(id) => of[id].as_ref().map(|compound| (id, compound)),
        _ => None,
    };
    let with = |condition, tests, yes, no, parts| {
        (this.tests + tests <= TESTS_MAX)
            .then_some((Compound { condition, tests: this.tests + tests, yes, no }, parts))
    };
    let own = || Box::new(this.condition.clone());
    let of = |part: &Compound| Box::new(part.condition.clone());
    let not = |condition| Box::new(Condition::Not(condition));
    let (first, second) = (part(this.yes), part(this.no));
    if let (Some((m, b)), Some((k, c))) = (first, second)
        && (same(b, c) || same(b, &turned(c)))
    {
        let other = if same(b, c) { of(c) } else { not(of(c)) };
        let condition = Condition::Choose(own(), of(b), other);
        return with(condition, b.tests + c.tests, b.yes, b.no, vec![m, k]);
    }
    if let Some((m, b)) = first {
        if b.no == this.no {
            return with(Condition::And(own(), of(b)), b.tests, b.yes, b.no, vec![m]);
        }
        if b.yes == this.no {
            return with(Condition::Or(not(own()), of(b)), b.tests, b.yes, b.no, vec![m]);
        }
    }
    let (k, c) = second?;
    if c.yes == this.yes {
        return with(Condition::Or(own(), of(c)), c.tests, c.yes, c.no, vec![k]);
    }
    if c.no == this.yes {
        return with(Condition::And(not(own()), of(c)), c.tests, c.yes, c.no, vec![k]);
    }
    None
}

fn same(one: &Compound, other: &Compound) -> bool {
    one.yes == other.yes && one.no == other.no
}

/// The ways exchanged; what is asked is not looked at.
fn turned(compound: &Compound) -> Compound {
    Compound { yes: compound.no, no: compound.yes, ..compound.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compounds(text: &str) -> Option<Compounds> {
        Compounds::of(&Graph::read(text).expect("it reads"))
    }

    fn text(condition: &Condition) -> String {
        match condition {
            Condition::Test(id) => id.to_string(),
            Condition::Not(one) => format!("!{}", text(one)),
            Condition::And(a, b) => format!("({} & {})", text(a), text(b)),
            Condition::Or(a, b) => format!("({} | {})", text(a), text(b)),
            Condition::Choose(a, b, c) => format!("({} ? {} : {})", text(a), text(b), text(c)),
        }
    }

    #[test]
    fn kinds_of_two_families_are_one_decision() {
        let graph = "v0: u16 = load2 [12]\nv1: u8 = load1 [20]\nv2: u8 = load1 [23]\n\
            n0: bound 14; if v0 eq 34525 then n1 else n2\n\
            n1: bound 54; if v1 eq 6 then accept else reject\n\
            n2: if v0 eq 2048 then n3 else reject\n\
            n3: bound 34; if v2 eq 6 then accept else reject\nbegin n0\n";
        let compounds = compounds(graph).expect("some");
        let root = compounds.get(NodeId::new(0)).expect("the first");
        assert_eq!(text(&root.condition), "(n0 ? n1 : (n2 & n3))");
        assert_eq!((root.yes, root.no, compounds.bound), (Target::Accept, Target::Reject, 54));
        assert!((1..4).all(|id| compounds.get(NodeId::new(id)).is_none()));
    }

    #[test]
    fn ways_that_were_put_together_are_one() {
        let graph = "v0: u16 = load2 [12]\nv1: u8 = load1 [20]\n\
            n0: bound 21; if v0 eq 1 then n2 else n1\nn1: if v0 eq 2 then n2 else reject\n\
            n2: if v1 eq 3 then accept else reject\nbegin n0\n";
        let compounds = compounds(graph).expect("some");
        let root = compounds.get(NodeId::new(0)).expect("the first");
        assert_eq!(text(&root.condition), "((n0 | n1) & n2)");
    }

    #[test]
    fn nodes_with_other_checks_or_other_ways_to_them_stay() {
        // n2 is reached twice, n3 divides, n4 asks for more than packets usually have.
        let graph = "v0: u32 = length\nv1: u8 = load1 [0]\nv2: u32 = div v0 v1\n\
            v3: u8 = load1 [99]\n\
            n0: bound 1; if v0 gt 1 then n1 else n2\n\
            n1: if v0 gt 2 then n2 else n3\n\
            n2: if v0 gt 3 then accept else reject\n\
            n3: divisor v1; if v2 gt 4 then n4 else reject\n\
            n4: bound 100; if v3 gt 5 then accept else reject\nbegin n0\n";
        assert!(
            compounds(graph)
                .is_none_or(|all| { (2..5).all(|id| all.get(NodeId::new(id)).is_some()) })
        );
    }
}
