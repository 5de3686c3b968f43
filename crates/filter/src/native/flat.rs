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
//! This is for packets with [`NEAR`] bytes: what lies below is loaded without a check. A load that
//! may lie beyond is made at 0 where the packet ends before it. What comes of that is never seen:
//! in a verified graph a check that fails lies before it on every way to `accept`.

use tidemill_jit::build::{InstBuilder, IntCC, Value as Number, types};
use tidemill_stdx::id::IdMap;

use super::write::Writer;
use crate::graph::{Check, Comparison, Graph, NodeId, Target, Test, ValueId};

/// So many bytes a packet has to have; Ethernet makes shorter ones as long.
pub(super) const NEAR: u32 = 60;

/// Above, a packet saves more by leaving early than by never being guessed wrong.
const NODES_MAX: usize = 16;

/// Whether a graph is written without branches too. Divisions, and walks along headers, need some.
pub(super) fn fits(graph: &Graph) -> bool {
    let reached = graph.reached();
    let bounds_only = |id: &NodeId| {
        let checks = &graph.nodes[*id].checks;
        checks.iter().all(|check| matches!(check, Check::Bound { .. }))
    };
    (2..=NODES_MAX).contains(&reached.len()) && reached.iter().all(bounds_only)
}

/// What a way comes to.
#[derive(Clone, Copy)]
enum Outcome {
    Always(bool),
    /// 1 for a match, else 0; 8 bits.
    Computed(Number),
}

impl Writer<'_, '_, '_> {
    /// Whether a packet of at least [`NEAR`] bytes matches, in 8 bits: 1 or 0. The graph must
    /// [fit](fits).
    pub(super) fn verdict(&mut self) -> Number {
        let graph = self.graph;
        let mut outcomes: IdMap<NodeId, Outcome> = IdMap::new();
        let of = |outcomes: &IdMap<NodeId, Outcome>, target| match target {
            Target::Accept => Outcome::Always(true),
            Target::Reject => Outcome::Always(false),
            Target::Node(id) => outcomes.get(id).copied().unwrap_or(Outcome::Always(false)),
        };
        // Ways lead to later nodes.
        for id in graph.reached().into_iter().rev() {
            let node = &graph.nodes[id];
            let (yes, no) = (of(&outcomes, node.yes), of(&outcomes, node.no));
            let mut outcome = self.choice(node.test, yes, no);
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

    /// `yes` where the test holds, else `no`.
    fn choice(&mut self, test: Test, yes: Outcome, no: Outcome) -> Outcome {
        use Outcome::{Always, Computed};
        if let (Always(one), Always(other)) = (yes, no)
            && one == other
        {
            return yes;
        }
        let holds = self.holds(test);
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
        if matches!(outcome, Outcome::Always(false)) || (base.is_none() && end <= NEAR) {
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

    /// Whether a load lies within the first [`NEAR`] bytes of every packet.
    pub(super) fn is_near(&self, base: Option<ValueId>, offset: u32, bytes: u32) -> bool {
        let base = base.map_or(0, |base| self.graph.values.range(base).max);
        u64::from(base) + u64::from(offset) + u64::from(bytes) <= u64::from(NEAR)
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
