//! Nodes, tests and values of a graph as instructions.
//!
//! A node is a block, or several with its checks between them. A value is computed where it is
//! first used, and known from there on below in the dominator tree. Loads are compared in memory
//! order where only equality or bits are tested: the constant is swapped instead.

use tidemill_jit::Body;
use tidemill_jit::asm::unaligned;
use tidemill_jit::build::{Block, InstBuilder, IntCC, Value as Number, types};
use tidemill_stdx::id::{IdMap, IdVec};

use super::dominance::Dominance;
use crate::ast::Operator;
use crate::graph::{Check, Comparison, Family, Graph, NodeId, Target, Test, Value, ValueId, Width};

/// A packet in generated code.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The address of the first byte.
    pub data: Number,
    /// The number of bytes; of the same type.
    pub length: Number,
    /// The number of bytes on the wire; 32 bits.
    pub wire_length: Number,
    /// 1 if this machine sent it, else 0; 32 bits. Nothing, if that is known of none.
    pub outgoing: Option<Number>,
}

/// Places of one value that are kept; more cost time to search.
const PLACES_MAX: usize = 16;

/// Where a value was computed.
type Places = IdVec<ValueId, Vec<(NodeId, Number)>>;

/// What keeps loads within the packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Loads {
    /// Checks before them on every way.
    Checked,
    /// Nothing, they are made at once: see [`flat`](super::flat).
    Guarded,
}

pub(super) struct Writer<'w, 'm, 'g> {
    pub body: &'w mut Body<'m>,
    pub graph: &'g Graph,
    pub packet: Packet,
    loads: Loads,
    /// Whether hardly any packet reaches this.
    pub is_rare: bool,
    /// In branchless code: the number of bytes that exist from these bases on.
    pub ends: IdMap<ValueId, u32>,
    accept: Block,
    reject: Block,
    blocks: IdVec<NodeId, Block>,
    dominance: Dominance,
    /// The node that is being written; always the first where all is written at once.
    node: NodeId,
    /// Values as numbers.
    swapped: Places,
    /// Loads as they lie in memory, extended by zeros.
    raw: Places,
}

/// A constant in memory order, read as a number of this machine.
fn as_in_memory(number: u32, width: Width) -> u32 {
    if cfg!(target_endian = "big") {
        return number;
    }
    match width {
        Width::Byte => number,
        Width::Half => u32::from((number as u16).swap_bytes()),
        Width::Word => number.swap_bytes(),
    }
}

impl<'w, 'm, 'g> Writer<'w, 'm, 'g> {
    pub fn new(
        body: &'w mut Body<'m>,
        graph: &'g Graph,
        packet: Packet,
        (accept, reject): (Block, Block),
        loads: Loads,
    ) -> Writer<'w, 'm, 'g> {
        Writer {
            body,
            graph,
            packet,
            loads,
            is_rare: false,
            ends: IdMap::new(),
            accept,
            reject,
            blocks: IdVec::new(),
            dominance: Dominance::of(graph),
            node: NodeId::new(0),
            swapped: graph.values.iter().map(|_| Vec::new()).collect(),
            raw: graph.values.iter().map(|_| Vec::new()).collect(),
        }
    }

    pub fn nodes(&mut self) {
        self.blocks = self.graph.nodes.ids().map(|_| self.new_block()).collect();
        let begin = self.block(self.graph.begin);
        self.body.ins().jump(begin, &[]);
        for id in self.graph.reached() {
            self.node(id);
        }
    }

    fn new_block(&mut self) -> Block {
        if self.is_rare { self.body.cold_block() } else { self.body.create_block() }
    }

    fn block(&self, target: Target) -> Block {
        match target {
            Target::Accept => self.accept,
            Target::Reject => self.reject,
            Target::Node(id) => self.blocks[id],
        }
    }

    fn constant(&mut self, number: u32) -> Number {
        self.body.ins().iconst(types::I32, i64::from(number))
    }

    fn node(&mut self, id: NodeId) {
        let node = &self.graph.nodes[id];
        self.node = id;
        self.body.switch_to_block(self.blocks[id]);
        for &check in &node.checks {
            self.check(check);
        }
        let holds = self.test(node.test);
        let (yes, no) = (self.block(node.yes), self.block(node.no));
        self.body.ins().brif(holds, yes, &[], no, &[]);
    }

    fn check(&mut self, check: Check) {
        match check {
            Check::Bound { base: None, end } => {
                let (length, end) = (self.packet.length, i64::from(end));
                let inside =
                    self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, length, end);
                self.or_reject(inside);
            }
            Check::Bound { base: Some(base), end } => {
                let base = self.address_part(base);
                let end = self.body.ins().iadd_imm_u(base, i64::from(end));
                self.reaches(end);
            }
            Check::Divisor(value) => {
                let divisor = self.value(value);
                let good = self.body.ins().icmp_imm_u(IntCC::NotEqual, divisor, 0);
                self.or_reject(good);
            }
            Check::Walk(value) => {
                self.value(value);
            }
        }
    }

    /// Continues where the packet has `end` bytes.
    fn reaches(&mut self, end: Number) {
        let length = self.packet.length;
        let inside = self.body.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, length, end);
        self.or_reject(inside);
    }

    /// Continues where `good` is not zero.
    fn or_reject(&mut self, good: Number) {
        let (next, reject) = (self.new_block(), self.reject);
        self.body.ins().brif(good, next, &[], reject, &[]);
        self.body.switch_to_block(next);
    }

    /// A value as part of an address: it does not wrap.
    pub fn address_part(&mut self, value: ValueId) -> Number {
        let (value, pointer) = (self.value(value), self.body.pointer());
        self.body.ins().uextend(pointer, value)
    }

    pub fn test(&mut self, test: Test) -> Number {
        let values = &self.graph.values;
        let right = values.as_constant(test.right);
        let asks_bits = matches!(test.comparison, Comparison::Equal | Comparison::Set);
        if let (Some(right), true) = (right, asks_bits)
            && let Some((load, width, mask)) = self.masked_load(test.left)
            && (width == Width::Word || right <= 0xffff)
        {
            let mut left = self.raw(load);
            let right = as_in_memory(right, width);
            if let Some(mask) = mask {
                let mask = as_in_memory(mask, width);
                if let (0xffff, 0..=0xffff, Comparison::Equal) = (mask, right, test.comparison) {
                    // The first half needs no mask.
                    left = self.body.ins().ireduce(types::I16, left);
                    let right = i64::from(right);
                    return self.body.ins().icmp_imm_u(IntCC::Equal, left, right);
                }
                left = self.body.ins().band_imm_u(left, i64::from(mask));
            }
            return self.compare(test.comparison, left, right);
        }
        let left = self.value(test.left);
        if let Some(right) = right {
            return self.compare(test.comparison, left, right);
        }
        let right = self.value(test.right);
        let condition = match test.comparison {
            Comparison::Equal => IntCC::Equal,
            Comparison::Greater => IntCC::UnsignedGreaterThan,
            Comparison::GreaterOrEqual => IntCC::UnsignedGreaterThanOrEqual,
            Comparison::Set => return self.body.ins().band(left, right),
        };
        self.body.ins().icmp(condition, left, right)
    }

    fn compare(&mut self, comparison: Comparison, left: Number, right: u32) -> Number {
        let condition = match comparison {
            Comparison::Equal => IntCC::Equal,
            Comparison::Greater => IntCC::UnsignedGreaterThan,
            Comparison::GreaterOrEqual => IntCC::UnsignedGreaterThanOrEqual,
            Comparison::Set => return self.body.ins().band_imm_u(left, i64::from(right)),
        };
        let right = self.constant(right);
        self.body.ins().icmp(condition, left, right)
    }

    /// A load of several bytes, or its bits under a constant mask.
    fn masked_load(&self, value: ValueId) -> Option<(ValueId, Width, Option<u32>)> {
        let values = &self.graph.values;
        match values.get(value) {
            Value::Load { width: Width::Byte, .. } => None,
            Value::Load { width, .. } => Some((value, width, None)),
            Value::Binary(Operator::And, load, mask) => match values.get(load) {
                Value::Load { width: Width::Byte, .. } => None,
                Value::Load { width, .. } => Some((load, width, Some(values.as_constant(mask)?))),
                _ => None,
            },
            _ => None,
        }
    }

    fn known(&self, places: &Places, value: ValueId) -> Option<Number> {
        let above = |&&(node, _): &&(NodeId, Number)| self.dominance.holds(node, self.node);
        places[value].iter().rev().find(above).map(|&(_, number)| number)
    }

    /// A load as it lies in memory.
    pub fn raw(&mut self, load: ValueId) -> Number {
        if let Some(known) = self.known(&self.raw, load) {
            return known;
        }
        let Value::Load { width, base, offset } = self.graph.values.get(load) else {
            unreachable!("only loads are compared in memory order");
        };
        let (mut address, mut offset) = (self.packet.data, offset);
        let end = u64::from(offset) + u64::from(width.bytes());
        if self.loads == Loads::Guarded && !self.is_inside(base, end) {
            let place = self.place_or_first(base, offset, width.bytes());
            address = self.body.ins().iadd(address, place);
            offset = 0;
        } else if let Some(base) = base {
            let base = self.address_part(base);
            address = self.body.ins().iadd(address, base);
        }
        let number = self.load(width, address, offset);
        self.is_raw(load, number);
        number
    }

    /// From here on, this is the load as it lies in memory.
    pub fn is_raw(&mut self, load: ValueId, number: Number) {
        remember(&mut self.raw, load, (self.node, number));
    }

    /// Bytes in the order of this machine, extended by zeros.
    pub fn load(&mut self, width: Width, mut address: Number, offset: u32) -> Number {
        // Bounds were checked; where the bytes lie is not known.
        let flags = unaligned().with_readonly();
        let near = i32::try_from(offset).unwrap_or_else(|_| {
            address = self.body.ins().iadd_imm_u(address, i64::from(offset));
            0
        });
        match width {
            Width::Byte => self.body.ins().uload8(types::I32, flags, address, near),
            Width::Half => self.body.ins().uload16(types::I32, flags, address, near),
            Width::Word => self.body.ins().load(types::I32, flags, address, near),
        }
    }

    pub fn value(&mut self, id: ValueId) -> Number {
        if let Some(known) = self.known(&self.swapped, id) {
            return known;
        }
        let number = match self.graph.values.get(id) {
            Value::Constant(number) => return self.constant(number),
            Value::Length => return self.packet.wire_length,
            Value::Outgoing => match self.packet.outgoing {
                Some(outgoing) => return outgoing,
                None => return self.constant(0),
            },
            Value::Load { width, .. } => {
                let raw = self.raw(id);
                self.swap(raw, width)
            }
            Value::Binary(operator, left, right) => self.binary(operator, left, right),
            Value::Walk { family, start, until } => self.walk(family, start, until),
        };
        remember(&mut self.swapped, id, (self.node, number));
        number
    }

    fn swap(&mut self, raw: Number, width: Width) -> Number {
        if cfg!(target_endian = "big") {
            return raw;
        }
        match width {
            Width::Byte => raw,
            Width::Half => {
                let half = self.body.ins().ireduce(types::I16, raw);
                let half = self.body.ins().bswap(half);
                self.body.ins().uextend(types::I32, half)
            }
            Width::Word => self.body.ins().bswap(raw),
        }
    }

    fn binary(&mut self, operator: Operator, left: ValueId, right: ValueId) -> Number {
        let (a, b) = (self.value(left), self.value(right));
        let ins = self.body.ins();
        match operator {
            Operator::Add => ins.iadd(a, b),
            Operator::Subtract => ins.isub(a, b),
            Operator::Multiply => ins.imul(a, b),
            // A divisor is not zero: it was checked.
            Operator::Divide => ins.udiv(a, b),
            Operator::Remainder => ins.urem(a, b),
            Operator::And => ins.band(a, b),
            Operator::Or => ins.bor(a, b),
            Operator::Xor => ins.bxor(a, b),
            Operator::ShiftLeft | Operator::ShiftRight => {
                let shifted = match operator {
                    Operator::ShiftLeft => ins.ishl(a, b),
                    _ => ins.ushr(a, b),
                };
                if self.graph.values.as_constant(right).is_some_and(|by| by < 32) {
                    return shifted;
                }
                // The machine would take the number modulo 32.
                let near = self.body.ins().icmp_imm_u(IntCC::UnsignedLessThan, b, 32);
                let zero = self.constant(0);
                self.body.ins().select(near, shifted, zero)
            }
        }
    }

    /// The loop of [`Value::Walk`]; the protocol and the place go round in the parameters of its
    /// head.
    fn walk(&mut self, family: Family, start: u32, until: u32) -> Number {
        let pointer = self.body.pointer();
        let (head, done) = (self.new_block(), self.new_block());
        let protocol = self.body.append_block_param(head, types::I32);
        let at = self.body.append_block_param(head, pointer);
        let result = self.body.append_block_param(done, types::I32);
        let data = self.packet.data;
        let (field, end) = if family == Family::Four { (9, 10) } else { (6, 7) };
        let end = self.body.ins().iconst(pointer, i64::from(start) + end);
        self.reaches(end);
        let first = self.load(Width::Byte, data, start + field);
        let after = match family {
            Family::Six => self.body.ins().iconst(pointer, i64::from(start) + 40),
            Family::Four => {
                let words = self.load(Width::Byte, data, start);
                let words = self.body.ins().band_imm_u(words, 15);
                let bytes = self.body.ins().ishl_imm_u(words, 2);
                let bytes = self.body.ins().uextend(pointer, bytes);
                self.body.ins().iadd_imm_u(bytes, i64::from(start))
            }
        };
        self.body.ins().jump(head, &[first.into(), after.into()]);
        self.body.switch_to_block(head);
        let (other, step) = (self.new_block(), self.new_block());
        let shift = self.body.append_block_param(step, types::I32);
        let found = self.body.ins().icmp_imm_u(IntCC::Equal, protocol, i64::from(until));
        self.body.ins().brif(found, done, &[protocol.into()], other, &[]);
        self.body.switch_to_block(other);
        // An authentication header counts in words, others in eights.
        self.steps_if(&[51], 2, protocol, step);
        if family == Family::Six {
            self.steps_if(&[0, 43, 44, 60], 3, protocol, step);
        }
        self.body.ins().jump(done, &[protocol.into()]);
        self.body.switch_to_block(step);
        let end = self.body.ins().iadd_imm_u(at, 2);
        self.reaches(end);
        let address = self.body.ins().iadd(data, at);
        let next = self.load(Width::Byte, address, 0);
        let units = self.load(Width::Byte, address, 1);
        // (n + 2) words, (n + 1) eights: n units and eight bytes.
        let bytes = self.body.ins().ishl(units, shift);
        let bytes = self.body.ins().uextend(pointer, bytes);
        let bytes = self.body.ins().iadd_imm_u(bytes, 8);
        let at = self.body.ins().iadd(at, bytes);
        self.body.ins().jump(head, &[next.into(), at.into()]);
        self.body.switch_to_block(done);
        result
    }

    /// Goes to `step` with `shift` where the protocol is one of these, else on.
    fn steps_if(&mut self, protocols: &[i64], shift: u32, protocol: Number, step: Block) {
        let shift = self.constant(shift);
        for &known in protocols {
            let next = self.new_block();
            let is = self.body.ins().icmp_imm_u(IntCC::Equal, protocol, known);
            self.body.ins().brif(is, step, &[shift.into()], next, &[]);
            self.body.switch_to_block(next);
        }
    }
}

fn remember(places: &mut Places, value: ValueId, place: (NodeId, Number)) {
    let known = &mut places[value];
    if known.len() == PLACES_MAX {
        known.remove(0);
    }
    known.push(place);
}
