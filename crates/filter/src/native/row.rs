//! Tests in a row that are one comparison.
//!
//! ```text
//!   n0: if type eq 2048 then n1 else reject            bytes 12 to 27 of the packet,
//!   n1: if protocol eq 6 then n2 else reject           under a mask,
//!   n2: if fragment set 8191 then reject else n3       are those of this pattern
//! ```
//!
//! All of them compare bits at fixed places, and the row is left in the same way wherever one
//! fails. An exit may lead elsewhere if, by the facts there, both ends have the same verdict.

use tidemill_jit::asm::unaligned;
use tidemill_jit::build::{ConstantData, InstBuilder, IntCC, Value as Number, types};

use super::writer::Writer;
use crate::ast::Operator;
use crate::graph::{Comparison, Facts, Graph, NodeId, Target, Value, Width};
use crate::optimise::skip;

/// Packets for the branchless code have this many bytes; Ethernet pads shorter ones to it.
pub(super) const NEAR: u32 = 60;

/// The number of bytes compared at once.
const BYTES: usize = 16;

/// A row of two tests or more, within [`BYTES`] bytes below [`NEAR`].
pub(super) struct Row {
    start: u32,
    mask: [u8; BYTES],
    pattern: [u8; BYTES],
    /// The number of tests for a value of which there are thousands.
    numbers: u32,
    /// Where all hold.
    pub on: Target,
    /// Where one fails.
    pub off: Target,
}

/// Bits at a fixed place that are these.
struct Bits {
    offset: u32,
    width: Width,
    mask: u32,
    pattern: u32,
    on: Target,
    off: Target,
}

impl Bits {
    fn of(graph: &Graph, id: NodeId) -> Option<Bits> {
        let node = &graph.nodes[id];
        let values = &graph.values;
        let right = values.as_constant(node.test.right)?;
        let (load, mask) = match values.get(node.test.left) {
            Value::Binary(Operator::And, load, mask) => (load, values.as_constant(mask)?),
            _ => (node.test.left, u32::MAX),
        };
        let Value::Load { width, base: None, offset } = values.get(load) else { return None };
        let mask = mask & (u32::MAX >> (32 - 8 * width.bytes()));
        let (mask, pattern, on, off) = match node.test.comparison {
            Comparison::Equal => (mask, right, node.yes, node.no),
            Comparison::Set => (mask & right, 0, node.no, node.yes),
            Comparison::Greater | Comparison::GreaterOrEqual => return None,
        };
        let fits = pattern & !mask == 0 && offset.checked_add(width.bytes())? <= NEAR;
        fits.then_some(Bits { offset, width, mask, pattern, on, off })
    }
}

impl Row {
    /// The row that begins here.
    pub fn of(graph: &Graph, id: NodeId) -> Option<Row> {
        let first = Bits::of(graph, id)?;
        let start = (first.offset - first.offset % 4).min(NEAR - BYTES as u32);
        let (on, off) = (first.on, first.off);
        let mut row = Row { start, mask: [0; BYTES], pattern: [0; BYTES], numbers: 0, on, off };
        row.add(&first).then_some(())?;
        let with = |facts: &Facts, id: NodeId, is_on: bool| {
            let (mut facts, test) = (facts.clone(), graph.nodes[id].test);
            facts.learn(test, is_on == (test.comparison == Comparison::Equal), &graph.values);
            facts
        };
        let mut facts = with(&Facts::default(), id, true);
        let mut tests = 1;
        while let Target::Node(next) = row.on {
            if !graph.nodes[next].checks.is_empty() {
                break;
            }
            let Some(bits) = Bits::of(graph, next) else { break };
            let failed = with(&facts, next, false);
            let same = skip(graph, row.off, &failed) == skip(graph, bits.off, &failed);
            if !same || !row.add(&bits) {
                break;
            }
            facts = with(&facts, next, true);
            row.on = bits.on;
            tests += 1;
        }
        (tests > 1).then_some(row)
    }

    /// Whether hardly any packet is such. One number may be the type that most packets have.
    pub fn is_rare(&self) -> bool {
        self.numbers > 1
    }

    /// The first byte, and the end.
    pub fn reads(&self) -> (u32, u32) {
        (self.start, self.start + BYTES as u32)
    }

    /// Adds bits; false if they lie elsewhere, or if other values of theirs are compared already.
    fn add(&mut self, bits: &Bits) -> bool {
        let bytes = bits.width.bytes() as usize;
        let Some(from) = bits.offset.checked_sub(self.start).map(|from| from as usize) else {
            return false;
        };
        let (Some(mask), Some(pattern)) =
            (self.mask.get_mut(from..from + bytes), self.pattern.get_mut(from..from + bytes))
        else {
            return false;
        };
        let tail = 4 - bytes;
        let (new_mask, new_pattern) = (bits.mask.to_be_bytes(), bits.pattern.to_be_bytes());
        if mask.iter().zip(&new_mask[tail..]).any(|(old, new)| old & new != 0) {
            return false;
        }
        self.numbers += u32::from(bits.mask.count_ones() >= 12 && bits.pattern != 0);
        mask.iter_mut().zip(&new_mask[tail..]).for_each(|(old, new)| *old |= new);
        pattern.iter_mut().zip(&new_pattern[tail..]).for_each(|(old, new)| *old |= new);
        true
    }
}

impl Writer<'_, '_, '_> {
    /// Whether all tests of the row hold: 1, or 0.
    pub(super) fn all_hold(&mut self, row: &Row) -> Number {
        let flags = unaligned().with_readonly();
        let (data, start) = (self.packet.data, row.start as i32);
        let bytes = self.body.ins().load(types::I8X16, flags, data, start);
        let [mask, pattern] = [row.mask, row.pattern].map(|bytes| {
            let data = self.body.func.dfg.constants.insert(ConstantData::from(&bytes[..]));
            self.body.ins().vconst(types::I8X16, data)
        });
        let masked = self.body.ins().band(bytes, mask);
        let same = self.body.ins().icmp(IntCC::Equal, masked, pattern);
        self.body.ins().vall_true(same)
    }
}
