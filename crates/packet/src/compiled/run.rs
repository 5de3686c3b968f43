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
//! The function is written in this order: counters and words in registers ([`Writer::plan`]); the
//! loop that takes packets ([`super::feed`]); the kernels, in the order of the run; sends to rings;
//! frees; what is written when the loop ends.
//!
//! Invariants:
//!
//! 1. Between two kernels the variables `buffer`, `data`, `start` and `length` describe the packet.
//! 2. A kernel comes after its predecessor in the run. So all jumps to its entry are written, and
//!    its [`Site`] is complete, when its own code is written.
//! 3. Facts about bytes ([`Known`]) pass to the next kernel only if it is entered at one point: it
//!    is then a block with a single predecessor. Elsewhere the bytes are written to the packet, and
//!    nothing is known.
//! 4. While the loop runs, the write indexes of rings after the run, the head of the freelist and
//!    some words of kernels are in variables; memory has the values of the beginning. The head of
//!    the freelist is written before a call grows the pool, and read after it.

use tidemill_jit::asm::aligned;
use tidemill_jit::build::{Block, CallConv, InstBuilder, IntCC, Value, Variable, signature, types};
use tidemill_jit::{Body, Error, FuncId, Module};
use tidemill_stdx::hash::Map;

use super::blueprint::Blueprint;
use super::imports::Imports;
use super::known::{Known, Raw};
use super::linear::{Each, Linear, linear};
use crate::kernel::table::TableAddresses;
use crate::kernel::table::spec::TableSpec;
use crate::kernel::{End, FlowFacts, Kernel, Step, WordKind, flow};
use crate::link::{QUEUED_MAX, SLOTS, offsets as ring};
use crate::packet::offsets as buffer;

/// Words of kernels that are kept in registers, at most: beyond that they would not fit.
const WORDS_MAX: usize = 16;

/// The kernels that are written as one function.
pub(super) struct Run {
    /// Positions of apps.
    pub apps: Vec<usize>,
    /// For each, its predecessor in the run; the first is its own.
    pub before: Vec<usize>,
    pub feed: Feed,
}

/// The source of packets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Feed {
    /// The links into the first kernel: all that lies there.
    Links,
    /// The pool: the argument is the number of packets for the first kernel, which is a source.
    Pool,
}

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

/// The number of packets over a link, or of bytes.
#[derive(Clone, Copy)]
enum Count {
    /// The value of a variable that is counted elsewhere.
    As(Variable),
    /// This many bytes for each of the packets.
    Each(Variable, u64),
    /// It is counted where the packet passes.
    Own(Variable),
}

impl Count {
    /// The number of packets from which it follows, or itself.
    fn variable(self) -> Variable {
        match self {
            Count::As(variable) | Count::Each(variable, _) | Count::Own(variable) => variable,
        }
    }
}

/// A link between two kernels.
#[derive(Clone, Copy)]
struct Between {
    link: usize,
    packets: Count,
    bytes: Count,
}

/// Where the packets of a kernel and their bytes are counted.
#[derive(Clone, Copy)]
struct Counted {
    packets: Variable,
    /// `None` if they are not counted: they follow from the packets, or nothing needs them yet.
    bytes: Option<Variable>,
}

impl Between {
    fn counted(self) -> Counted {
        let bytes = match self.bytes {
            Count::Each(..) => None,
            bytes => Some(bytes.variable()),
        };
        Counted { packets: self.packets.variable(), bytes }
    }
}

/// A ring after the run.
#[derive(Clone, Copy)]
struct Out {
    link: usize,
    /// The kernel whose output it is, in the run.
    at: usize,
    write: Variable,
    bytes: Variable,
    /// Both as the function begins: where to write, and where the ring is full.
    begin: Value,
    full: Value,
    /// Sends the packet; used as soon as it is made.
    block: Option<Block>,
    is_used: bool,
}

/// The facts about a kernel in its run.
pub(super) struct Site {
    pub entry: Block,
    /// Where to continue when a packet has ended here.
    pub after: Block,
    /// The facts about bytes as it begins; nothing, if it begins at several points.
    pub known: Option<Known>,
    /// Its words, as far as they are in registers.
    pub words: Vec<Option<Variable>>,
    /// Words that follow from the number of packets.
    pub linear: Vec<Linear>,
    /// When the oldest packet arrived, if it is a sink whose packets are of different age.
    oldest: Option<Variable>,
    /// Copies that it makes of each packet; `None`: they are counted where they are made.
    pub copies: Option<u64>,
    pub flow: FlowFacts,
    /// The length of all packets that arrive.
    pub length: Option<u64>,
}

/// The state in which a run is written.
pub(super) struct Writer<'w, 'm, 'p> {
    pub body: &'w mut Body<'m>,
    pub imports: &'p Imports,
    pub blueprint: &'p Blueprint,
    pub run: &'p Run,
    /// The packet: its buffer, where its first byte is, and start and length as the buffer has
    /// them, 64 bits wide.
    pub buffer: Variable,
    pub data: Variable,
    pub start: Variable,
    pub length: Variable,
    /// The number of the input of a packet of the first kernel.
    pub input: Variable,
    /// Takes the next packet.
    pub next: Block,
    pub sites: Vec<Site>,
    between: Vec<Between>,
    outs: Vec<Out>,
    /// Packets of the first kernel.
    pub taken: Variable,
    /// The freelist, and what is counted of the pool.
    pub first_free: Variable,
    pub allocated: Variable,
    pub freed: Variable,
    /// Blocks that free the packet, by their successor.
    pub frees: Vec<(Block, Block)>,
    /// The facts about the packet's bytes where code is being written.
    pub known: Known,
    /// Loaded numbers as they are in the packet.
    pub raws: Map<Value, Raw>,
}

impl<'w, 'm, 'p> Writer<'w, 'm, 'p> {
    fn new(
        body: &'w mut Body<'m>,
        imports: &'p Imports,
        blueprint: &'p Blueprint,
        run: &'p Run,
    ) -> Writer<'w, 'm, 'p> {
        let [buffer, data, start, length] = [(); 4].map(|()| body.declare_var(types::I64));
        let [taken, first_free, allocated, freed] = [(); 4].map(|()| body.declare_var(types::I64));
        let (input, next) = (body.declare_var(types::I64), body.create_block());
        Writer {
            body,
            imports,
            blueprint,
            run,
            buffer,
            data,
            start,
            length,
            input,
            next,
            sites: Vec::new(),
            between: Vec::new(),
            outs: Vec::new(),
            taken,
            first_free,
            allocated,
            freed,
            frees: Vec::new(),
            known: Known::default(),
            raws: Map::default(),
        }
    }

    pub fn kernel(&self, at: usize) -> (&'p Kernel, usize) {
        let part = &self.blueprint.apps[self.run.apps[at]];
        let part = part.kernel.as_ref().expect("runs are made of kernels");
        (&part.kernel, part.words)
    }

    /// A table of a kernel.
    pub fn table(&self, at: usize, table: u32) -> (&'p TableSpec, TableAddresses) {
        let part = &self.blueprint.apps[self.run.apps[at]];
        let part = part.kernel.as_ref().expect("runs are made of kernels");
        let table = table as usize;
        (&part.kernel.tables[table], part.tables[table])
    }

    /// The position of the run's kernel `at` in the graph.
    pub fn app(&self, at: usize) -> usize {
        self.run.apps[at]
    }

    pub fn zero(&mut self) -> Variable {
        let variable = self.body.declare_var(types::I64);
        let none = self.body.ins().iconst(types::I64, 0);
        self.body.def_var(variable, none);
        variable
    }

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
                counted.push(Counted { packets: self.taken, bytes: None });
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

    /// How the packets over a link are counted, and their bytes, if those of the kernel `before` it
    /// are counted so: as these, where all its packets leave by the link and none has changed its
    /// length.
    fn count_link(&mut self, link: usize, before: usize, counted: Counted) -> Between {
        let flow = &self.sites[before].flow;
        let lets_all = flow.all_leave_by(self.output_of(before, link));
        let keeps_bytes = lets_all && flow.keeps_length;
        let packets = if lets_all { Count::As(counted.packets) } else { Count::Own(self.zero()) };
        let bytes = match (self.length_after(before), counted.bytes.filter(|_| keeps_bytes)) {
            (Some(each), _) => Count::Each(packets.variable(), each),
            (None, Some(same)) => Count::As(same),
            (None, None) => Count::Own(self.zero()),
        };
        Between { link, packets, bytes }
    }

    /// How long all packets are that leave a kernel.
    pub fn length_after(&self, at: usize) -> Option<u64> {
        self.sites[at].length.filter(|_| self.sites[at].flow.keeps_length)
    }

    /// The link from which kernel `at`, not the first, has its packets.
    fn link_into(&self, at: usize) -> usize {
        let inputs = self.blueprint.apps[self.app(at)].inputs.iter().flatten();
        *inputs.into_iter().next().expect("kernels after the first have one link")
    }

    /// The number of the output whose link it is.
    fn output_of(&self, at: usize, link: usize) -> u32 {
        let outputs = &self.blueprint.apps[self.app(at)].outputs;
        outputs.iter().position(|&of| of == Some(link)).unwrap_or(usize::MAX) as u32
    }

    /// The kernel of the run that a link leads to.
    pub fn step_after(&self, link: usize) -> Option<usize> {
        let to = self.blueprint.links[link].to;
        let at = self.run.apps.iter().skip(1).position(|&app| app == to)? + 1;
        (self.link_into(at) == link).then_some(at)
    }

    /// Links of a kernel that do not lead on in the run.
    fn rings_after(&self, at: usize) -> Vec<usize> {
        let outputs = self.blueprint.apps[self.app(at)].outputs.iter().flatten().copied();
        outputs.filter(|&link| self.step_after(link).is_none()).collect()
    }

    fn open(&mut self, link: usize, of: usize) {
        let at = self.blueprint.links[link].ring;
        let [write, bytes] = [(); 2].map(|()| self.zero());
        let begin = self.body.load_word(at, ring::WRITE);
        let read = self.body.load_word(at, ring::READ);
        let full = self.body.ins().iadd_imm_u(read, QUEUED_MAX as i64);
        self.body.def_var(write, begin);
        let out = Out { link, at: of, write, bytes, begin, full, block: None, is_used: false };
        self.outs.push(out);
    }

    /// The words that follow from the number of packets of a kernel, and of bytes, if these are
    /// counted.
    fn linear(&self, at: usize, flow: &FlowFacts, length: Option<u64>) -> Vec<Linear> {
        let (kernel, _) = self.kernel(at);
        let Some(Some(facts)) = flow.blocks.iter().next() else { return Vec::new() };
        let mut found = linear(kernel, facts);
        if at == 0 && length.is_none() {
            found.retain(|linear| linear.each != Each::Length);
        }
        found
    }

    /// The number of copies that a kernel makes of each packet, if it is the same for all.
    fn copies_of_each(&self, at: usize, flow: &FlowFacts) -> Option<u64> {
        let (kernel, _) = self.kernel(at);
        let is_simple = kernel.blocks.len() == 1 && !flow.may_end;
        let outputs = self.blueprint.apps[self.app(at)].outputs.len() as u64;
        (self.run.feed == Feed::Pool && is_simple && flow.emitted_all.is_some())
            .then(|| outputs.saturating_sub(1))
    }

    /// Registers for the words that a kernel changes. Local words have nothing to begin with.
    fn registers(
        &mut self,
        at: usize,
        linear: &[Linear],
        left: &mut usize,
    ) -> Vec<Option<Variable>> {
        let (kernel, words) = self.kernel(at);
        let mut registers = vec![None; kernel.words.len()];
        for (word, register) in kernel.words.iter().zip(&mut registers) {
            if word.kind == WordKind::Local {
                *register = Some(self.body.declare_var(types::I64));
            }
        }
        for step in kernel.blocks.iter().flat_map(|block| &block.steps) {
            let Step::SetWord(word, _) = *step else { continue };
            let register = &mut registers[word as usize];
            let is_linear = linear.iter().any(|linear| linear.word == word);
            if register.is_none() && !is_linear && *left > 0 {
                *left -= 1;
                let value = self.body.load_word(words, word as usize * 8);
                *register = Some(variable(self.body, value));
            }
        }
        registers
    }

    fn oldest_of(&mut self, at: usize) -> Option<Variable> {
        let part = &self.blueprint.apps[self.app(at)];
        if at == 0 || !part.is_sink || self.run.feed == Feed::Pool {
            return None;
        }
        let oldest = self.body.load_word(part.oldest, 0);
        Some(variable(self.body, oldest))
    }

    /// Takes start and length from the buffer.
    pub fn look(&mut self) {
        let packet = self.body.use_var(self.buffer);
        let start = self.body.ins().uload32(aligned(), packet, buffer::START as i32);
        let length = self.body.ins().uload32(aligned(), packet, buffer::LENGTH as i32);
        let data = self.body.ins().iadd(packet, start);
        let data = self.body.ins().iadd_imm_u(data, buffer::BYTES as i64);
        for (variable, value) in [(self.start, start), (self.length, length), (self.data, data)] {
            self.body.def_var(variable, value);
        }
    }

    /// Records that the first packet of a batch at a sink is the oldest: the word is -1 until there
    /// is one.
    fn note_oldest(&mut self, at: usize) {
        let Some(oldest) = self.sites[at].oldest else { return };
        let (note, on) = (self.body.cold_block(), self.body.create_block());
        let known = self.body.use_var(oldest);
        let first = self.body.ins().icmp_imm_s(IntCC::Equal, known, -1);
        self.body.ins().brif(first, note, &[], on, &[]);
        self.body.switch_to_block(note);
        let packet = self.body.use_var(self.buffer);
        let born = self.body.load_aligned(types::I64, packet, buffer::BORN as i32);
        self.body.def_var(oldest, born);
        self.body.ins().jump(on, &[]);
        self.body.switch_to_block(on);
    }

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

    /// What describes the packet, while a copy takes its place.
    fn packet(&mut self) -> [Value; 4] {
        [self.buffer, self.data, self.start, self.length]
            .map(|variable| self.body.use_var(variable))
    }

    fn set_packet(&mut self, values: [Value; 4]) {
        let variables = [self.buffer, self.data, self.start, self.length];
        for (variable, value) in variables.into_iter().zip(values) {
            self.body.def_var(variable, value);
        }
    }

    /// Puts the packet into the ring of a link; continues at `after`.
    fn send_over(&mut self, link: usize, after: Block) {
        let out = self.out_of(link);
        self.send(out, after);
    }

    /// The number of the input of a kernel after the first.
    pub fn input_of(&self, at: usize) -> usize {
        let inputs = &self.blueprint.apps[self.app(at)].inputs;
        inputs.iter().position(Option::is_some).unwrap_or(0)
    }

    /// Ends a block: the packet enters another kernel of the run.
    fn enter(&mut self, next: usize, after: Block) {
        let link = self.link_into(next);
        let between = self.between.iter().find(|between| between.link == link);
        let Between { packets, bytes, .. } = *between.expect("it is planned");
        if let Count::Own(variable) = packets {
            let one = self.body.ins().iconst(types::I64, 1);
            self.add(variable, one);
        }
        if let Count::Own(variable) = bytes {
            let length = self.body.use_var(self.length);
            self.add(variable, length);
        }
        self.sites[next].after = after;
        if self.ways_into(next) == 1 {
            self.sites[next].known = Some(self.known.clone());
        } else {
            self.write_known();
        }
        let entry = self.sites[next].entry;
        self.body.ins().jump(entry, &[]);
    }

    /// The number of points at which packets enter a kernel after the first.
    fn ways_into(&self, at: usize) -> usize {
        let (kernel, _) = self.kernel(self.run.before[at]);
        let output = self.output_of(self.run.before[at], self.link_into(at));
        let ends = kernel.blocks.iter().map(|block| block.end);
        ends.filter(|&end| end == End::Emit(output) || end == End::EmitAll).count()
    }

    pub fn link_of(&self, at: usize, output: u32) -> Option<usize> {
        self.blueprint.apps[self.app(at)].outputs.get(output as usize).copied().flatten()
    }

    /// The ring of a link after the run, to which code that is about to be written sends.
    fn out_of(&mut self, link: usize) -> usize {
        let out = self.outs.iter().position(|out| out.link == link);
        let out = out.expect("rings after the run are open");
        self.outs[out].is_used = true;
        out
    }

    fn drop_unlinked(&mut self, at: usize) {
        let (kernel, words) = self.kernel(at);
        self.count_drop(words, kernel.words.len() + kernel.reasons.len());
        let free = self.free_for(at);
        self.body.ins().jump(free, &[]);
    }

    pub fn add(&mut self, variable: Variable, by: Value) {
        let old = self.body.use_var(variable);
        let new = self.body.ins().iadd(old, by);
        self.body.def_var(variable, new);
    }

    /// Counts a drop of a kernel whose words are here.
    pub fn count_drop(&mut self, words: usize, number: usize) {
        let one = self.body.ins().iconst(types::I64, 1);
        self.body.add_to_word(words, number * 8, one);
    }

    /// Puts the packet into a ring, or drops and counts it; continues at `after`.
    fn send(&mut self, out: usize, after: Block) {
        let Out { link, write, bytes, full, .. } = self.outs[out];
        let at = self.blueprint.links[link].ring;
        let (room, none) = (self.body.create_block(), self.body.cold_block());
        let index = self.body.use_var(write);
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
        self.add(write, one);
        let length = self.body.use_var(self.length);
        self.add(bytes, length);
        self.body.ins().jump(after, &[]);
    }

    /// The number of packets of a kernel, and of their bytes if these were counted.
    fn came(&mut self, at: usize) -> (Value, Option<Value>) {
        if at == 0 {
            let packets = self.body.use_var(self.taken);
            let length = self.sites[0].length;
            let bytes = length.map(|each| self.body.ins().imul_imm_u(packets, each as i64));
            return (packets, bytes);
        }
        let link = self.link_into(at);
        let between = self.between.iter().find(|between| between.link == link);
        let Between { packets, bytes, .. } = *between.expect("it is planned");
        let packets = self.body.use_var(packets.variable());
        let bytes = match bytes {
            Count::Each(_, each) => self.body.ins().imul_imm_u(packets, each as i64),
            Count::As(variable) | Count::Own(variable) => self.body.use_var(variable),
        };
        (packets, Some(bytes))
    }

    /// Writes the words that follow from the number of packets of a kernel.
    fn end_linear(&mut self, at: usize) {
        let (_, words) = self.kernel(at);
        let (packets, bytes) = self.came(at);
        for Linear { word, each, .. } in self.sites[at].linear.clone() {
            let by = match each {
                Each::Number(number) => self.body.ins().imul_imm_u(packets, number.cast_signed()),
                Each::Length => bytes.expect("bytes are counted where they are used"),
            };
            self.body.add_to_word(words, word as usize * 8, by);
        }
        if let Some(copies) = self.sites[at].copies {
            let copies = self.body.ins().imul_imm_u(packets, copies as i64);
            self.body.add_to_word(self.blueprint.pool.allocated, 0, copies);
        }
        let part = &self.blueprint.apps[self.app(at)];
        if self.run.feed == Feed::Pool && part.is_sink {
            // All were born now, and the first of the batch counts.
            let known = self.body.load_word(part.oldest, 0);
            let now = self.body.load_word(self.blueprint.now, 0);
            let first = self.body.ins().icmp_imm_s(IntCC::Equal, known, -1);
            let some = self.body.ins().icmp_imm_u(IntCC::NotEqual, packets, 0);
            let counts = self.body.ins().band(first, some);
            let oldest = self.body.ins().select(counts, now, known);
            self.body.store_word(oldest, part.oldest, 0);
        }
    }

    /// Writes what was counted, and notifies of links that are no longer empty. A link between two
    /// kernels has had as many packets taken out as put in: both of its indexes grow by them.
    fn end(&mut self) {
        self.close_pool();
        for at in 1..self.run.apps.len() {
            let ring_at = self.blueprint.links[self.link_into(at)].ring;
            let (packets, bytes) = self.came(at);
            let bytes = bytes.expect("bytes of links are counted");
            self.body.add_to_word(ring_at, ring::READ, packets);
            self.body.add_to_word(ring_at, ring::WRITE, packets);
            self.body.add_to_word(ring_at, ring::TX_BYTES, bytes);
        }
        for at in 0..self.run.apps.len() {
            let (kernel, words) = self.kernel(at);
            self.end_linear(at);
            for word in 0..self.sites[at].words.len() {
                let Some(register) = self.sites[at].words[word] else { continue };
                if kernel.words[word].kind == WordKind::Local {
                    continue;
                }
                let value = self.body.use_var(register);
                self.body.store_word(value, words, word * 8);
            }
            if let Some(oldest) = self.sites[at].oldest {
                let value = self.body.use_var(oldest);
                self.body.store_word(value, self.blueprint.apps[self.app(at)].oldest, 0);
            }
        }
        for at in 0..self.outs.len() {
            self.close(at);
        }
        self.body.ins().return_(&[]);
    }

    fn close(&mut self, out: usize) {
        let Out { link, write, bytes, begin, full, is_used, .. } = self.outs[out];
        if !is_used {
            return;
        }
        let part = &self.blueprint.links[link];
        let now = self.body.use_var(write);
        self.body.store_word(now, part.ring, ring::WRITE);
        let bytes = self.body.use_var(bytes);
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

fn variable(body: &mut Body<'_>, value: Value) -> Variable {
    let variable = body.declare_var(types::I64);
    body.def_var(variable, value);
    variable
}

const _: () = assert!(SLOTS.is_power_of_two(), "a mask makes an index a slot");

/// The address of a slot, less the offset of all slots.
pub(super) fn slot_of(body: &mut Body<'_>, ring: Value, index: Value) -> Value {
    let slot = body.ins().band_imm_u(index, SLOTS as i64 - 1);
    let bytes = body.ins().ishl_imm_u(slot, 3);
    body.ins().iadd(ring, bytes)
}
