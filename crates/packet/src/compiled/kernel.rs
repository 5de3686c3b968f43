//! The steps of a kernel as code.
//!
//! Values of the kernel are values of the compiler. The test of a `need` is left out where it is
//! known to hold, from the kernel itself or from those before it in the run; bytes of the header
//! and words that change are in registers (see `known`, `run`).

use tidemill_jit::asm::{aligned, unaligned};
use tidemill_jit::build::{Block as Code, InstBuilder, IntCC, Value as Number, types};
use tidemill_stdx::id::IdVec;

use super::arithmetic::Operands;
use super::known::Known;
use super::writer::Writer;
use crate::kernel::{
    Address, BlockId, Bounds, End, Expr, Facts, FlowFacts, Kernel, PacketValues, Step, Value,
};
use crate::packet::{BYTES_MAX, offsets as buffer};

/// A kernel while it is written.
pub(super) struct Scope<'p> {
    /// In the run.
    pub at: usize,
    pub kernel: &'p Kernel,
    /// Where its words are.
    words: usize,
    values: Vec<Option<Number>>,
    bounds: Bounds,
    /// Drop the packet, by reason; made when they are needed.
    pub drops: Vec<Option<Code>>,
    /// Values of words that need not be counted.
    linear: Vec<Value>,
    /// The number of edges to each block, and the facts there if it is one.
    ways: IdVec<BlockId, usize>,
    known: IdVec<BlockId, Option<Known>>,
}

impl Scope<'_> {
    pub fn set(&mut self, value: Value, number: Number) {
        self.values[value.raw() as usize] = Some(number);
    }

    /// Whether a value is but part of a count that follows from the number of packets.
    fn is_linear(&self, value: Value) -> bool {
        self.linear.contains(&value)
    }

    fn operands(&self, a: Value, b: Value) -> Operands {
        let numbers = [self.get(a), self.get(b)];
        let bounds = [a, b].map(|value| self.bounds.most(value));
        Operands { numbers, known: self.bounds.constant(b), bounds }
    }

    pub fn get(&self, value: Value) -> Number {
        self.values[value.raw() as usize].expect("a verified kernel sets a value before it is used")
    }
}

/// The end of a block, where a branch may be known to go to the first.
pub(super) fn end_of(end: End, always: bool) -> End {
    match end {
        End::If(_, yes, _) if always => End::Jump(yes),
        end => end,
    }
}

impl<'p> Writer<'_, '_, 'p> {
    /// Kernel `at` of the run before anything of it is written.
    pub(super) fn scope(&self, at: usize) -> Scope<'p> {
        let (kernel, words) = self.kernel(at);
        Scope {
            at,
            kernel,
            words,
            values: vec![None; kernel.values as usize],
            bounds: Bounds::of(kernel),
            drops: vec![None; kernel.reasons.len()],
            linear: Vec::new(),
            ways: IdVec::new(),
            known: kernel.blocks.iter().map(|_| None).collect(),
        }
    }

    /// Writes kernel `at` of the run from the current block on, with the facts of its flow.
    pub(super) fn steps(&mut self, at: usize, flow: FlowFacts) {
        let FlowFacts { blocks: facts, always, .. } = flow;
        let mut scope = self.scope(at);
        let Scope { kernel, words, .. } = scope;
        let mut ways: IdVec<BlockId, usize> = kernel.blocks.iter().map(|_| 0).collect();
        for (id, block) in kernel.blocks.iter_enumerated() {
            if facts[id].is_some() {
                end_of(block.end, always[id]).targets().for_each(|to| ways[to] += 1);
            }
        }
        scope.linear = self.sites[at].linear.iter().flat_map(|linear| linear.values).collect();
        scope.ways = ways;
        let blocks: IdVec<BlockId, Code> =
            kernel.blocks.iter().map(|_| self.body.create_block()).collect();
        scope.known[BlockId::new(0)] = Some(std::mem::take(&mut self.known));
        self.body.ins().jump(blocks[BlockId::new(0)], &[]);
        for (id, block) in kernel.blocks.iter_enumerated() {
            // What no way leads to is not written.
            let Some(mut facts) = facts[id].clone() else { continue };
            self.known = scope.known[id].take().unwrap_or_default();
            self.body.switch_to_block(blocks[id]);
            for &step in &block.steps {
                self.step(&mut scope, &facts, step);
                facts.step(kernel, step);
            }
            self.end_of(&mut scope, &blocks, end_of(block.end, always[id]));
        }
        for (reason, block) in scope.drops.iter().enumerate() {
            let Some(block) = *block else { continue };
            self.body.switch_to_block(block);
            self.count_drop(words, kernel.words.len() + reason);
            let free = self.free_for(at);
            self.body.ins().jump(free, &[]);
        }
    }

    /// Passes the facts on to later blocks: unchanged to those with one edge only.
    fn hand_on(&mut self, scope: &mut Scope<'_>, to: &[BlockId]) {
        if to.iter().any(|&to| scope.ways[to] > 1) {
            self.write_known();
        }
        for &to in to {
            let goes_on = scope.ways[to] == 1;
            scope.known[to] = goes_on.then(|| self.known.clone());
        }
    }

    fn end_of(&mut self, scope: &mut Scope<'_>, blocks: &IdVec<BlockId, Code>, end: End) {
        match end {
            End::Jump(to) => {
                self.hand_on(scope, &[to]);
                self.body.ins().jump(blocks[to], &[]);
            }
            End::If(value, yes, no) => {
                self.hand_on(scope, &[yes, no]);
                let value = scope.get(value);
                self.body.ins().brif(value, blocks[yes], &[], blocks[no], &[]);
            }
            End::Test(test, yes, no) => {
                // It reads the packet itself.
                self.write_known();
                self.hand_on(scope, &[yes, no]);
                let (data, length) = (self.body.use_var(self.data), self.body.use_var(self.length));
                let packet = PacketValues { data, length, packet: self.body.use_var(self.buffer) };
                let test = &scope.kernel.tests[test as usize];
                test.write(self.body, packet, blocks[yes], blocks[no]);
            }
            End::Emit(output) => self.emit(scope.at, output),
            End::EmitAll => self.emit_all(scope.at),
            End::Drop(reason) => {
                let block = self.drop_for(scope, reason);
                self.body.ins().jump(block, &[]);
            }
            End::Take => {
                // It has no reader any more, but it has arrived, whole.
                self.write_known();
                let free = self.free_for(scope.at);
                self.body.ins().jump(free, &[]);
            }
        }
    }

    fn drop_for(&mut self, scope: &mut Scope<'_>, reason: u32) -> Code {
        let known = &mut scope.drops[reason as usize];
        *known.get_or_insert_with(|| self.body.cold_block())
    }

    /// Continues where `good` is not 0; else the packet is dropped.
    fn or_drop(&mut self, scope: &mut Scope<'_>, good: Number, reason: u32) {
        let (on, drop) = (self.body.create_block(), self.drop_for(scope, reason));
        self.body.ins().brif(good, on, &[], drop, &[]);
        self.body.switch_to_block(on);
    }

    fn step(&mut self, scope: &mut Scope<'_>, known: &Facts, step: Step) {
        match step {
            Step::Let(value, _) if scope.is_linear(value) => {}
            Step::SetWord(_, value) if scope.is_linear(value) => {}
            Step::Let(value, expr) => {
                let number = self.expr(scope, expr);
                scope.set(value, number);
            }
            Step::SetWord(word, value) => match self.sites[scope.at].words[word as usize] {
                Some(register) => self.body.def_var(register, scope.get(value)),
                None => self.body.store_word(scope.get(value), scope.words, word as usize * 8),
            },
            Step::SetMark(value) => {
                let packet = self.body.use_var(self.buffer);
                let value = scope.get(value);
                self.body.store_aligned(value, packet, buffer::MARK as i32);
            }
            Step::Store(width, place, value) => {
                let value = scope.get(value);
                match place.base {
                    None => self.store_known(width, place.offset, value),
                    Some(base) => self.store_after(width, scope.get(base), place.offset, value),
                }
            }
            Step::Need(place, _) if known.reach(place) => {}
            Step::Need(place, reason) => self.need(scope, place, reason),
            Step::Prepend(bytes, reason) => {
                self.forget();
                self.prepend(scope, bytes, reason);
            }
            Step::Strip(bytes) => {
                self.forget();
                let bytes = self.body.ins().iconst(types::I64, i64::from(bytes));
                self.strip(bytes);
            }
            Step::StripTo(place) => {
                self.forget();
                self.strip_to(scope, place);
            }
            Step::Truncate(value) => {
                self.forget();
                self.truncate(scope.get(value));
            }
            Step::Shorten(value) => {
                self.forget();
                self.shorten(scope.get(value));
            }
            Step::Clone(output) => self.clone_to(scope.at, output),
            Step::Put(table, entry, at, value) => {
                let (entry, value) = (scope.get(entry), scope.get(value));
                self.put(scope.at, table, entry, at, value);
            }
            Step::Refresh(table, entry) => self.refresh(scope.at, table, scope.get(entry)),
            Step::Delete(table, entry) => self.delete(scope.at, table, scope.get(entry)),
            Step::Draft(table, word, value) => {
                let (_, addresses) = self.table(scope.at, table);
                self.body.store_word(scope.get(value), addresses.draft, word as usize * 8);
            }
        }
    }

    /// Takes off the bytes before a place.
    fn strip_to(&mut self, scope: &mut Scope<'_>, place: Address) {
        let offset = self.body.ins().iconst(types::I64, i64::from(place.offset));
        let bytes = match place.base {
            None => offset,
            Some(base) => self.body.ins().iadd(scope.get(base), offset),
        };
        self.strip(bytes);
    }

    /// Drops the packet unless its bytes reach so far.
    pub(super) fn need(&mut self, scope: &mut Scope<'_>, place: Address, reason: u32) {
        let length = self.body.use_var(self.length);
        let offset = self.body.ins().iconst(types::I64, i64::from(place.offset));
        let good = match place.base {
            None => self.body.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, length, offset),
            Some(base) => {
                let base = scope.get(base);
                self.has_behind(base, offset, length)
            }
        };
        self.or_drop(scope, good, reason);
    }

    /// Takes bytes off the front.
    fn strip(&mut self, bytes: Number) {
        let start = self.body.use_var(self.start);
        let start = self.body.ins().iadd(start, bytes);
        let length = self.body.use_var(self.length);
        let length = self.body.ins().isub(length, bytes);
        let data = self.body.use_var(self.data);
        let data = self.body.ins().iadd(data, bytes);
        self.moved(start, length, data);
    }

    /// Cuts the packet to a length, if it is longer; what is cut off was on the wire.
    fn truncate(&mut self, value: Number) {
        let before = self.body.use_var(self.length);
        let length = self.body.ins().umin(before, value);
        let packet = self.body.use_var(self.buffer);
        let cut = self.body.ins().isub(before, length);
        let missing = self.missing(packet);
        let missing = self.body.ins().iadd(missing, cut);
        self.body.store_aligned(missing, packet, buffer::MISSING as i32);
        let (start, data) = (self.body.use_var(self.start), self.body.use_var(self.data));
        self.moved(start, length, data);
    }

    /// The same, but the packet is no longer on the wire either.
    fn shorten(&mut self, value: Number) {
        let before = self.body.use_var(self.length);
        let packet = self.body.use_var(self.buffer);
        let missing = self.missing(packet);
        let wire = self.body.ins().iadd(before, missing);
        let [length, wire] = [before, wire].map(|bytes| self.body.ins().umin(bytes, value));
        let missing = self.body.ins().isub(wire, length);
        self.body.store_aligned(missing, packet, buffer::MISSING as i32);
        let (start, data) = (self.body.use_var(self.start), self.body.use_var(self.data));
        self.moved(start, length, data);
    }

    /// The sum of the words from a place to the end of the packet.
    fn sum(&mut self, place: Address, base: Option<Number>) -> Number {
        // It is the packet that is read.
        self.write_known();
        let from = self.body.ins().iconst(types::I64, i64::from(place.offset));
        let from = base.map_or(from, |base| self.body.ins().iadd(base, from));
        let (data, length) = (self.body.use_var(self.data), self.body.use_var(self.length));
        let data = self.body.ins().iadd(data, from);
        let bytes = self.body.ins().isub(length, from);
        self.body.call(self.imports.sum, &[data, bytes])[0]
    }

    /// Bytes that were on the wire and are not here.
    fn missing(&mut self, packet: Number) -> Number {
        self.body.load_aligned(types::I64, packet, buffer::MISSING as i32)
    }

    /// Whether a packet has `offset` bytes after `base`, where the sum may be too great.
    fn has_behind(&mut self, base: Number, offset: Number, length: Number) -> Number {
        let near = self.body.ins().icmp(IntCC::UnsignedLessThanOrEqual, base, length);
        let rest = self.body.ins().isub(length, base);
        let enough = self.body.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, rest, offset);
        self.body.ins().band(near, enough)
    }

    /// The packet begins or ends elsewhere: in registers and in its buffer.
    fn moved(&mut self, start: Number, length: Number, data: Number) {
        let packet = self.body.use_var(self.buffer);
        self.body.ins().istore32(aligned(), start, packet, buffer::START as i32);
        self.body.ins().istore32(aligned(), length, packet, buffer::LENGTH as i32);
        for (variable, value) in [(self.start, start), (self.length, length), (self.data, data)] {
            self.body.def_var(variable, value);
        }
    }

    /// Zeros before the packet: where the headroom is enough at once, else by a call, after
    /// which it may have another buffer.
    fn prepend(&mut self, scope: &mut Scope<'_>, bytes: u32, reason: u32) {
        let bytes = i64::from(bytes);
        let (start, length) = (self.body.use_var(self.start), self.body.use_var(self.length));
        let room = self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, start, bytes);
        let most = BYTES_MAX as i64 - bytes;
        let fits = self.body.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, length, most);
        let easy = self.body.ins().band(room, fits);
        let [here, call, moved, on] = [(); 4].map(|()| self.body.create_block());
        self.body.set_cold_block(call);
        self.body.set_cold_block(moved);
        self.body.ins().brif(easy, here, &[], call, &[]);
        self.body.switch_to_block(call);
        let (packet, count) = (self.body.use_var(self.buffer), bytes);
        let count = self.body.ins().iconst(types::I64, count);
        self.write_free();
        let done = self.body.call(self.imports.prepend, &[packet, count])[0];
        self.read_free();
        let drop = self.drop_for(scope, reason);
        self.body.ins().brif(done, moved, &[], drop, &[]);
        self.body.switch_to_block(moved);
        self.body.def_var(self.buffer, done);
        self.look();
        self.body.ins().jump(on, &[]);
        self.body.switch_to_block(here);
        let start = self.body.ins().iadd_imm_s(start, -bytes);
        let length = self.body.ins().iadd_imm_u(length, bytes);
        let data = self.body.use_var(self.data);
        let data = self.body.ins().iadd_imm_s(data, -bytes);
        self.moved(start, length, data);
        self.zeros(data, bytes as i32);
        self.body.ins().jump(on, &[]);
        self.body.switch_to_block(on);
    }

    fn zeros(&mut self, data: Number, bytes: i32) {
        let none = self.body.ins().iconst(types::I64, 0);
        let flags = unaligned();
        let mut at = 0;
        while at < bytes {
            match bytes - at {
                8.. => self.body.ins().store(flags, none, data, at),
                4.. => self.body.ins().istore32(flags, none, data, at),
                2.. => self.body.ins().istore16(flags, none, data, at),
                _ => self.body.ins().istore8(flags, none, data, at),
            };
            at += match bytes - at {
                8.. => 8,
                4.. => 4,
                2.. => 2,
                _ => 1,
            };
        }
    }

    pub(super) fn expr(&mut self, scope: &Scope<'_>, expr: Expr) -> Number {
        match expr {
            Expr::Const(number) => self.body.ins().iconst(types::I64, number.cast_signed()),
            Expr::Length => self.body.use_var(self.length),
            Expr::WireLength => {
                let (packet, length) =
                    (self.body.use_var(self.buffer), self.body.use_var(self.length));
                let missing = self.missing(packet);
                self.body.ins().iadd(length, missing)
            }
            Expr::Now => self.body.load_word(self.blueprint.now, 0),
            Expr::Mark => {
                let packet = self.body.use_var(self.buffer);
                self.body.load_aligned(types::I64, packet, buffer::MARK as i32)
            }
            Expr::Input if scope.at == 0 => self.body.use_var(self.input),
            Expr::Input => {
                let input = self.input_of(scope.at) as i64;
                self.body.ins().iconst(types::I64, input)
            }
            Expr::Word(word) => match self.sites[scope.at].words[word as usize] {
                Some(register) => self.body.use_var(register),
                None => {
                    let base = self.body.address(scope.words);
                    self.body.load_aligned(types::I64, base, word as i32 * 8)
                }
            },
            Expr::Linked(output) => {
                let outputs = &self.blueprint.apps[self.app(scope.at)].outputs;
                let linked = outputs.get(output as usize).copied().flatten().is_some();
                self.body.ins().iconst(types::I64, i64::from(linked))
            }
            Expr::Load(width, place) => match place.base {
                None => self.load_known(width, place.offset),
                Some(base) => self.load_after(width, scope.get(base), place.offset),
            },
            Expr::Sum(place) => self.sum(place, place.base.map(|base| scope.get(base))),
            Expr::Binary(operator, a, b) => self.binary(operator, scope.operands(a, b)),
            Expr::Find(table, key) => {
                let words: Vec<Number> = key.words().iter().map(|&it| scope.get(it)).collect();
                self.find(scope.at, table, &words)
            }
            Expr::Insert(table) => self.insert(scope.at, table),
            Expr::EntryKey(table, entry, word) => {
                self.entry_word(scope.at, table, scope.get(entry), word as usize)
            }
            Expr::Get(table, entry, at) => self.get_value(scope.at, table, scope.get(entry), at),
            Expr::Entry(_) => unreachable!("code is made of what packets meet"),
        }
    }
}
