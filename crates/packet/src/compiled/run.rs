//! Runs of kernels as loops over packets.
//!
//! ```text
//! for each packet: of the links into the first kernel, or fresh from the pool
//!   kernel, kernel, ... kernel        the packet's start, length and header in registers
//!   -> a ring after the run, or the pool
//! write indexes of rings, words of kernels, counters of the pool and of the links between
//! ```
//! A link between kernels has no ring to fill, but its counters are those that it would have. Where
//! a kernel lets every packet through without changing its length, they are those of the link
//! before, and cost nothing; so it is with words of kernels that grow with each packet. What else
//! is counted per packet is counted in registers, and written when the loop ends: nothing reads it
//! meanwhile.
//!
//! Where a kernel copies a packet, each copy is processed to its end before the next is made; the
//! kernels on their ways share nothing, so that is the same as one kernel after the other.
//!
//! The function is written in this order: counters and words in registers ([`Writer::plan`],
//! [`super::totals`]); the loop that takes packets ([`super::feed`]); the kernels, in the order of
//! the run ([`super::versions`]), with the jumps between them; sends to rings ([`super::rings`]);
//! frees ([`Writer::give_back`]); what is written when the loop ends ([`Writer::end`]). A run of
//! two kernels, the first of which may also send to a ring:
//!
//! ```text
//! begin:   next of the link; words; head of the freelist
//! next:    none left? -> done      else take the packet -> entry 0
//! entry 0: its steps   emit 0 -> entry 1   emit 1 -> send a   drop -> free
//! entry 1: its steps   emit 0 -> send b                       drop -> free
//! send a:  full? count the drop -> free    else store it -> next
//! send b:  likewise
//! free:    to the freelist -> next
//! done:    counters, words, write indexes to memory; notify
//! ```
//! After a kernel that copies, `next` is the next copy: each [`Site`] has its own successor
//! ([`Site::after`]).
//!
//! Invariants:
//!
//! 1. Between two kernels the variables `buffer`, `data`, `start` and `length` describe the packet.
//! 2. A kernel comes after its predecessor in the run. So all jumps to its entry are written, and
//!    its [`Site`] is complete, when its own code is written ([`Writer::enter`] asserts it).
//! 3. Facts about bytes ([`Known`]) pass to the next kernel only if it is entered at one point: it
//!    is then a block with a single predecessor. Elsewhere the bytes are written to the packet, and
//!    nothing is known.
//! 4. While the loop runs, the write indexes of rings after the run, the head of the freelist and
//!    some words of kernels are in variables; memory has the values of the beginning. The head of
//!    the freelist is written before a call grows the pool, and read after it.
//!
//! [`Known`]: super::known::Known

use tidemill_jit::build::{Block, CallConv, InstBuilder, IntCC, Value, signature, types};
use tidemill_jit::{Error, FuncId, Module};

use super::blueprint::Blueprint;
use super::counter::Counter;
use super::counts::{Between, Count, Counted};
use super::imports::Imports;
use super::writer::{Feed, Run, Site, Writer};
use crate::kernel::flow;
use crate::packet::offsets as buffer;

/// Words of kernels that are kept in registers, at most: beyond that they would not fit.
const WORDS_MAX: usize = 16;

/// Defines the function of a run.
pub(super) fn define(
    module: &mut Module,
    imports: &Imports,
    blueprint: &Blueprint,
    run: &Run,
) -> Result<FuncId, Error> {
    let names: Vec<&str> = run.apps.iter().map(|&app| blueprint.apps[app].name.as_str()).collect();
    let parameters = if run.feed == Feed::Pool { &[types::I64][..] } else { &[] };
    let id = module.declare(names.join("+"), signature(CallConv::SystemV, parameters, &[]));
    module.define(id, |body| {
        let count = body.begin().first().copied();
        let mut writer = Writer::new(body, imports, blueprint, run);
        writer.write(count);
    })?;
    Ok(id)
}

impl Writer<'_, '_, '_> {
    fn write(&mut self, count: Option<Value>) {
        let none = self.body.ins().iconst(types::I64, 0);
        for variable in [self.allocated, self.freed, self.input] {
            self.body.def_var(variable, none);
        }
        let first = self.body.load_word(self.blueprint.pool.free, 0);
        self.body.def_var(self.first_free, first);
        self.body.def_var(self.taken, count.unwrap_or(none));
        self.plan();
        let done = self.body.create_block();
        match count {
            Some(count) => self.fresh(count, done),
            None => self.packets(done),
        }
        for at in 0..self.run.apps.len() {
            self.body.switch_to_block(self.sites[at].entry);
            self.note_oldest(at);
            self.known = self.sites[at].known.take().unwrap_or_default();
            self.writing = at;
            self.versions(at);
        }
        for at in 0..self.outs.len() {
            if let Some(block) = self.outs[at].block {
                self.body.switch_to_block(block);
                let after = self.sites[self.outs[at].at].after;
                self.send(at, after);
            }
        }
        self.give_back();
        self.body.switch_to_block(done);
        self.end();
    }

    /// Computes the facts about the packets of each kernel, and how links are counted.
    fn plan(&mut self) {
        let mut words_left = WORDS_MAX;
        let mut counted: Vec<Counted> = Vec::new();
        for at in 0..self.run.apps.len() {
            let (kernel, _) = self.kernel(at);
            let before = self.run.before[at];
            let (mut length, mut bytes_min) = (kernel.supply.map(|supply| supply.bytes.into()), 0);
            if at == 0 {
                counted.push(Counted { packets: Counter::Register(self.taken), bytes: None });
            } else {
                debug_assert!(before < at, "a kernel comes after its predecessor");
                let link = self.link_into(at);
                let between = self.count_link(link, before, counted[before]);
                counted.push(between.counted());
                self.between.push(between);
                length = self.length_after(before);
                bytes_min = self.sites[before].flow.emitted_by(self.output_of(before, link));
            }
            let flow = flow(kernel, bytes_min);
            let linear = self.linear(at, &flow, length);
            let copies = self.copies_of_each(at, &flow);
            let site = Site {
                entry: self.body.create_block(),
                after: self.next,
                known: None,
                words: self.registers(at, &linear, &mut words_left),
                linear,
                copies,
                oldest: self.oldest_of(at),
                flow,
                length,
            };
            self.sites.push(site);
            for link in self.rings_after(at) {
                self.open(link, at);
            }
        }
    }

    // ---- ends of blocks: to the next kernel, to a ring, or to the pool

    /// Ends a block: the packet leaves kernel `at` by an output.
    pub fn emit(&mut self, at: usize, output: u32) {
        let Some(link) = self.link_of(at, output) else { return self.drop_unlinked(at) };
        match self.step_after(link) {
            Some(next) => self.enter(next, self.sites[at].after),
            None => {
                self.write_known();
                let out = self.out_of(link);
                let block = match self.outs[out].block {
                    Some(block) => block,
                    None => {
                        let block = self.body.create_block();
                        *self.outs[out].block.insert(block)
                    }
                };
                self.body.ins().jump(block, &[]);
            }
        }
    }

    /// Ends a block: copies of the packet leave by all outputs but the last, itself by that.
    pub fn emit_all(&mut self, at: usize) {
        let outputs = self.blueprint.apps[self.app(at)].outputs.len();
        let Some(last) = outputs.checked_sub(1) else { return self.drop_unlinked(at) };
        self.write_known();
        for output in 0..last as u32 {
            let itself = self.packet();
            let known = self.known.clone();
            let after = self.body.create_block();
            match self.link_of(at, output) {
                Some(link) => {
                    self.copy(at, after);
                    match self.step_after(link) {
                        Some(next) => self.enter(next, after),
                        None => self.send_over(link, after),
                    }
                }
                // An output without a link is never declared with many; nothing is to be copied for
                // it.
                None => {
                    self.body.ins().jump(after, &[]);
                }
            }
            self.body.switch_to_block(after);
            self.set_packet(itself);
            self.known = known;
        }
        self.emit(at, last as u32);
    }

    /// A copy of the packet leaves kernel `at` by an output, whose link has a ring: kernels that do
    /// so are the last of their run.
    pub fn clone_to(&mut self, at: usize, output: u32) {
        let Some(link) = self.link_of(at, output) else {
            let (kernel, words) = self.kernel(at);
            return self.count_drop(words, kernel.words.len() + kernel.reasons.len());
        };
        debug_assert!(self.step_after(link).is_none(), "the copy leaves the run");
        self.write_known();
        let itself = self.packet();
        let after = self.body.create_block();
        self.copy(at, after);
        self.send_over(link, after);
        self.body.switch_to_block(after);
        self.set_packet(itself);
    }

    /// Ends a block: the packet enters another kernel of the run.
    fn enter(&mut self, next: usize, after: Block) {
        let link = self.link_into(next);
        let between = self.between.iter().find(|between| between.link == link);
        let Between { packets, bytes, .. } = *between.expect("it is planned");
        if let Count::Own(counter) = packets {
            let one = self.body.ins().iconst(types::I64, 1);
            self.count(counter, one);
        }
        if let Count::Own(counter) = bytes {
            let length = self.body.use_var(self.length);
            self.count(counter, length);
        }
        debug_assert!(self.writing < next, "a kernel is entered before its code is written");
        self.sites[next].after = after;
        if self.ways_into(next) == 1 {
            debug_assert!(self.sites[next].known.is_none(), "it is entered at one point");
            self.sites[next].known = Some(self.known.clone());
        } else {
            self.write_known();
        }
        let entry = self.sites[next].entry;
        self.body.ins().jump(entry, &[]);
    }

    fn drop_unlinked(&mut self, at: usize) {
        let (kernel, words) = self.kernel(at);
        self.count_drop(words, kernel.words.len() + kernel.reasons.len());
        let free = self.free_for(at);
        self.body.ins().jump(free, &[]);
    }

    /// Counts a drop of a kernel whose words are here.
    pub fn count_drop(&mut self, words: usize, number: usize) {
        let one = self.body.ins().iconst(types::I64, 1);
        self.body.add_to_word(words, number * 8, one);
    }

    /// Records that the first packet of a batch at a sink is the oldest: the word is -1 until there
    /// is one.
    fn note_oldest(&mut self, at: usize) {
        let Some(oldest) = self.sites[at].oldest else { return };
        let (note, on) = (self.body.cold_block(), self.body.create_block());
        let known = self.read(oldest);
        let first = self.body.ins().icmp_imm_s(IntCC::Equal, known, -1);
        self.body.ins().brif(first, note, &[], on, &[]);
        self.body.switch_to_block(note);
        let packet = self.body.use_var(self.buffer);
        let born = self.body.load_aligned(types::I64, packet, buffer::BORN as i32);
        self.set(oldest, born);
        self.body.ins().jump(on, &[]);
        self.body.switch_to_block(on);
    }
}
