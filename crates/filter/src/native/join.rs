//! Fields with the same tests, of packets of two kinds.
//!
//! ```text
//!   n0: if type eq IPv6 then n1 else n3
//!   n1: if [54] eq 80 ...                  the source port, after 40 bytes of header
//!   n3: if [v8 + 14] eq 80 ...             or after as many as the header has
//! ```
//!
//! No packet is tested for both. So the one of the two is selected first, and tested once.

use tidemill_jit::build::{InstBuilder, Value as Number};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::step::{Step, Steps, Way};
use super::writer::Writer;
use crate::ast::Operator;
use crate::graph::{Check, Comparison, Graph, NodeId, Value, ValueId, Width};

/// A test of a load.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    /// Its bits under the mask, compared with the number.
    Test {
        comparison: Comparison,
        mask: u32,
        number: u32,
    },
    Range {
        first: u32,
        last: u32,
    },
}

/// The loads that are only tested, in these steps.
type TestedLoads = SortedMap<ValueId, (SortedSet<NodeId>, SortedSet<Question>)>;

/// The first load is tested only where a step holds, the second in the same way only where it does
/// not.
type Pair = (ValueId, ValueId);

/// A step with all such pairs.
pub(super) fn twins<'s>(steps: &'s Steps<'_>) -> Option<(NodeId, &'s Step, Vec<Pair>)> {
    let loads = tested_loads(steps);
    steps.iter().find_map(|(id, step)| {
        let [yes, no] = [Way::Yes, Way::No].map(|way| {
            let only = steps.only_over(id, way);
            loads.iter().filter(move |(_, (places, _))| places.is_subset(&only))
        });
        let mut no: Vec<_> = no.collect();
        let pairs: Vec<Pair> = yes
            .filter_map(|(&load, (_, questions))| {
                let same = |(other, (_, theirs)): &(&ValueId, &(_, SortedSet<Question>))| {
                    theirs == questions && width(steps.graph, **other) == width(steps.graph, load)
                };
                let twin = no.iter().position(same)?;
                Some((load, *no.remove(twin).0))
            })
            .collect();
        (!pairs.is_empty()).then_some((id, step, pairs))
    })
}

fn width(graph: &Graph, load: ValueId) -> Option<Width> {
    match graph.values.get(load) {
        Value::Load { width, .. } => Some(width),
        _ => None,
    }
}

fn tested_loads(steps: &Steps<'_>) -> TestedLoads {
    let (graph, values) = (steps.graph, &steps.graph.values);
    let mut loads = TestedLoads::new();
    let mut used = SortedSet::new();
    let mut test = |id: NodeId, load: ValueId, question| {
        let (places, questions) = loads.entry(load).or_default();
        places.insert(id);
        questions.insert(question);
    };
    for (id, step) in steps.iter() {
        let node = &graph.nodes[id];
        used.extend(node.checks.iter().filter_map(|check| match *check {
            Check::Bound { base, .. } => base,
            Check::Divisor(value) | Check::Walk(value) => Some(value),
        }));
        match step {
            Step::Row(_) => {}
            Step::Range(range) if width(graph, range.value).is_some() => {
                let (first, last) = (range.first, range.last);
                test(id, range.value, Question::Range { first, last });
            }
            Step::Range(range) => used.extend([range.value]),
            Step::Test => {
                let (load, mask) = match values.get(node.test.left) {
                    Value::Binary(Operator::And, load, mask) => (load, values.as_constant(mask)),
                    _ => (node.test.left, Some(u32::MAX)),
                };
                match (width(graph, load), mask, values.as_constant(node.test.right)) {
                    (Some(_), Some(mask), Some(number)) => {
                        let comparison = node.test.comparison;
                        test(id, load, Question::Test { comparison, mask, number });
                    }
                    _ => used.extend([node.test.left, node.test.right]),
                }
            }
        }
    }
    // What others are made of is used for more than questions.
    let keys: Vec<ValueId> = loads.keys().copied().collect();
    used.extend(keys.into_iter().flat_map(|load| values.operands(load)).flatten());
    while let Some(value) = used.pop_last() {
        loads.remove(&value);
        used.extend(values.operands(value).into_iter().flatten());
    }
    loads
}

impl Writer<'_, '_, '_> {
    /// Makes both loads the one that counts: the first where `holds` is 1, else the second.
    pub(super) fn join(&mut self, holds: Number, (yes, no): Pair) {
        let (values, data) = (&self.graph.values, self.packet.data);
        let is_near = [yes, no].into_iter().all(|load| match values.get(load) {
            Value::Load { width, base, offset } => {
                self.is_inside(base, u64::from(offset) + u64::from(width.bytes()))
            }
            _ => false,
        });
        let (
            Value::Load { width, base, offset },
            Value::Load { base: other, offset: other_offset, .. },
        ) = (values.get(yes), values.get(no))
        else {
            return;
        };
        if !is_near {
            return;
        }
        let number = match (base, other) {
            (None, None) => {
                let (yes, no) = (self.raw(yes), self.raw(no));
                self.body.ins().select(holds, yes, no)
            }
            (None, Some(base)) if offset >= other_offset => {
                let (pointer, base) = (self.body.pointer(), self.address_part(base));
                let fixed = self.body.ins().iconst(pointer, i64::from(offset - other_offset));
                let place = self.body.ins().select(holds, fixed, base);
                let address = self.body.ins().iadd(data, place);
                self.load(width, address, other_offset)
            }
            (Some(base), None) if other_offset >= offset => {
                let (pointer, base) = (self.body.pointer(), self.address_part(base));
                let fixed = self.body.ins().iconst(pointer, i64::from(other_offset - offset));
                let place = self.body.ins().select(holds, base, fixed);
                let address = self.body.ins().iadd(data, place);
                self.load(width, address, offset)
            }
            _ => return,
        };
        self.is_raw(yes, number);
        self.is_raw(no, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::flat::tests::usual;

    /// Where the loads of each pair lie: the offset, and whether it counts from a base.
    fn pairs(text: &str) -> Vec<[(bool, u32); 2]> {
        let usual = usual(text).expect("it is small");
        let steps = Steps::of(&usual.graph);
        let place = |load| match usual.graph.values.get(load) {
            Value::Load { base, offset, .. } => (base.is_some(), offset),
            other => panic!("{other:?}"),
        };
        let twins = twins(&steps).map(|(_, _, pairs)| pairs).unwrap_or_default();
        twins.into_iter().map(|(yes, no)| [place(yes), place(no)]).collect()
    }

    #[test]
    fn fields_of_two_kinds_that_are_asked_alike_are_pairs() {
        let ports = [[(false, 54), (true, 14)], [(false, 56), (true, 16)]];
        assert_eq!(pairs("tcp port 80"), ports);
        assert_eq!(pairs("tcp portrange 80-90"), ports);
        let bits = "(ip6 and ip6[41] & 15 = 5) or (ip and tcp[1] & 15 = 5)";
        assert_eq!(pairs(bits), [[(false, 55), (true, 15)]]);
        for other in [
            // Other numbers, other bits, other widths.
            "(ip6 and ip6[41] = 5) or (ip and tcp[1] = 6)",
            "(ip6 and ip6[41] & 15 = 5) or (ip and tcp[1] & 7 = 5)",
            "(ip6 and ip6[40 : 2] = 5) or (ip and tcp[0 : 4] = 5)",
            // One is used for more than the question.
            "(ip6 and ip6[44] = 5) or (ip and ip[40] = 5 and ip[ip[40]] = 7)",
            // Not of two kinds.
            "ip and ip[41] = 5 and tcp[1] = 5",
        ] {
            assert!(pairs(other).is_empty(), "{other}: {:?}", pairs(other));
        }
    }
}
