//! A small graph without branches.
//!
//! Which way packets take through a graph is chance where traffic is mixed, and a wrong guess of
//! the machine costs more than the tests of a small graph together. So all of them are made, and
//! what they come to is combined:
//!
//! ```text
//!   n0: if a then n1 else n2         (a and (b and c)) or (not a and d)
//!   n1: if b then n2 else reject      with each choice a conditional move
//! ```
//!
//! This is for packets with [`NEAR`] bytes: what these decide is left out before
//! ([`for_packets_of`]), and what lies below is loaded without a check. Places that depend on a
//! header's length are asked for once, before all tests, and packets that end before them go
//! through the nodes: hardly any do, so the machine guesses right. Another load that may lie beyond
//! is made at 0 where the packet ends before it. What comes of that is never seen: in a verified
//! graph a check that fails lies before it on every way to `accept`.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Value as Number, types};
use tidemill_stdx::id::IdMap;

use super::write::Writer;
use crate::graph::{Check, Comparison, Graph, NodeId, Target, Test, ValueId};
use crate::optimise::for_packets_of;

/// So many bytes a packet has to have; Ethernet makes shorter ones as long.
pub(super) const NEAR: u32 = 60;

/// What may lie this far behind is asked for once. A base that goes farther is no header's length,
/// and for packets of another kind it may be any number.
const FAR: u64 = 128;

/// Above, a packet saves more by leaving early than by never being guessed wrong.
const NODES_MAX: usize = 16;

/// The graph for packets of [`NEAR`] bytes, if it is to be written without branches.
pub(super) fn of_long_packets(graph: &Graph) -> Option<Graph> {
    // What those bytes decide is never most of a graph, so large ones are not looked at further.
    if graph.reached().len() > 4 * NODES_MAX {
        return None;
    }
    let graph = for_packets_of(graph, NEAR);
    fits(&graph).then_some(graph)
}

/// Divisions, and walks along headers, need branches.
fn fits(graph: &Graph) -> bool {
    let reached = graph.reached();
    let bounds_only = |id: &NodeId| {
        let checks = &graph.nodes[*id].checks;
        checks.iter().all(|check| matches!(check, Check::Bound { .. }))
    };
    (2..=NODES_MAX).contains(&reached.len()) && reached.iter().all(bounds_only)
}

/// How many bytes there have to be from each base on, as far as that is asked once for all.
fn ends(graph: &Graph) -> IdMap<ValueId, u32> {
    let mut ends = IdMap::new();
    for id in graph.reached() {
        for check in &graph.nodes[id].checks {
            let &Check::Bound { base: Some(base), end } = check else { continue };
            if u64::from(graph.values.range(base).max) + u64::from(end) <= FAR {
                let most = ends.get_or_insert_with(base, || end);
                *most = end.max(*most);
            }
        }
    }
    ends
}

/// `n0: if v ge first then n1 else no`, `n1: if v gt last then no else within`.
struct Range {
    value: ValueId,
    first: u32,
    last: u32,
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

/// What a way comes to.
#[derive(Clone, Copy)]
enum Outcome {
    Always(bool),
    /// 1 for a match, else 0; 8 bits.
    Computed(Number),
}

impl Writer<'_, '_, '_> {
    /// Whether a packet of at least [`NEAR`] bytes matches, in 8 bits: 1 or 0; or goes to `other`,
    /// where the packet is looked at from the beginning. The graph must [fit](fits).
    pub(super) fn verdict(&mut self, other: Block) -> Number {
        let graph = self.graph;
        // A base comes after what it is computed from.
        for (base, &end) in ends(graph).iter() {
            let inside = self.has_bytes(Some(base), end.into());
            let next = self.body.create_block();
            self.body.ins().brif(inside, next, &[], other, &[]);
            self.body.switch_to_block(next);
            self.ends.insert(base, end);
        }
        let mut outcomes: IdMap<NodeId, Outcome> = IdMap::new();
        let of = |outcomes: &IdMap<NodeId, Outcome>, target| match target {
            Target::Accept => Outcome::Always(true),
            Target::Reject => Outcome::Always(false),
            Target::Node(id) => outcomes.get(id).copied().unwrap_or(Outcome::Always(false)),
        };
        // Ways lead to later nodes.
        for id in graph.reached().into_iter().rev() {
            let node = &graph.nodes[id];
            let (holds, yes) = match range(graph, id) {
                Some(range) => (self.is_within(&range), range.within),
                None => (self.holds(node.test), node.yes),
            };
            let mut outcome = self.choice(holds, of(&outcomes, yes), of(&outcomes, node.no));
            for &check in &node.checks {
                outcome = self.checked(check, outcome);
            }
            outcomes.insert(id, outcome);
        }
        match of(&outcomes, graph.begin) {
            Outcome::Computed(number) => number,
            Outcome::Always(matches) => self.body.ins().iconst(types::I8, i64::from(matches)),
        }
    }

    /// One comparison without sign: what is below the first wraps to the end.
    fn is_within(&mut self, range: &Range) -> Number {
        let value = self.value(range.value);
        let ins = self.body.ins();
        let above = ins.iadd_imm_s(value, -i64::from(range.first));
        let length = i64::from(range.last - range.first);
        self.body.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, above, length)
    }

    /// `yes` where 1 holds, `no` where 0.
    fn choice(&mut self, holds: Number, yes: Outcome, no: Outcome) -> Outcome {
        use Outcome::{Always, Computed};
        if let (Always(one), Always(other)) = (yes, no)
            && one == other
        {
            return yes;
        }
        let ins = self.body.ins();
        Computed(match (yes, no) {
            (Always(true), Always(_)) => holds,
            (Always(false), Always(_)) => ins.bxor_imm_u(holds, 1),
            (Always(true), Computed(no)) => ins.bor(holds, no),
            (Computed(yes), Always(false)) => ins.band(holds, yes),
            (Always(false), Computed(no)) => {
                let fails = ins.bxor_imm_u(holds, 1);
                self.body.ins().band(fails, no)
            }
            (Computed(yes), Always(true)) => {
                let fails = ins.bxor_imm_u(holds, 1);
                self.body.ins().bor(fails, yes)
            }
            (Computed(yes), Computed(no)) => ins.select(holds, yes, no),
        })
    }

    /// 1 or 0.
    fn holds(&mut self, test: Test) -> Number {
        let holds = self.test(test);
        match test.comparison {
            Comparison::Set => self.body.ins().icmp_imm_u(IntCC::NotEqual, holds, 0),
            _ => holds,
        }
    }

    /// `outcome` where the check holds, else no match.
    fn checked(&mut self, check: Check, outcome: Outcome) -> Outcome {
        let Check::Bound { base, end } = check else { unreachable!("the graph would not fit") };
        if matches!(outcome, Outcome::Always(false)) || self.is_inside(base, end.into()) {
            return outcome;
        }
        let inside = self.has_bytes(base, end.into());
        Outcome::Computed(match outcome {
            Outcome::Always(_) => inside,
            Outcome::Computed(number) => self.body.ins().band(inside, number),
        })
    }

    /// Whether the packet has so many bytes, from the base on if there is one.
    fn has_bytes(&mut self, base: Option<ValueId>, end: u64) -> Number {
        let end = self.place(base, end);
        let length = self.packet.length;
        self.body.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, length, end)
    }

    /// `base + offset`; as both have little more than 32 bits, it does not wrap.
    fn place(&mut self, base: Option<ValueId>, offset: u64) -> Number {
        match base {
            None => {
                let pointer = self.body.pointer();
                self.body.ins().iconst(pointer, offset as i64)
            }
            Some(base) => {
                let base = self.address_part(base);
                self.body.ins().iadd_imm_u(base, offset as i64)
            }
        }
    }

    /// Whether every packet that comes here has so many bytes, from the base on if there is one.
    pub(super) fn is_inside(&self, base: Option<ValueId>, end: u64) -> bool {
        let asked = base.and_then(|base| self.ends.get(base));
        let most = base.map_or(0, |base| self.graph.values.range(base).max);
        asked.is_some_and(|&asked| end <= asked.into()) || u64::from(most) + end <= NEAR.into()
    }

    /// Where a load lies from the first byte of the packet on, or 0 if the packet ends before its
    /// end.
    pub(super) fn place_or_first(
        &mut self,
        base: Option<ValueId>,
        offset: u32,
        bytes: u32,
    ) -> Number {
        let place = self.place(base, offset.into());
        let inside = self.has_bytes(base, u64::from(offset) + u64::from(bytes));
        let pointer = self.body.pointer();
        let first = self.body.ins().iconst(pointer, 0);
        self.body.ins().select(inside, place, first)
    }
}
