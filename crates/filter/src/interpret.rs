//! Interprets a graph, node by node: the plain oracle of the native code.
//!
//! It relies on no verifier: what a packet does not have is looked for each time.

use crate::ast::Operator;
use crate::graph::{Check, Family, Graph, Target, Value, ValueId};

/// The inputs of a filter.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'p> {
    /// The bytes that were kept.
    pub bytes: &'p [u8],
    /// The number of bytes on the wire.
    pub wire_length: u32,
    /// This machine sent it.
    pub is_outgoing: bool,
}

/// Whether the filter matches these bytes of a packet that had `wire_length` on the wire.
pub fn matches(graph: &Graph, bytes: &[u8], wire_length: u32) -> bool {
    matches_seen(graph, &Seen { bytes, wire_length, is_outgoing: false })
}

/// Whether the filter matches a packet.
pub fn matches_seen(graph: &Graph, seen: &Seen<'_>) -> bool {
    // `None` is a load beyond the packet, a division by zero: the packet is rejected.
    decide(graph, seen).unwrap_or(false)
}

fn decide(graph: &Graph, seen: &Seen<'_>) -> Option<bool> {
    let mut target = graph.begin;
    loop {
        let node = match target {
            Target::Accept => return Some(true),
            Target::Reject => return Some(false),
            Target::Node(id) => graph.nodes.get(id)?,
        };
        for check in &node.checks {
            match *check {
                Check::Bound { base, end } => {
                    let base = base.map_or(Some(0), |base| evaluate(graph, seen, base))?;
                    (base as usize)
                        .checked_add(end as usize)
                        .filter(|&it| it <= seen.bytes.len())?;
                }
                Check::Divisor(value) => {
                    Some(evaluate(graph, seen, value)?).filter(|&divisor| divisor != 0)?;
                }
                Check::Walk(value) => {
                    evaluate(graph, seen, value)?;
                }
            }
        }
        let left = evaluate(graph, seen, node.test.left)?;
        let right = evaluate(graph, seen, node.test.right)?;
        target = if node.test.comparison.holds(left, right) { node.yes } else { node.no };
    }
}

fn evaluate(graph: &Graph, seen: &Seen<'_>, id: ValueId) -> Option<u32> {
    Some(match graph.values.get(id) {
        Value::Constant(number) => number,
        Value::Length => seen.wire_length,
        Value::Outgoing => u32::from(seen.is_outgoing),
        Value::Load { width, base, offset } => {
            let base = base.map_or(Some(0), |base| evaluate(graph, seen, base))?;
            let start = (base as usize).checked_add(offset as usize)?;
            seen.load(start, width.bytes() as usize)?
        }
        Value::Binary(operator, left, right) => {
            let left = evaluate(graph, seen, left)?;
            operator.apply(left, evaluate(graph, seen, right)?)?
        }
        Value::Walk { family, start, until } => seen.walk(family, start as usize, until)?,
    })
}

impl Seen<'_> {
    fn load(&self, start: usize, bytes: usize) -> Option<u32> {
        let bytes = self.bytes.get(start..start.checked_add(bytes)?)?;
        Some(bytes.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte)))
    }

    /// Steps over headers up to the first that is `until`, or none to step over.
    fn walk(&self, family: Family, start: usize, until: u32) -> Option<u32> {
        let (mut protocol, mut at) = match family {
            Family::Four => {
                let protocol = self.load(start + 9, 1)?;
                (protocol, start + 4 * (self.load(start, 1)? as usize & 15))
            }
            Family::Six => (self.load(start + 6, 1)?, start + 40),
        };
        while protocol != until {
            let units = match (protocol, family) {
                (51, _) => 4,
                // Hop by hop, routing, fragment, destination.
                (0 | 43 | 44 | 60, Family::Six) => 8,
                _ => break,
            };
            let next = self.load(at, 1)?;
            let length = self.load(at + 1, 1)? as usize;
            at += if units == 4 { 4 * (length + 2) } else { 8 * (length + 1) };
            protocol = next;
        }
        Some(protocol)
    }
}

impl Operator {
    /// The result for two numbers; `None` for a division by zero. A shift by more than 31 gives 0.
    pub fn apply(self, left: u32, right: u32) -> Option<u32> {
        Some(match self {
            Operator::Add => left.wrapping_add(right),
            Operator::Subtract => left.wrapping_sub(right),
            Operator::Multiply => left.wrapping_mul(right),
            Operator::Divide => left.checked_div(right)?,
            Operator::Remainder => left.checked_rem(right)?,
            Operator::And => left & right,
            Operator::Or => left | right,
            Operator::Xor => left ^ right,
            Operator::ShiftLeft => left.checked_shl(right).unwrap_or(0),
            Operator::ShiftRight => left.checked_shr(right).unwrap_or(0),
        })
    }
}
