//! The rings after a run: opened before its loop, filled in it, closed after it.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Value, types};

use super::writer::{Out, Writer, slot_of};
use crate::link::{QUEUED_MAX, offsets as ring};

impl Writer<'_, '_, '_> {
    pub fn open(&mut self, link: usize, of: usize) {
        let keeps_limits = self.has_registers();
        let limits = self.limits(link);
        let (write, bytes) = (self.counter(limits.0), self.zero_counter());
        let limits = keeps_limits.then_some(limits);
        self.outs.push(Out { link, at: of, write, bytes, limits, block: None, is_used: false });
    }

    /// Where to write in the ring of a link, and where it is full, as the function begins.
    fn limits(&mut self, link: usize) -> (Value, Value) {
        let at = self.blueprint.links[link].ring;
        let begin = self.body.load_word(at, ring::WRITE);
        let read = self.body.load_word(at, ring::READ);
        (begin, self.body.ins().iadd_imm_u(read, QUEUED_MAX as i64))
    }

    /// The ring of a link after the run, to which code that is about to be written sends.
    pub fn out_of(&mut self, link: usize) -> usize {
        let out = self.outs.iter().position(|out| out.link == link);
        let out = out.expect("rings after the run are open");
        self.outs[out].is_used = true;
        out
    }

    /// Puts the packet into the ring of a link; continues at `after`.
    pub fn send_over(&mut self, link: usize, after: Block) {
        let out = self.out_of(link);
        self.send(out, after);
    }

    /// Puts the packet into a ring, or drops and counts it; continues at `after`.
    pub fn send(&mut self, out: usize, after: Block) {
        let Out { link, write, bytes, limits, .. } = self.outs[out];
        let at = self.blueprint.links[link].ring;
        let (room, none) = (self.body.create_block(), self.body.cold_block());
        let (_, full) = limits.unwrap_or_else(|| self.limits(link));
        let index = self.read(write);
        let is_full = self.body.ins().icmp(IntCC::Equal, index, full);
        self.body.ins().brif(is_full, none, &[], room, &[]);
        self.body.switch_to_block(none);
        let one = self.body.ins().iconst(types::I64, 1);
        self.body.add_to_word(at, ring::DROPS, one);
        let free = self.free_before(after);
        self.body.ins().jump(free, &[]);
        self.body.switch_to_block(room);
        let base = self.body.address(at);
        let slot = slot_of(self.body, base, index);
        let packet = self.body.use_var(self.buffer);
        self.body.store_aligned(packet, slot, ring::SLOTS as i32);
        let one = self.body.ins().iconst(types::I64, 1);
        self.count(write, one);
        let length = self.body.use_var(self.length);
        self.count(bytes, length);
        self.body.ins().jump(after, &[]);
    }

    pub fn close(&mut self, out: usize) {
        let Out { link, write, bytes, limits, is_used, .. } = self.outs[out];
        if !is_used {
            return;
        }
        let part = &self.blueprint.links[link];
        let (begin, full) = limits.unwrap_or_else(|| self.limits(link));
        let now = self.read(write);
        self.body.store_word(now, part.ring, ring::WRITE);
        let bytes = self.read(bytes);
        self.body.add_to_word(part.ring, ring::TX_BYTES, bytes);
        // It was empty, as `full` is `QUEUED_MAX` beyond what was read, and is no longer.
        let empty = self.body.ins().iadd_imm_u(begin, QUEUED_MAX as i64);
        let was_empty = self.body.ins().icmp(IntCC::Equal, empty, full);
        let grew = self.body.ins().icmp(IntCC::NotEqual, now, begin);
        let news = self.body.ins().band(was_empty, grew);
        let (notify, on) = (self.body.create_block(), self.body.create_block());
        self.body.ins().brif(news, notify, &[], on, &[]);
        self.body.switch_to_block(notify);
        let base = self.body.address(part.ring);
        if part.is_watched {
            self.body.call(self.imports.notify, &[base]);
            self.body.ins().jump(on, &[]);
        } else {
            let flag = self.body.load_aligned(types::I64, base, ring::WAITING as i32);
            let set = self.body.create_block();
            self.body.ins().brif(flag, set, &[], on, &[]);
            self.body.switch_to_block(set);
            let one = self.body.ins().iconst(types::I8, 1);
            self.body.store_aligned(one, flag, 0);
            self.body.ins().jump(on, &[]);
        }
        self.body.switch_to_block(on);
    }
}
