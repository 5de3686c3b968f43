//! The state in which a run is written, and what can be asked of it.
//!
//! Files beside this one add to [`Writer`] what they write; `super` lists them.

use tidemill_jit::Body;
use tidemill_jit::asm::aligned;
use tidemill_jit::build::{Block, InstBuilder, Value, Variable, types};
use tidemill_stdx::hash::Map;

use super::blueprint::Blueprint;
use super::counter::Counter;
use super::counts::Between;
use super::imports::Imports;
use super::known::{Known, Raw};
use super::linear::Linear;
use crate::kernel::table::TableAddresses;
use crate::kernel::table::spec::TableSpec;
use crate::kernel::{End, FlowFacts, Kernel};
use crate::link::SLOTS;
use crate::packet::offsets as buffer;

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

/// A ring after the run.
#[derive(Clone, Copy)]
pub(super) struct Out {
    pub link: usize,
    /// The kernel whose output it is, in the run.
    pub at: usize,
    pub write: Counter,
    pub bytes: Counter,
    /// As the function begins: where to write, and where the ring is full. Nothing: it is loaded
    /// when it is needed.
    pub limits: Option<(Value, Value)>,
    /// Sends the packet; used as soon as it is made.
    pub block: Option<Block>,
    pub is_used: bool,
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
    pub oldest: Option<Counter>,
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
    /// The kernel whose code is being written.
    pub writing: usize,
    pub between: Vec<Between>,
    pub outs: Vec<Out>,
    /// Counters that are in registers.
    pub registers: usize,
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
    pub fn new(
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
            writing: 0,
            between: Vec::new(),
            outs: Vec::new(),
            registers: 0,
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

    // ---- the graph

    pub fn link_of(&self, at: usize, output: u32) -> Option<usize> {
        self.blueprint.apps[self.app(at)].outputs.get(output as usize).copied().flatten()
    }

    /// The link from which kernel `at`, not the first, has its packets.
    pub fn link_into(&self, at: usize) -> usize {
        let inputs = self.blueprint.apps[self.app(at)].inputs.iter().flatten();
        *inputs.into_iter().next().expect("kernels after the first have one link")
    }

    /// The number of the output whose link it is.
    pub fn output_of(&self, at: usize, link: usize) -> u32 {
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
    pub fn rings_after(&self, at: usize) -> Vec<usize> {
        let outputs = self.blueprint.apps[self.app(at)].outputs.iter().flatten().copied();
        outputs.filter(|&link| self.step_after(link).is_none()).collect()
    }

    /// The number of the input of a kernel after the first.
    pub fn input_of(&self, at: usize) -> usize {
        let inputs = &self.blueprint.apps[self.app(at)].inputs;
        inputs.iter().position(Option::is_some).unwrap_or(0)
    }

    /// The number of points at which packets enter a kernel after the first.
    pub fn ways_into(&self, at: usize) -> usize {
        let (kernel, _) = self.kernel(self.run.before[at]);
        let output = self.output_of(self.run.before[at], self.link_into(at));
        let ends = kernel.blocks.iter().map(|block| block.end);
        ends.filter(|&end| end == End::Emit(output) || end == End::EmitAll).count()
    }

    // ---- variables

    pub fn zero(&mut self) -> Variable {
        let variable = self.body.declare_var(types::I64);
        let none = self.body.ins().iconst(types::I64, 0);
        self.body.def_var(variable, none);
        variable
    }

    pub fn add(&mut self, variable: Variable, by: Value) {
        let old = self.body.use_var(variable);
        let new = self.body.ins().iadd(old, by);
        self.body.def_var(variable, new);
    }

    /// What describes the packet, while a copy takes its place.
    pub fn packet(&mut self) -> [Value; 4] {
        [self.buffer, self.data, self.start, self.length]
            .map(|variable| self.body.use_var(variable))
    }

    pub fn set_packet(&mut self, values: [Value; 4]) {
        let variables = [self.buffer, self.data, self.start, self.length];
        for (variable, value) in variables.into_iter().zip(values) {
            self.body.def_var(variable, value);
        }
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
}

/// A variable that has a value.
pub(super) fn variable(body: &mut Body<'_>, value: Value) -> Variable {
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
