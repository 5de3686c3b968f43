//! A small graph without branches.
//!
//! The path of packets through a graph is unpredictable where traffic is mixed, and a mispredicted
//! branch costs more than all tests of a small graph. So all of them are made, and their outcomes
//! are combined:
//!
//! ```text
//!   n0: if a then n1 else n2         (a and (b and c)) or (not a and d)
//!   n1: if b then n2 else reject      with each choice a conditional move
//! ```
//!
//! Tests in a row of bits at fixed places are one ([`row`](super::row)), and fields of which
//! packets of two kinds have the same tests are selected first ([`join`](super::join)). A filter
//! that rejects most packets early branches early after all: that is predictable.
//!
//! This is for packets with [`NEAR`] bytes that are no fragments of IPv6: what this decides is left
//! out before ([`for_packets_with`]), and bytes below are loaded without a check. Places that
//! depend on a header's length are checked once, before all tests, and packets that end before
//! them go through the nodes: hardly any do. Another load that may be beyond the end is made at 0
//! then. Its result is never used: in a verified graph a check that fails precedes it on every path
//! to `accept`.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Value as Number, types};
use tidemill_stdx::id::IdMap;

use super::join::twins;
use super::row::NEAR;
use super::step::{Range, Step, Steps};
use super::writer::Writer;
use crate::graph::{Check, Comparison, Facts, Graph, NodeId, Target, Test, Value, ValueId, Width};
use crate::optimise::for_packets_with;

/// Places up to this far behind a base are checked once. A base that goes farther is no header's
/// length, and for packets of another kind it may be any number.
const FAR: u64 = 128;

/// Above, a packet saves more by leaving early than by never being guessed wrong.
const NODES_MAX: usize = 16;

/// The next header of IPv6 that means "a fragment".
const FRAGMENT: u32 = 44;

/// The input of the code for usual packets.
pub(super) struct Usual {
    /// The graph for packets of [`NEAR`] bytes of which no byte of `fragments` means "a fragment".
    pub graph: Graph,
    pub fragments: Vec<u32>,
}

impl Usual {
    /// What remains of a graph, if it is to be written without branches.
    pub fn of(graph: &Graph) -> Option<Usual> {
        // The facts about usual packets never decide most of a graph, so large ones are given up
        // here.
        if graph.reached().len() > 4 * NODES_MAX {
            return None;
        }
        let mut fragments: Vec<u32> = fragment_tests(graph).map(|(_, offset)| offset).collect();
        fragments.sort_unstable();
        fragments.dedup();
        let graph = for_packets_with(graph, |graph| {
            let mut facts = Facts::default();
            facts.coverage.add(Check::Bound { base: None, end: NEAR });
            for (test, _) in fragment_tests(graph) {
                facts.learn(test, false, &graph.values);
            }
            facts
        });
        fits(&graph).then_some(Usual { graph, fragments })
    }
}

/// The tests for fragments, and the bytes that they read.
fn fragment_tests(graph: &Graph) -> impl Iterator<Item = (Test, u32)> {
    graph.reached().into_iter().filter_map(|id| {
        let test = graph.nodes[id].test;
        let is_number = graph.values.as_constant(test.right) == Some(FRAGMENT);
        match graph.values.get(test.left) {
            Value::Load { width: Width::Byte, base: None, offset }
                if is_number && test.comparison == Comparison::Equal && offset < NEAR =>
            {
                Some((test, offset))
            }
            _ => None,
        }
    })
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

/// The number of bytes needed from each base on, as far as that is checked once for all.
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

/// The outcome of a path.
#[derive(Clone, Copy)]
enum Outcome {
    Always(bool),
    /// 1 for a match, else 0; 8 bits.
    Computed(Number),
}

impl Writer<'_, '_, '_> {
    /// Whether a packet of at least [`NEAR`] bytes matches, in 8 bits: 1 or 0; or branches to
    /// `reject` if it does not, or to `other`, where the packet is filtered from the beginning. The
    /// graph must [fit](fits).
    pub(super) fn verdict(&mut self, fragments: &[u32], reject: Block, other: Block) -> Number {
        let graph = self.graph;
        for &offset in fragments {
            let (data, next) = (self.packet.data, self.body.create_block());
            let header = self.load(Width::Byte, data, offset);
            let is = self.body.ins().icmp_imm_u(IntCC::Equal, header, i64::from(FRAGMENT));
            self.body.ins().brif(is, other, &[], next, &[]);
            self.body.switch_to_block(next);
        }
        // A base follows what it is computed from.
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
        let steps = Steps::of(graph);
        let decisive = steps.decisive();
        let holds: Vec<Number> =
            decisive.into_iter().map(|(id, step)| self.step_holds(id, step)).collect();
        if let Some(any) = holds.into_iter().reduce(|a, b| self.body.ins().bor(a, b)) {
            // Hardly ever, so the machine guesses this right, mixed as traffic is.
            let next = self.body.create_block();
            self.body.ins().brif(any, next, &[], reject, &[]);
            self.body.switch_to_block(next);
        }
        if let Some((id, step, pairs)) = twins(&steps) {
            let holds = self.step_holds(id, step);
            pairs.into_iter().for_each(|pair| self.join(holds, pair));
        }
        // Ways lead to later nodes.
        for (id, step) in steps.iter().rev() {
            let [yes, no] = step.targets(graph, id).map(|target| of(&outcomes, target));
            let holds = self.step_holds(id, step);
            let mut outcome = self.choice(holds, yes, no);
            for &check in &graph.nodes[id].checks {
                outcome = self.checked(check, outcome);
            }
            outcomes.insert(id, outcome);
        }
        match of(&outcomes, graph.begin) {
            Outcome::Computed(number) => number,
            Outcome::Always(matches) => self.body.ins().iconst(types::I8, i64::from(matches)),
        }
    }

    fn step_holds(&mut self, id: NodeId, step: &Step) -> Number {
        match step {
            Step::Range(range) => self.is_within(range),
            Step::Row(row) => self.all_hold(row),
            Step::Test => self.holds(self.graph.nodes[id].test),
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

    /// Whether the packet has `end` bytes, from the base on if there is one.
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

    /// Whether every packet that reaches this has `end` bytes, from the base on if there is one.
    pub(super) fn is_inside(&self, base: Option<ValueId>, end: u64) -> bool {
        let checked = base.and_then(|base| self.ends.get(base));
        let most = base.map_or(0, |base| self.graph.values.range(base).max);
        checked.is_some_and(|&checked| end <= checked.into())
            || u64::from(most) + end <= NEAR.into()
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::lower::{Settings, compile};
    use crate::optimise::optimise;
    use tidemill_diag::Sources;

    pub fn usual(text: &str) -> Option<Usual> {
        let mut sources = Sources::new();
        let file = sources.add("filter", text);
        let graph = compile(file, &sources, &Settings::default()).0.expect(text);
        Usual::of(&optimise(&graph))
    }

    #[test]
    fn for_usual_packets_little_is_left() {
        // The packet is long, and no fragment of IPv6.
        let tcp = usual("tcp").expect("it is small");
        let text = tcp.graph.to_string();
        assert_eq!(tcp.fragments, [20]);
        assert!(!text.contains("bound") && !text.contains(" eq 44 "), "{text}");
        // One check for the ports after the header, whichever is tested.
        let port = usual("tcp port 80").expect("it is small").graph;
        let ends: Vec<u32> = ends(&port).iter().map(|(_, &end)| end).collect();
        assert_eq!(ends, [18], "{port}");
    }

    #[test]
    fn what_needs_branches_or_is_large_has_them() {
        let hosts = |count: u32| {
            let hosts = (0..count).map(|at| format!("src host 10.0.0.{at}"));
            hosts.collect::<Vec<_>>().join(" or ")
        };
        let has = |text: &str| usual(text).is_some();
        // One test is its own branch.
        assert!(!has("ip") && has("ip and len > 100"));
        assert!(!has("ip and len / ip[1] > 2") && !has("ip protochain 6"));
        assert!(has(&hosts(6)) && !has(&hosts(16)) && !has(&hosts(100)));
    }
}
