//! The translation of one function.
//!
//! ```text
//!           +-> start: arguments ----> block 0 --> ... --+-- return --> leave: drops locals, DONE
//! entry ----+                             ^              +-- fault ---> unwind: UNWINDING
//!           +-> dispatch --> reload n ----+              +-- waits ---> keep n: SUSPENDED
//! ```
//! Only a function with a frame has `dispatch`, and what is reloaded ([`super::suspend`]). One
//! without leaves by the same two blocks, but drops its locals when it unwinds, too; the run-time
//! drops those in frames.
//!
//! Invariants:
//!
//! 1. `frame`, `process`, `worker` and `component` are values of the entry, which dominates all
//!    blocks.
//! 2. A block is translated after the only block from which it is reached, if there is one: the
//!    facts at the end of that block are known ([`BlockFacts`]).
//! 3. `at` and `span` are those of the instruction that is being translated. What is kept at a
//!    suspension, the monitor, and positions in faults are found by them.

use tidemill_diag::Span;
use tidemill_jit::Body;
use tidemill_jit::asm::aligned;
use tidemill_jit::build::{
    Block, InstBuilder, StackSlot, StackSlotData, StackSlotKind, Type as Machine, Value, Variable,
    types,
};
use tidemill_proc::layout::{
    DONE, FRAME_RESULT, FRAME_RESUME, PROCESS_COMPONENT, UNWINDING, WORKER_BASE, WORKER_CURRENT,
};
use tidemill_proc::program::WordKind as Owned;
use tidemill_stdx::id::{IdMap, IdSet, IdVec};

use crate::compile::describe::storage_kind;
use crate::compile::facts::{BlockFacts, Facts};
use crate::compile::frame::Frame;
use crate::compile::lazy::Form;
use crate::compile::registers::Registers;
use crate::compile::section::Sections;
use crate::compile::unit::{Unit, machine};
use crate::compile::unwind::Unwind;
use crate::compile::watch::Writes;
use crate::ir::{
    BlockId, Constant, Function, FunctionId, FunctionKind, Group, Instruction, LocalId, Parameter,
    Pattern, Payload, Place, Register, Terminator, Type,
};

/// An address: a value and bytes beyond it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address {
    pub(super) base: Value,
    pub(super) offset: i32,
}

/// What a function reaches everything else by.
struct Entry {
    frame: Value,
    process: Value,
    worker: Value,
    component: Value,
}

impl Entry {
    /// What is loaded stays the same while the function runs, so it is loaded where it is needed.
    fn of(form: Form, arguments: &[Value], body: &mut Body<'_>) -> Entry {
        let mut constant = |from, offset| {
            let flags = aligned().with_readonly().with_can_move();
            body.ins().load(types::I64, flags, from, offset)
        };
        let (frame, process, worker) = match *arguments {
            [worker, ..] if form == Form::Lazy => {
                (constant(worker, WORKER_BASE), constant(worker, WORKER_CURRENT), worker)
            }
            _ => (arguments[0], arguments[1], arguments[2]),
        };
        Entry { frame, process, worker, component: constant(process, PROCESS_COMPONENT) }
    }
}

/// What a function that is inlined has of its own.
struct Inlined<'u> {
    function: &'u Function,
    registers: Registers,
    blocks: IdVec<BlockId, Block>,
    constants: IdMap<Register, Constant>,
}

/// Translates one function.
pub(super) struct Translator<'t, 'u, 'b> {
    pub(super) unit: &'t mut Unit<'u>,
    pub(super) body: &'t mut Body<'b>,
    pub(super) id: FunctionId,
    pub(super) function: &'u Function,
    pub(super) form: Form,
    pub(super) frame: Value,
    pub(super) process: Value,
    pub(super) worker: Value,
    pub(super) component: Value,
    /// The worker, for checkpoints: loops have it in a live range of their own.
    pub(super) pacer: Variable,
    registers: Registers,
    blocks: IdVec<BlockId, Block>,
    /// The blocks to resume at, from resume point 1.
    pub(super) resumes: Vec<Block>,
    /// In a function without a frame: its locals.
    pub(super) locals: Option<StackSlot>,
    /// Left with status (and result in native functions) after what locals own is freed.
    pub(super) leave: Block,
    /// Left with a fault.
    pub(super) unwind: Unwind,
    /// Where the monitor is taken only if the process has to wait.
    pub(super) sections: Sections,
    /// Blocks that begin by receiving what has been seen to be there.
    pub(super) heads: IdSet<BlockId>,
    /// Elements whose addresses are known here.
    pub(super) facts: Facts,
    /// How often the code of a search has been emitted.
    pub(super) searches: u32,
    /// Its writes that others may wait for.
    pub(super) writes: Writes,
    /// Registers that are nothing but a constant.
    constants: IdMap<Register, Constant>,
    /// The instruction that is translated.
    pub(super) at: (BlockId, usize),
    pub(super) span: Span,
}

impl<'t, 'u, 'b> Translator<'t, 'u, 'b> {
    /// Returns the number of resume points.
    pub(super) fn translate(
        unit: &'t mut Unit<'u>,
        (id, form): (FunctionId, Form),
        body: &'t mut Body<'b>,
    ) -> usize {
        let ir = unit.ir;
        let function = &ir.functions[id];
        let arguments = body.begin();
        let entry = Entry::of(form, &arguments, body);
        let Entry { frame, process, worker, component } = entry;
        let registers = Registers::of(function, &unit.frames[id], body);
        let pacer = body.declare_var(types::I64);
        body.def_var(pacer, worker);
        let blocks = blocks_of(function, body);
        let (leave, unwind) = (body.create_block(), Unwind::of(body));
        let locals = (form != Form::Framed && !function.locals.is_empty()).then(|| {
            let size = 8 * function.locals.len() as u32;
            body.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3))
        });
        let mut translator = Translator {
            sections: Sections::of(function, &unit.suspending),
            heads: heads(function),
            facts: Facts::default(),
            searches: 0,
            writes: Writes::of(function),
            constants: unit.frames[id].constants().clone(),
            span: function.blocks[BlockId::new(0)].terminator.1,
            at: (BlockId::new(0), 0),
            resumes: Vec::new(),
            unit,
            body,
            id,
            function,
            form,
            frame,
            process,
            worker,
            component,
            pacer,
            registers,
            blocks,
            locals,
            leave,
            unwind,
        };
        let fixed = if form == Form::Lazy { 1 } else { 3 };
        translator.function(&arguments[fixed..]);
        translator.resumes.len()
    }

    fn function(&mut self, arguments: &[Value]) {
        let (start, dispatch) = (self.body.create_block(), self.body.create_block());
        if self.is_framed() {
            let resume = self.body.load_aligned(types::I32, self.frame, FRAME_RESUME);
            self.body.ins().brif(resume, dispatch, &[], start, &[]);
        } else {
            self.body.ins().jump(start, &[]);
        }
        self.body.switch_to_block(start);
        self.receive_arguments(arguments);
        if self.form == Form::Lazy {
            self.leave_if_deep();
        }
        self.body.ins().jump(self.blocks[BlockId::new(0)], &[]);
        let mut block_facts = BlockFacts::of(self.function, &self.heads);
        for id in block_facts.order() {
            let block = &self.function.blocks[id];
            self.body.switch_to_block(self.blocks[id]);
            self.facts = block_facts.at_start(id);
            self.begin_writes();
            for (index, (instruction, span)) in block.instructions.iter().enumerate() {
                (self.at, self.span) = ((id, index), *span);
                self.body.source(span.start);
                self.facts.pass(instruction);
                self.mark_before(instruction);
                self.instruction(instruction);
                self.mark_after(instruction);
            }
            block_facts.at_end(id, &self.facts);
            self.span = block.terminator.1;
            self.body.source(self.span.start);
            self.mark_end(&block.terminator.0);
            self.terminator(&block.terminator.0);
        }
        self.exits();
        if self.is_framed() {
            self.dispatch(dispatch);
        }
    }

    /// Inlines a condition about the component alone.
    pub(super) fn inline_condition(&mut self, condition: FunctionId, holds: Block, fails: Block) {
        let inner = &self.unit.ir.functions[condition];
        let mut other = Inlined {
            function: inner,
            registers: Registers::of(inner, &self.unit.frames[condition], self.body),
            blocks: blocks_of(inner, self.body),
            constants: self.unit.frames[condition].constants().clone(),
        };
        self.exchange(&mut other);
        let span = self.span;
        self.body.ins().jump(self.blocks[BlockId::new(0)], &[]);
        for (id, block) in inner.blocks.iter_enumerated() {
            self.body.switch_to_block(self.blocks[id]);
            self.facts = Facts::default();
            for (instruction, span) in &block.instructions {
                self.span = *span;
                self.body.source(span.start);
                self.instruction(instruction);
            }
            self.span = block.terminator.1;
            match block.terminator.0 {
                Terminator::Return(Some(Payload::Register(value))) => {
                    let value = self.get(value);
                    self.body.ins().brif(value, holds, &[], fails, &[]);
                }
                ref other => self.terminator(other),
            }
        }
        self.facts = Facts::default();
        self.exchange(&mut other);
        self.span = span;
    }

    /// Switches between the function and one that is inlined. `at` stays, as nothing in a condition
    /// suspends.
    fn exchange(&mut self, other: &mut Inlined<'u>) {
        std::mem::swap(&mut self.function, &mut other.function);
        std::mem::swap(&mut self.registers, &mut other.registers);
        std::mem::swap(&mut self.blocks, &mut other.blocks);
        std::mem::swap(&mut self.constants, &mut other.constants);
    }

    /// Where the block's end leads, if that depends on this register and the instruction is the
    /// last one.
    pub(super) fn branch_on(&self, register: Register) -> Option<(Block, Block)> {
        let block = &self.function.blocks[self.at.0];
        match block.terminator.0 {
            Terminator::Branch { condition, then, otherwise }
                if condition == register && self.at.1 + 1 == block.instructions.len() =>
            {
                Some((self.blocks[then], self.blocks[otherwise]))
            }
            _ => None,
        }
    }

    /// Arguments go to registers and locals.
    fn receive_arguments(&mut self, arguments: &[Value]) {
        if let Some(slot) = self.locals {
            let zero = self.body.ins().iconst(types::I64, 0);
            for local in 0..self.function.locals.len() {
                self.body.ins().stack_store(types::I64, zero, slot, 8 * local as i32);
            }
        }
        let mut kept = 0;
        for (index, parameter) in self.function.parameters.iter().enumerate() {
            match *parameter {
                Parameter::Register(register) if self.is_framed() => {
                    let ty = machine(self.function.registers[register]);
                    let offset = self.unit.frames[self.id].word(kept);
                    let value = self.body.load_aligned(ty, self.frame, offset);
                    self.set(register, value);
                    kept += 1;
                }
                Parameter::Register(register) => self.set(register, arguments[index]),
                Parameter::Local(_) if self.is_framed() => {}
                Parameter::Local(local) => {
                    let to = self.place(Place::Local(local));
                    self.store(to, arguments[index]);
                }
            }
        }
    }

    /// Whether it has a frame from the start.
    pub(super) fn is_framed(&self) -> bool {
        self.form == Form::Framed
    }

    // ---- registers and memory ----

    pub(super) fn get(&mut self, register: Register) -> Value {
        match self.constant(register) {
            Some(constant) => self.constant_value(constant),
            None => self.registers.get(register, self.body),
        }
    }

    pub(super) fn set(&mut self, register: Register, value: Value) {
        self.registers.set(register, value, self.body);
    }

    /// The constant that the register always is.
    pub(super) fn constant(&self, register: Register) -> Option<Constant> {
        self.constants.get(register).copied()
    }

    pub(super) fn word(&mut self, value: i64) -> Value {
        self.body.ins().iconst(types::I64, value)
    }

    pub(super) fn half(&mut self, value: u32) -> Value {
        self.body.ins().iconst(types::I32, i64::from(value))
    }

    pub(super) fn place(&mut self, place: Place) -> Address {
        match place {
            Place::Local(local) => match self.locals {
                Some(slot) => {
                    let base = self.body.ins().stack_addr(types::I64, slot, 8 * index(local));
                    Address { base, offset: 0 }
                }
                None => Address { base: self.frame, offset: Frame::local(local) },
            },
            Place::Outer(local) => Address { base: self.frame, offset: Frame::local(local) },
            Place::Variable(variable) => {
                let offset = self.unit.ports[self.function.component].variable(variable);
                Address { base: self.component, offset }
            }
            Place::At(register) => Address { base: self.get(register), offset: 0 },
        }
    }

    /// The address as one value.
    pub(super) fn pointer(&mut self, address: Address) -> Value {
        match address.offset {
            0 => address.base,
            offset => self.body.ins().iadd_imm_s(address.base, i64::from(offset)),
        }
    }

    pub(super) fn load(&mut self, from: Address, ty: Type) -> Value {
        self.body.load_aligned(machine(ty), from.base, from.offset)
    }

    pub(super) fn store(&mut self, to: Address, value: Value) {
        self.body.store_aligned(value, to.base, to.offset);
    }

    /// Words in a row on the native stack.
    pub(super) fn row(&mut self, words: usize) -> StackSlot {
        let size = 8 * words.max(1) as u32;
        self.body.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3))
    }

    pub(super) fn row_address(&mut self, row: StackSlot) -> Value {
        self.body.ins().stack_addr(types::I64, row, 0)
    }

    pub(super) fn row_store(&mut self, row: StackSlot, index: usize, value: Value) {
        self.body.ins().stack_store(types::I64, value, row, 8 * index as i32);
    }

    pub(super) fn row_load(&mut self, row: StackSlot, index: usize, ty: Type) -> Value {
        self.body.ins().stack_load(types::I64, machine(ty), row, 8 * index as i32)
    }

    /// The result of the last operation.
    pub(super) fn result(&mut self, ty: Type) -> Value {
        self.body.load_aligned(machine(ty), self.frame, FRAME_RESULT)
    }

    pub(super) fn position(&mut self) -> Value {
        let position = self.unit.descriptors.position(self.span);
        self.half(position)
    }

    /// Where a fault leaves.
    pub(super) fn unwind(&mut self) -> Block {
        self.unwind.block(self.body)
    }

    // ---- exits ----

    pub(super) fn terminator(&mut self, terminator: &Terminator) {
        match *terminator {
            Terminator::Jump(block) => _ = self.body.ins().jump(self.blocks[block], &[]),
            Terminator::Branch { condition, then, otherwise } => {
                let condition = self.get(condition);
                let (then, otherwise) = (self.blocks[then], self.blocks[otherwise]);
                self.body.ins().brif(condition, then, &[], otherwise, &[]);
            }
            Terminator::Return(payload) => self.return_with(payload),
            Terminator::Fault(reason) => self.stated_fault(reason),
            Terminator::Exit => {
                let (zero, position) = (self.word(0), self.position());
                self.operate("halt", &[zero, position]);
                let unwind = self.unwind();
                self.body.ins().jump(unwind, &[]);
            }
        }
    }

    fn return_with(&mut self, payload: Option<Payload>) {
        let value = payload.map(|payload| match payload {
            Payload::Register(register) => self.get(register),
            Payload::Copy(place) | Payload::Move(place) => {
                let from = self.place(place);
                let word = self.load(from, self.function.result.unwrap_or(Type::Integer));
                let zero = self.word(0);
                self.store(from, zero);
                word
            }
        });
        let is_condition = matches!(self.function.kind, FunctionKind::Condition { .. });
        match value {
            Some(value) if self.is_framed() => {
                self.body.store_aligned(value, self.frame, FRAME_RESULT);
                self.body.ins().jump(self.leave, &[]);
            }
            Some(value) if is_condition => {
                let status = self.body.ins().ireduce(types::I32, value);
                self.body.ins().jump(self.leave, &[status.into()]);
            }
            Some(value) => {
                let status = self.half(DONE);
                self.body.ins().jump(self.leave, &[status.into(), value.into()]);
            }
            None if self.is_framed() => _ = self.body.ins().jump(self.leave, &[]),
            None => {
                let status = self.half(DONE);
                self.body.ins().jump(self.leave, &[status.into()]);
            }
        }
    }

    /// The two ways out. Frames that unwind are cleaned by the run-time, native functions clean
    /// up themselves.
    fn exits(&mut self) {
        let is_condition = matches!(self.function.kind, FunctionKind::Condition { .. });
        let result =
            self.function.result.filter(|_| !self.is_framed() && !is_condition).map(machine);
        self.unwind_exit(result);
        self.leave_exit(result);
    }

    /// The block to which faults lead. A native function leaves by the other exit, with a result
    /// that is not used.
    fn unwind_exit(&mut self, result: Option<Machine>) {
        self.unwind.finish(self.body);
        let status = self.half(UNWINDING);
        if self.is_framed() {
            self.body.ins().return_(&[status]);
            return;
        }
        let all = self.without_result(status, result);
        let all: Vec<_> = all.into_iter().map(Into::into).collect();
        self.body.ins().jump(self.leave, &all);
    }

    /// What a function without a frame returns beside a status that says that it has no result.
    pub(super) fn without_result(&mut self, status: Value, result: Option<Machine>) -> Vec<Value> {
        let nothing = result.map(|ty| match ty {
            types::F64 => self.body.ins().f64const(0.0),
            ty => self.body.ins().iconst(ty, 0),
        });
        [Some(status), nothing].into_iter().flatten().collect()
    }

    /// The block to which returns lead: drops what locals own.
    fn leave_exit(&mut self, result: Option<Machine>) {
        let parameters: Vec<Value> = if self.is_framed() {
            Vec::new()
        } else {
            let status = self.body.append_block_param(self.leave, types::I32);
            let result = result.map(|ty| self.body.append_block_param(self.leave, ty));
            [Some(status), result].into_iter().flatten().collect()
        };
        self.body.switch_to_block(self.leave);
        for (id, local) in self.function.locals.iter_enumerated() {
            let kind = storage_kind(&local.storage);
            if !matches!(kind, Owned::Scalar | Owned::Reference | Owned::Component) {
                let place = self.place(Place::Local(id));
                self.drop_if_any(place, kind);
            }
        }
        if self.is_framed() {
            let status = self.half(DONE);
            self.body.ins().return_(&[status]);
        } else {
            self.body.ins().return_(&parameters);
        }
    }

    // ---- instructions ----

    pub(super) fn instruction(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Checkpoint => self.checkpoint(),
            Instruction::Call { result, function, arguments } => {
                self.call(*result, *function, arguments);
            }
            _ => match instruction.group() {
                Group::Scalar => self.scalar(instruction),
                Group::Message => self.message(instruction),
                Group::Component => self.component(instruction),
                Group::Owned => self.owned(instruction),
            },
        }
    }
}

/// A block of the code for each of the function.
fn blocks_of(function: &Function, body: &mut Body) -> IdVec<BlockId, Block> {
    let made = function.blocks.iter();
    made.map(|block| if block.is_rare { body.cold_block() } else { body.create_block() }).collect()
}

/// Blocks that are only reached where a message has been found at the head, and begin by receiving
/// it: `WHILE ?M DO ?M(x); ...`.
fn heads(function: &Function) -> IdSet<BlockId> {
    let mut ways: IdVec<BlockId, u32> = function.blocks.iter().map(|_| 0).collect();
    for block in &function.blocks {
        block.terminator.0.targets().for_each(|target| ways[target] += 1);
    }
    let found = function.blocks.iter().filter_map(|block| {
        let (Instruction::Test { to, from, pattern: Pattern::Message(seen) }, _) =
            block.instructions.last()?
        else {
            return None;
        };
        let Terminator::Branch { condition, then, .. } = block.terminator.0 else { return None };
        let (Instruction::Receive { from: again, message, .. }, _) =
            function.blocks[then].instructions.first()?
        else {
            return None;
        };
        let is = condition == *to && (again, message) == (from, seen) && ways[then] == 1;
        is.then_some(then)
    });
    found.collect()
}

fn index(local: LocalId) -> i32 {
    local.raw() as i32
}
