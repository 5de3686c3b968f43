//! The sources of a run's packets, and where they end: links, and the pool.
//!
//! The head of the freelist is in a register while a run lasts. Packets that a run takes from the
//! pool itself are known to belong to it.

use tidemill_jit::asm::aligned;
use tidemill_jit::build::{Block, InstBuilder, IntCC, Type, Value, Variable, types};

use super::ahead::Queue;
use super::writer::{Feed, Writer, slot_of};
use crate::kernel::Step;
use crate::link::offsets as ring;
use crate::packet::{HEADROOM, offsets as buffer};

/// Bytes that are copied or cleared without a call, if it is known how many.
const INLINE_MAX: u64 = 256;

/// Lengths that are copied without a call: as two halves of up to this many bytes, which may
/// overlap.
const HALF: i64 = 32;

impl Writer<'_, '_, '_> {
    /// The loop over links: takes each packet of each link, and enters the first kernel with it.
    pub(super) fn packets(&mut self, done: Block) {
        let inputs = self.blueprint.apps[self.app(0)].inputs.iter();
        let links: Vec<(usize, usize)> =
            inputs.enumerate().filter_map(|(input, link)| Some((input, (*link)?))).collect();
        let [at, end, last, from, which] = [(); 5].map(|()| self.zero());
        let begin = self.body.create_block();
        let setups: Vec<Block> = links.iter().map(|_| self.body.create_block()).collect();
        self.body.ins().jump(setups[0], &[]);
        for (number, (&(input, link), &setup)) in links.iter().zip(&setups).enumerate() {
            self.body.switch_to_block(setup);
            let base = self.body.address(self.blueprint.links[link].ring);
            let read = self.body.load_aligned(types::I64, base, ring::READ as i32);
            let write = self.body.load_aligned(types::I64, base, ring::WRITE as i32);
            let count = self.body.ins().isub(write, read);
            let before = self.body.use_var(self.taken);
            let taken = self.body.ins().iadd(before, count);
            // All that is queued is taken, and the ring has no other user meanwhile.
            self.body.store_aligned(write, base, ring::READ as i32);
            let number = self.body.ins().iconst(types::I64, number as i64);
            let input = self.body.ins().iconst(types::I64, input as i64);
            self.body.def_var(self.input, input);
            for (variable, value) in
                [(self.taken, taken), (at, read), (last, write), (from, base), (which, number)]
            {
                self.body.def_var(variable, value);
            }
            self.body.ins().jump(begin, &[]);
        }
        self.body.switch_to_block(begin);
        let is_taken_in_parts = self.look_ahead(Queue { at, end, last, from });
        let (take, over) = (self.body.create_block(), self.body.create_block());
        self.body.switch_to_block(self.next);
        let (index, stop) = (self.body.use_var(at), self.body.use_var(end));
        let is_over = self.body.ins().icmp(IntCC::Equal, index, stop);
        self.body.ins().brif(is_over, over, &[], take, &[]);
        self.body.switch_to_block(over);
        if is_taken_in_parts {
            let all = self.body.create_block();
            let last = self.body.use_var(last);
            let is_all = self.body.ins().icmp(IntCC::Equal, index, last);
            self.body.ins().brif(is_all, all, &[], begin, &[]);
            self.body.switch_to_block(all);
        }
        for (number, &setup) in setups.iter().enumerate().skip(1) {
            let current = self.body.use_var(which);
            let is_it = self.body.ins().icmp_imm_u(IntCC::Equal, current, number as i64 - 1);
            let other = self.body.create_block();
            self.body.ins().brif(is_it, setup, &[], other, &[]);
            self.body.switch_to_block(other);
        }
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(take);
        self.take_from(from, at);
        let entry = self.sites[0].entry;
        self.body.ins().jump(entry, &[]);
    }

    /// The next packet of a ring becomes the packet, and its index grows.
    pub(super) fn take_from(&mut self, ring: Variable, at: Variable) {
        let (base, index) = (self.body.use_var(ring), self.body.use_var(at));
        let slot = slot_of(self.body, base, index);
        let packet = self.body.load_aligned(types::I64, slot, ring::SLOTS as i32);
        let index = self.body.ins().iadd_imm_u(index, 1);
        self.body.def_var(at, index);
        self.body.def_var(self.buffer, packet);
        self.look();
    }

    /// The loop of a source: makes `count` packets.
    pub(super) fn fresh(&mut self, count: Value, done: Block) {
        let (kernel, _) = self.kernel(0);
        let bytes = kernel.supply.map_or(0, |supply| supply.bytes);
        let left = self.zero();
        self.body.def_var(left, count);
        self.body.def_var(self.allocated, count);
        let now = self.body.load_word(self.blueprint.now, 0);
        self.body.ins().jump(self.next, &[]);
        self.body.switch_to_block(self.next);
        let take = self.body.create_block();
        let more = self.body.use_var(left);
        self.body.ins().brif(more, take, &[], done, &[]);
        self.body.switch_to_block(take);
        let more = self.body.ins().iadd_imm_s(more, -1);
        self.body.def_var(left, more);
        // There is one: the room in the pool was checked before.
        self.take(done);
        let packet = self.body.use_var(self.buffer);
        let (start, length) = (HEADROOM as i64, i64::from(bytes));
        let both =
            if cfg!(target_endian = "big") { start << 32 | length } else { length << 32 | start };
        let both = self.body.ins().iconst(types::I64, both);
        // Start, length and birth; then time and mark; then what is missing and flags.
        let head = self.body.ins().splat(types::I64X2, both);
        let head = self.body.ins().insertlane(head, now, 1);
        self.body.store_aligned(head, packet, HEAD as i32);
        let none = self.body.ins().iconst(types::I64, 0);
        let none = self.body.ins().splat(types::I64X2, none);
        self.body.store_aligned(none, packet, buffer::MISSING as i32);
        self.body.store_aligned(none, packet, HEAD as i32 + 16);
        let first = (buffer::BYTES + HEADROOM) as i64;
        let data = self.body.ins().iadd_imm_u(packet, first);
        self.clear(data, bytes.into());
        let start = self.body.ins().iconst(types::I64, start);
        let length = self.body.ins().iconst(types::I64, length);
        for (variable, value) in [(self.start, start), (self.length, length), (self.data, data)] {
            self.body.def_var(variable, value);
        }
        let entry = self.sites[0].entry;
        self.body.ins().jump(entry, &[]);
    }

    /// Takes a buffer from the pool, or goes to `none` if there is none.
    fn take(&mut self, none: Block) {
        let [empty, grown, there] = [(); 3].map(|()| self.body.create_block());
        let first = self.body.use_var(self.first_free);
        self.body.set_cold_block(empty);
        self.body.ins().brif(first, there, &[], empty, &[]);
        self.body.switch_to_block(empty);
        let pool = self.body.address(self.blueprint.pool.itself);
        self.body.store_word(first, self.blueprint.pool.free, 0);
        let more = self.body.call(self.imports.grow, &[pool])[0];
        self.body.def_var(self.first_free, more);
        self.body.set_cold_block(grown);
        self.body.ins().brif(more, grown, &[], none, &[]);
        self.body.switch_to_block(grown);
        self.body.ins().jump(there, &[]);
        self.body.switch_to_block(there);
        let packet = self.body.use_var(self.first_free);
        let next = self.body.load_aligned(types::I64, packet, buffer::NEXT as i32);
        self.body.def_var(self.first_free, next);
        self.body.def_var(self.buffer, packet);
    }

    /// Makes a copy of the packet of kernel `at`, which becomes the packet; without one, continues
    /// at `none`.
    pub(super) fn copy(&mut self, at: usize, none: Block) {
        let variables = [self.buffer, self.start, self.length, self.data];
        let [itself, start, length, data] = variables.map(|variable| self.body.use_var(variable));
        let on = self.body.create_block();
        if !self.is_pool_known() {
            let (ours, theirs) = (self.body.create_block(), self.body.cold_block());
            let is_ours = self.is_ours(itself);
            self.body.ins().brif(is_ours, ours, &[], theirs, &[]);
            self.body.switch_to_block(theirs);
            let copy = self.body.call(self.imports.duplicate, &[itself])[0];
            self.body.def_var(self.buffer, copy);
            let there = self.body.cold_block();
            let failed = self.body.cold_block();
            self.body.ins().brif(copy, there, &[], failed, &[]);
            self.body.switch_to_block(failed);
            let io = self.body.address(self.blueprint.apps[self.app(at)].io);
            self.body.call(self.imports.no_packet, &[io]);
            self.body.ins().jump(none, &[]);
            self.body.switch_to_block(there);
            self.look();
            self.body.ins().jump(on, &[]);
            self.body.switch_to_block(ours);
        }
        self.take(none);
        if self.sites[at].copies.is_none() {
            let one = self.body.ins().iconst(types::I64, 1);
            self.add(self.allocated, one);
        }
        let copy = self.body.use_var(self.buffer);
        self.copy_head(at, copy, itself);
        let to = self.body.ins().iadd(copy, start);
        let to = self.body.ins().iadd_imm_u(to, buffer::BYTES as i64);
        match self.length_after(at) {
            Some(known) if known <= INLINE_MAX => self.copy_known(to, data, known),
            _ => self.copy_bytes(to, data, length),
        }
        self.body.def_var(self.data, to);
        self.body.ins().jump(on, &[]);
        self.body.switch_to_block(on);
    }

    /// Copies the description of a packet from its buffer. Three loads are enough where none of it
    /// has just been written in parts, which would defeat store forwarding.
    fn copy_head(&mut self, at: usize, to: Value, from: Value) {
        if self.keeps_head(at) {
            let parts = [HEAD as i32, HEAD as i32 + 16, HEAD as i32 + 32];
            let loads = parts.map(|at| (at, self.body.load_aligned(types::I64X2, from, at)));
            for (at, value) in loads {
                self.body.store_aligned(value, to, at);
            }
            return;
        }
        let (start, length) = (self.body.use_var(self.start), self.body.use_var(self.length));
        self.body.ins().istore32(aligned(), start, to, buffer::START as i32);
        self.body.ins().istore32(aligned(), length, to, buffer::LENGTH as i32);
        let words = [buffer::BORN, buffer::TIME, buffer::MARK, buffer::MISSING, buffer::FLAGS];
        for offset in words {
            let word = self.body.load_aligned(types::I64, from, offset as i32);
            self.body.store_aligned(word, to, offset as i32);
        }
    }

    /// Whether neither a kernel nor those before it in the run change the description.
    fn keeps_head(&self, at: usize) -> bool {
        let (kernel, _) = self.kernel(at);
        let mut steps = kernel.blocks.iter().flat_map(|block| &block.steps);
        let changes = |step: &Step| matches!(step, Step::SetMark(_)) || step.changes_length();
        let before = self.run.before[at];
        !steps.any(changes) && (before == at || self.keeps_head(before))
    }

    /// Copies a constant number of bytes.
    fn copy_known(&mut self, to: Value, from: Value, bytes: u64) {
        let mut moves = Vec::new();
        for (at, kind) in pieces(bytes) {
            moves.push((at, self.body.load(kind, from, at)));
        }
        for (at, value) in moves {
            self.body.store(value, to, at);
        }
    }

    fn copy_bytes(&mut self, to: Value, from: Value, length: Value) {
        let [short, long, on] = [(); 3].map(|()| self.body.create_block());
        let over = self.body.ins().iadd_imm_s(length, -HALF);
        let is_short = self.body.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, over, HALF);
        self.body.ins().brif(is_short, short, &[], long, &[]);
        self.body.switch_to_block(short);
        // The second half ends where the packet ends.
        let second = [from, to].map(|half| self.body.ins().iadd(half, over));
        let mut moves = Vec::new();
        for (from, to) in [(from, to), (second[0], second[1])] {
            for at in [0, 16] {
                moves.push((self.body.load(types::I64X2, from, at), to, at));
            }
        }
        for (value, to, at) in moves {
            self.body.store(value, to, at);
        }
        self.body.ins().jump(on, &[]);
        self.body.switch_to_block(long);
        self.body.call(self.imports.copy, &[to, from, length]);
        self.body.ins().jump(on, &[]);
        self.body.switch_to_block(on);
    }

    /// Zeros from an address on.
    fn clear(&mut self, data: Value, bytes: u64) {
        if bytes > INLINE_MAX {
            let bytes = self.body.ins().iconst(types::I64, bytes as i64);
            self.body.call(self.imports.clear, &[data, bytes]);
            return;
        }
        let none = self.body.ins().iconst(types::I64, 0);
        let wide = self.body.ins().splat(types::I64X2, none);
        for (at, kind) in pieces(bytes) {
            let value = match kind {
                types::I64X2 => wide,
                types::I64 => none,
                kind => self.body.ins().ireduce(kind, none),
            };
            self.body.store(value, data, at);
        }
    }

    /// Whether all packets of the run have buffers of the freelist that the code uses. Those of
    /// links may be of other pools or sizes, and what grows may move.
    fn is_pool_known(&self) -> bool {
        let steps = |at| self.kernel(at).0.blocks.iter().flat_map(|block| &block.steps);
        let grows = |at| steps(at).any(|step| matches!(step, Step::Prepend(..)));
        self.run.feed == Feed::Pool && !(0..self.sites.len()).any(grows)
    }

    /// The first of the freelist is in memory: a call may take buffers, and give some back.
    pub(super) fn write_free(&mut self) {
        let first = self.body.use_var(self.first_free);
        self.body.store_word(first, self.blueprint.pool.free, 0);
    }

    /// See [`write_free`](Self::write_free): after the call.
    pub(super) fn read_free(&mut self) {
        let first = self.body.load_word(self.blueprint.pool.free, 0);
        self.body.def_var(self.first_free, first);
    }

    /// Whether a packet is of the freelist that the code uses.
    fn is_ours(&mut self, packet: Value) -> Value {
        let home = self.body.load_aligned(types::I64, packet, buffer::HOME as i32);
        let itself = self.body.address(self.blueprint.pool.itself);
        self.body.ins().icmp(IntCC::Equal, home, itself)
    }

    /// Where a packet is freed that was at kernel `at`.
    pub(super) fn free_for(&mut self, at: usize) -> Block {
        self.free_before(self.sites[at].after)
    }

    /// A block that frees the packet and continues at `after`.
    pub(super) fn free_before(&mut self, after: Block) -> Block {
        if let Some(&(_, block)) = self.frees.iter().find(|(of, _)| *of == after) {
            return block;
        }
        let block = self.body.create_block();
        self.frees.push((after, block));
        block
    }

    /// Packets go back to the freelist; to that of another pool by a call.
    pub(super) fn give_back(&mut self) {
        for (after, block) in std::mem::take(&mut self.frees) {
            self.body.switch_to_block(block);
            let packet = self.body.use_var(self.buffer);
            if !self.is_pool_known() {
                let (ours, theirs) = (self.body.create_block(), self.body.cold_block());
                let is_ours = self.is_ours(packet);
                self.body.ins().brif(is_ours, ours, &[], theirs, &[]);
                self.body.switch_to_block(theirs);
                self.body.call(self.imports.free, &[packet]);
                self.body.ins().jump(after, &[]);
                self.body.switch_to_block(ours);
            }
            let first = self.body.use_var(self.first_free);
            self.body.store_aligned(first, packet, buffer::NEXT as i32);
            self.body.def_var(self.first_free, packet);
            let one = self.body.ins().iconst(types::I64, 1);
            self.add(self.freed, one);
            self.body.ins().jump(after, &[]);
        }
    }

    /// Writes back what is the pool's.
    pub(super) fn close_pool(&mut self) {
        let pool = &self.blueprint.pool;
        let first = self.body.use_var(self.first_free);
        self.body.store_word(first, pool.free, 0);
        let allocated = self.body.use_var(self.allocated);
        self.body.add_to_word(pool.allocated, 0, allocated);
        let freed = self.body.use_var(self.freed);
        self.body.add_to_word(pool.freed, 0, freed);
    }
}

/// The description of a packet in its buffer, in three words of 16 bytes: start, length, birth,
/// time, mark, missing bytes, and flags.
const HEAD: usize = buffer::START;

const _: () = {
    let follows =
        [buffer::LENGTH, buffer::BORN, buffer::TIME, buffer::MARK, buffer::MISSING, buffer::FLAGS];
    let mut at = 0;
    while at < follows.len() {
        assert!(follows[at] == HEAD + [4, 8, 16, 24, 32, 40][at], "they lie one after the other");
        at += 1;
    }
    assert!(HEAD.is_multiple_of(16), "they are written 16 bytes at once");
};

/// Offsets and types that cover `bytes` bytes; the last may overlap the one before.
fn pieces(bytes: u64) -> Vec<(i32, Type)> {
    let kinds = [(16, types::I64X2), (8, types::I64), (4, types::I32), (2, types::I16)];
    let (size, kind) = *kinds.iter().find(|(size, _)| *size <= bytes).unwrap_or(&(1, types::I8));
    let mut pieces: Vec<(i32, _)> =
        (0..bytes / size).map(|piece| ((piece * size) as i32, kind)).collect();
    if !bytes.is_multiple_of(size) {
        pieces.push(((bytes - size) as i32, kind));
    }
    pieces
}
