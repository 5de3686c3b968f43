//! Runs of kernels as loops over packets.
//!
//! ```text
//! for each link into the first kernel
//!   for each packet that lay there when the push began
//!     kernel, kernel, ... kernel        the packet's start and length in registers
//!     -> a ring behind the run, or the pool
//! write indexes of rings, and the counters of the links between
//! ```
//! A link between kernels has no ring to fill, but its counters are those that it would have. Where
//! a kernel lets every packet through as long as it is, they are those of the link before, and cost
//! nothing.

use tidemill_jit::build::{Block, CallConv, InstBuilder, IntCC, Value, Variable, signature, types};
use tidemill_jit::{Body, Error, FuncId, Module};

use super::{Blueprint, Doing, Imports, add_to_word, address, load_word, plain, store_word};
use crate::kernel::{Flowing, Kernel, flow};
use crate::link::{QUEUED_MAX, SLOTS, offsets as ring};
use crate::packet::offsets as buffer;

/// Kernels of a run at most, so that functions stay small.
const APPS_MAX: usize = 64;

/// A run of kernels.
pub(super) struct Chain {
    /// Positions of apps; each has its one link from the one before.
    pub apps: Vec<usize>,
}

/// The runs of kernels of a graph. What makes a run: the apps are called one after the other in a
/// breath, each has nothing but the link from the one before, and nobody else is to be notified of
/// what is on that link.
pub(super) fn find(blueprint: &Blueprint) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::new();
    let mut last = None;
    for doing in &blueprint.steps {
        let app = match *doing {
            Doing::Push(app) if is_kernel(blueprint, app) => app,
            _ => {
                last = None;
                continue;
            }
        };
        let fits = |before: usize| link_between(blueprint, before, app).is_some();
        match chains.last_mut() {
            Some(chain)
                if last.is_some_and(fits)
                    && chain.apps.len() < APPS_MAX
                    && !leads_back(blueprint, chain.apps[0], app) =>
            {
                chain.apps.push(app);
            }
            _ => chains.push(Chain { apps: vec![app] }),
        }
        last = Some(app);
    }
    chains
}

/// Whether an app may be written as code: it is a kernel, and does not feed itself.
fn is_kernel(blueprint: &Blueprint, app: usize) -> bool {
    let part = &blueprint.apps[app];
    let inputs = part.inputs.iter().flatten().count();
    part.kernel.is_some() && inputs > 0 && !leads_back(blueprint, app, app)
}

/// Whether a link leads from an app into the first of a run: its ring would be read and written in
/// one loop.
fn leads_back(blueprint: &Blueprint, first: usize, app: usize) -> bool {
    let outputs = blueprint.apps[app].outputs.iter().flatten();
    outputs.into_iter().any(|&link| blueprint.links[link].to == first)
}

/// The link on which packets go from one app to the next without a ring.
fn link_between(blueprint: &Blueprint, before: usize, app: usize) -> Option<usize> {
    let mut inputs = blueprint.apps[app].inputs.iter().flatten();
    let (Some(&link), None) = (inputs.next(), inputs.next()) else { return None };
    let part = &blueprint.links[link];
    (part.from == before && !part.is_watched).then_some(link)
}

/// Defines the function of a run.
pub(super) fn define(
    module: &mut Module,
    imports: &Imports,
    blueprint: &Blueprint,
    chain: &Chain,
) -> Result<FuncId, Error> {
    let names: Vec<&str> =
        chain.apps.iter().map(|&app| blueprint.apps[app].name.as_str()).collect();
    let id = module.declare(names.join("+"), signature(CallConv::SystemV, &[], &[]));
    module.define(id, |body| {
        body.begin();
        let mut writer = Writer::new(body, imports, blueprint, chain);
        writer.write();
    })?;
    Ok(id)
}

/// How many packets went over a link, or bytes.
#[derive(Clone, Copy)]
enum Count {
    /// As many as a variable says that is counted elsewhere.
    As(Variable),
    /// It is counted where the packet passes.
    Own(Variable),
}

impl Count {
    fn variable(self) -> Variable {
        match self {
            Count::As(variable) | Count::Own(variable) => variable,
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

/// A ring behind the run.
#[derive(Clone, Copy)]
struct Out {
    link: usize,
    write: Variable,
    bytes: Variable,
    /// Both as the function begins: where to write, and where the ring is full.
    begin: Value,
    full: Value,
    /// Sends the packet; used as soon as it is made.
    block: Option<Block>,
}

/// What a run is written with.
pub(super) struct Writer<'w, 'm, 'p> {
    pub body: &'w mut Body<'m>,
    pub imports: &'p Imports,
    pub blueprint: &'p Blueprint,
    chain: &'p Chain,
    /// The packet: its buffer, where its first byte is, and start and length as the buffer has
    /// them, 64 bits wide.
    pub buffer: Variable,
    pub data: Variable,
    pub start: Variable,
    pub length: Variable,
    /// Takes the next packet.
    next: Block,
    /// Frees the packet and takes the next.
    pub free: Block,
    flows: Vec<Flowing>,
    between: Vec<Between>,
    outs: Vec<Out>,
    /// Packets taken from the links into the run.
    taken: Variable,
}

impl<'w, 'm, 'p> Writer<'w, 'm, 'p> {
    fn new(
        body: &'w mut Body<'m>,
        imports: &'p Imports,
        blueprint: &'p Blueprint,
        chain: &'p Chain,
    ) -> Writer<'w, 'm, 'p> {
        let [buffer, data, start, length, taken] = [(); 5].map(|()| body.declare_var(types::I64));
        let (next, free) = (body.create_block(), body.create_block());
        let (flows, between, outs) = (Vec::new(), Vec::new(), Vec::new());
        Writer {
            body,
            imports,
            blueprint,
            chain,
            buffer,
            data,
            start,
            length,
            next,
            free,
            flows,
            between,
            outs,
            taken,
        }
    }

    pub fn kernel(&self, at: usize) -> (&'p Kernel, usize) {
        let part = &self.blueprint.apps[self.chain.apps[at]];
        let (kernel, words) = part.kernel.as_ref().expect("runs are made of kernels");
        (kernel, *words)
    }

    /// The position of the run's kernel `at` in the graph.
    pub fn app(&self, at: usize) -> usize {
        self.chain.apps[at]
    }

    fn zero(&mut self) -> Variable {
        let variable = self.body.declare_var(types::I64);
        let none = self.body.ins().iconst(types::I64, 0);
        self.body.def_var(variable, none);
        variable
    }

    fn write(&mut self) {
        let none = self.body.ins().iconst(types::I64, 0);
        self.body.def_var(self.taken, none);
        self.plan();
        let entries: Vec<Block> =
            self.chain.apps.iter().map(|_| self.body.create_block()).collect();
        let links: Vec<usize> =
            self.blueprint.apps[self.app(0)].inputs.iter().copied().flatten().collect();
        let done = self.body.create_block();
        self.packets(&links, entries[0], done);
        for (at, &entry) in entries.iter().enumerate() {
            self.body.switch_to_block(entry);
            if at > 0 && self.blueprint.apps[self.app(at)].is_sink {
                self.note_oldest(at);
            }
            let facts = std::mem::take(&mut self.flows[at].blocks);
            self.steps(at, facts, entries.get(at + 1).copied());
        }
        for at in 0..self.outs.len() {
            self.send(at);
        }
        self.give_back();
        self.body.switch_to_block(done);
        self.end();
    }

    /// What is known of the packets of each kernel, and how links are counted.
    fn plan(&mut self) {
        let mut bytes = 0;
        let (mut packets_before, mut bytes_before) = (Some(self.taken), None);
        for at in 0..self.chain.apps.len() {
            let (kernel, _) = self.kernel(at);
            let flowing = flow(kernel, bytes);
            let next = self.chain.apps.get(at + 1);
            if let Some(&next) = next {
                let link = link_between(self.blueprint, self.app(at), next);
                let link = link.expect("a run has a link from each to the next");
                let output = self.output_of(at, link);
                let lets_all =
                    !flowing.may_end && flowing.emitted.iter().all(|(to, _)| *to == output);
                let packets = match packets_before.filter(|_| lets_all) {
                    Some(same) => Count::As(same),
                    None => Count::Own(self.zero()),
                };
                let same = bytes_before.filter(|_| lets_all && flowing.keeps_length);
                let length = match same {
                    Some(same) => Count::As(same),
                    None => Count::Own(self.zero()),
                };
                (packets_before, bytes_before) =
                    (Some(packets.variable()), Some(length.variable()));
                bytes = flowing.emitted_by(output);
                self.between.push(Between { link, packets, bytes: length });
            }
            for link in self.rings_behind(at) {
                self.open(link);
            }
            self.flows.push(flowing);
        }
    }

    /// The number of the output that a link comes from.
    fn output_of(&self, at: usize, link: usize) -> u32 {
        let outputs = &self.blueprint.apps[self.app(at)].outputs;
        outputs.iter().position(|&of| of == Some(link)).unwrap_or(usize::MAX) as u32
    }

    /// Links of a kernel that do not lead to the next of the run.
    fn rings_behind(&self, at: usize) -> Vec<usize> {
        let next = self.between.get(at).map(|between| between.link);
        let outputs = self.blueprint.apps[self.app(at)].outputs.iter().flatten().copied();
        outputs.filter(|&link| Some(link) != next).collect()
    }

    fn open(&mut self, link: usize) {
        let at = self.blueprint.links[link].ring;
        let [write, bytes] = [(); 2].map(|()| self.zero());
        let begin = load_word(self.body, at, ring::WRITE);
        let read = load_word(self.body, at, ring::READ);
        let full = self.body.ins().iadd_imm_u(read, QUEUED_MAX as i64);
        self.body.def_var(write, begin);
        self.outs.push(Out { link, write, bytes, begin, full, block: None });
    }

    /// The loop: takes each packet of each link, and enters the first kernel with it.
    fn packets(&mut self, links: &[usize], entry: Block, done: Block) {
        let [at, end, from, which] = [(); 4].map(|()| self.zero());
        let setups: Vec<Block> = links.iter().map(|_| self.body.create_block()).collect();
        self.body.ins().jump(setups[0], &[]);
        for (number, (&link, &setup)) in links.iter().zip(&setups).enumerate() {
            self.body.switch_to_block(setup);
            let base = address(self.body, self.blueprint.links[link].ring);
            let read = self.body.ins().load(types::I64, plain(), base, ring::READ as i32);
            let write = self.body.ins().load(types::I64, plain(), base, ring::WRITE as i32);
            let count = self.body.ins().isub(write, read);
            let before = self.body.use_var(self.taken);
            let taken = self.body.ins().iadd(before, count);
            // All that lies there is taken, and nobody looks at the ring meanwhile.
            self.body.ins().store(plain(), write, base, ring::READ as i32);
            let number = self.body.ins().iconst(types::I64, number as i64);
            for (variable, value) in
                [(self.taken, taken), (at, read), (end, write), (from, base), (which, number)]
            {
                self.body.def_var(variable, value);
            }
            self.body.ins().jump(self.next, &[]);
        }
        let (take, over) = (self.body.create_block(), self.body.create_block());
        self.body.switch_to_block(self.next);
        let (index, last) = (self.body.use_var(at), self.body.use_var(end));
        let is_over = self.body.ins().icmp(IntCC::Equal, index, last);
        self.body.ins().brif(is_over, over, &[], take, &[]);
        self.body.switch_to_block(over);
        self.next_link(which, &setups, done);
        self.body.switch_to_block(take);
        let base = self.body.use_var(from);
        let slot = slot_of(self.body, base, index);
        let packet = self.body.ins().load(types::I64, plain(), slot, ring::SLOTS as i32);
        let index = self.body.ins().iadd_imm_u(index, 1);
        self.body.def_var(at, index);
        self.body.def_var(self.buffer, packet);
        self.look();
        self.body.ins().jump(entry, &[]);
    }

    /// A link is empty: the next, if there is one.
    fn next_link(&mut self, which: Variable, setups: &[Block], done: Block) {
        for (number, &setup) in setups.iter().enumerate().skip(1) {
            let current = self.body.use_var(which);
            let is_it = self.body.ins().icmp_imm_u(IntCC::Equal, current, number as i64 - 1);
            let other = self.body.create_block();
            self.body.ins().brif(is_it, setup, &[], other, &[]);
            self.body.switch_to_block(other);
        }
        self.body.ins().jump(done, &[]);
    }

    /// Takes start and length from the buffer.
    pub fn look(&mut self) {
        let packet = self.body.use_var(self.buffer);
        let start = self.body.ins().uload32(plain(), packet, buffer::START as i32);
        let length = self.body.ins().uload32(plain(), packet, buffer::LENGTH as i32);
        let data = self.body.ins().iadd(packet, start);
        let data = self.body.ins().iadd_imm_u(data, buffer::BYTES as i64);
        for (variable, value) in [(self.start, start), (self.length, length), (self.data, data)] {
            self.body.def_var(variable, value);
        }
    }

    /// The first packet of a batch that comes to a sink is the oldest.
    fn note_oldest(&mut self, at: usize) {
        let oldest = self.blueprint.apps[self.app(at)].oldest;
        let (note, on) = (self.body.create_block(), self.body.create_block());
        let known = load_word(self.body, oldest, 0);
        let first = self.body.ins().icmp_imm_s(IntCC::Equal, known, -1);
        self.body.set_cold_block(note);
        self.body.ins().brif(first, note, &[], on, &[]);
        self.body.switch_to_block(note);
        let packet = self.body.use_var(self.buffer);
        let born = self.body.ins().load(types::I64, plain(), packet, buffer::BORN as i32);
        store_word(self.body, born, oldest, 0);
        self.body.ins().jump(on, &[]);
        self.body.switch_to_block(on);
    }

    /// Ends a block: the packet leaves kernel `at` by an output. `next` is where the next kernel
    /// begins.
    pub fn emit(&mut self, at: usize, output: u32, next: Option<Block>) {
        let link =
            self.blueprint.apps[self.app(at)].outputs.get(output as usize).copied().flatten();
        let Some(link) = link else {
            let (kernel, words) = self.kernel(at);
            let unlinked = kernel.words.len() + kernel.reasons.len();
            self.count_drop(words, unlinked);
            self.body.ins().jump(self.free, &[]);
            return;
        };
        match (self.between.get(at), next) {
            (Some(between), Some(next)) if between.link == link => {
                let (packets, bytes) = (between.packets, between.bytes);
                if let Count::Own(variable) = packets {
                    let one = self.body.ins().iconst(types::I64, 1);
                    self.add(variable, one);
                }
                if let Count::Own(variable) = bytes {
                    let length = self.body.use_var(self.length);
                    self.add(variable, length);
                }
                self.body.ins().jump(next, &[]);
            }
            _ => {
                let out = self.outs.iter().position(|out| out.link == link);
                let out = out.expect("rings behind the run are open");
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

    fn add(&mut self, variable: Variable, by: Value) {
        let old = self.body.use_var(variable);
        let new = self.body.ins().iadd(old, by);
        self.body.def_var(variable, new);
    }

    /// Counts a drop of a kernel whose words are here.
    pub fn count_drop(&mut self, words: usize, number: usize) {
        let one = self.body.ins().iconst(types::I64, 1);
        add_to_word(self.body, words, number * 8, one);
    }

    /// Puts the packet into a ring, or drops and counts it.
    fn send(&mut self, out: usize) {
        let Some(block) = self.outs[out].block else { return };
        let (write, bytes, full) =
            (self.outs[out].write, self.outs[out].bytes, self.outs[out].full);
        let at = self.blueprint.links[self.outs[out].link].ring;
        self.body.switch_to_block(block);
        let (room, none) = (self.body.create_block(), self.body.create_block());
        let index = self.body.use_var(write);
        let is_full = self.body.ins().icmp(IntCC::Equal, index, full);
        self.body.set_cold_block(none);
        self.body.ins().brif(is_full, none, &[], room, &[]);
        self.body.switch_to_block(none);
        let one = self.body.ins().iconst(types::I64, 1);
        add_to_word(self.body, at, ring::DROPS, one);
        self.body.ins().jump(self.free, &[]);
        self.body.switch_to_block(room);
        let base = address(self.body, at);
        let slot = slot_of(self.body, base, index);
        let packet = self.body.use_var(self.buffer);
        self.body.ins().store(plain(), packet, slot, ring::SLOTS as i32);
        let one = self.body.ins().iconst(types::I64, 1);
        self.add(write, one);
        let length = self.body.use_var(self.length);
        self.add(bytes, length);
        self.body.ins().jump(self.next, &[]);
    }

    /// The packet goes back to the freelist; to that of another pool by a call.
    fn give_back(&mut self) {
        let pool = &self.blueprint.pool;
        self.body.switch_to_block(self.free);
        let packet = self.body.use_var(self.buffer);
        let (ours, theirs) = (self.body.create_block(), self.body.create_block());
        let home = self.body.ins().load(types::I64, plain(), packet, buffer::HOME as i32);
        let itself = address(self.body, pool.itself);
        let is_ours = self.body.ins().icmp(IntCC::Equal, home, itself);
        self.body.set_cold_block(theirs);
        self.body.ins().brif(is_ours, ours, &[], theirs, &[]);
        self.body.switch_to_block(theirs);
        self.body.call(self.imports.free, &[packet]);
        self.body.ins().jump(self.next, &[]);
        self.body.switch_to_block(ours);
        let first = load_word(self.body, pool.free, 0);
        self.body.ins().store(plain(), first, packet, buffer::NEXT as i32);
        store_word(self.body, packet, pool.free, 0);
        let one = self.body.ins().iconst(types::I64, 1);
        add_to_word(self.body, pool.freed, 0, one);
        self.body.ins().jump(self.next, &[]);
    }

    /// Writes what was counted, and notifies of links that are no longer empty.
    fn end(&mut self) {
        for at in 0..self.between.len() {
            let Between { link, packets, bytes } = self.between[at];
            let ring_at = self.blueprint.links[link].ring;
            let packets = self.body.use_var(packets.variable());
            let bytes = self.body.use_var(bytes.variable());
            add_to_word(self.body, ring_at, ring::READ, packets);
            add_to_word(self.body, ring_at, ring::WRITE, packets);
            add_to_word(self.body, ring_at, ring::TX_BYTES, bytes);
        }
        for at in 0..self.outs.len() {
            self.close(at);
        }
        self.body.ins().return_(&[]);
    }

    fn close(&mut self, out: usize) {
        let Out { link, write, bytes, begin, full, block } = self.outs[out];
        if block.is_none() {
            return;
        }
        let part = &self.blueprint.links[link];
        let now = self.body.use_var(write);
        store_word(self.body, now, part.ring, ring::WRITE);
        let bytes = self.body.use_var(bytes);
        add_to_word(self.body, part.ring, ring::TX_BYTES, bytes);
        // It was empty, and is no longer.
        let empty = self.body.ins().iadd_imm_u(begin, QUEUED_MAX as i64);
        let was_empty = self.body.ins().icmp(IntCC::Equal, empty, full);
        let grew = self.body.ins().icmp(IntCC::NotEqual, now, begin);
        let news = self.body.ins().band(was_empty, grew);
        let (notify, on) = (self.body.create_block(), self.body.create_block());
        self.body.ins().brif(news, notify, &[], on, &[]);
        self.body.switch_to_block(notify);
        let base = address(self.body, part.ring);
        if part.is_watched {
            self.body.call(self.imports.notify, &[base]);
            self.body.ins().jump(on, &[]);
        } else {
            let flag = self.body.ins().load(types::I64, plain(), base, ring::WAITING as i32);
            let set = self.body.create_block();
            self.body.ins().brif(flag, set, &[], on, &[]);
            self.body.switch_to_block(set);
            let one = self.body.ins().iconst(types::I8, 1);
            self.body.ins().store(plain(), one, flag, 0);
            self.body.ins().jump(on, &[]);
        }
        self.body.switch_to_block(on);
    }
}

/// The address of a slot, less the offset of all slots.
fn slot_of(body: &mut Body<'_>, ring: Value, index: Value) -> Value {
    let slot = body.ins().band_imm_u(index, SLOTS as i64 - 1);
    let bytes = body.ins().ishl_imm_u(slot, 3);
    body.ins().iadd(ring, bytes)
}
