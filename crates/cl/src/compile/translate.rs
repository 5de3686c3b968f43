//! One function: blocks, registers, places, and how it is left and entered again.

use tidemill_diag::Span;
use tidemill_jit::Body;
use tidemill_jit::build::{
    Block, InstBuilder, IntCC, MemFlagsData, StackSlot, StackSlotData, StackSlotKind, Switch,
    Value, Variable, types,
};
use tidemill_proc::entry::Outcome;
use tidemill_proc::layout::{
    DONE, FRAME_RESULT, FRAME_RESUME, PROCESS_COMPONENT, SUSPENDED, UNWINDING,
};
use tidemill_proc::program::WordKind as Owned;
use tidemill_stdx::id::{IdMap, IdSet, IdVec};

use crate::compile::describe::storage_kind;
use crate::compile::facts::{BlockFacts, Facts};
use crate::compile::frame::Frame;
use crate::compile::registers::Registers;
use crate::compile::section::Sections;
use crate::compile::unit::{Checkpoints, Unit, machine};
use crate::compile::unwind::Unwind;
use crate::compile::watch::Writes;
use crate::ir::{
    BlockId, Constant, Function, FunctionId, FunctionKind, Group, Instruction, LocalId, Parameter,
    Pattern, Payload, Place, Register, Terminator, Type,
};

/// Instructions that a process which is resumed has code of its own for, at most.
const REST_MAX: usize = 6;

/// Memory that exists and is aligned.
pub(super) fn sound() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// An address: a value and bytes beyond it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address {
    pub(super) base: Value,
    pub(super) offset: i32,
}

/// Translates one function.
pub(super) struct Translator<'t, 'u, 'b> {
    pub(super) unit: &'t mut Unit<'u>,
    pub(super) body: &'t mut Body<'b>,
    pub(super) id: FunctionId,
    pub(super) function: &'u Function,
    pub(super) framed: bool,
    pub(super) frame: Value,
    pub(super) process: Value,
    pub(super) worker: Value,
    pub(super) component: Value,
    /// The worker, for checkpoints: loops have it in a live range of their own.
    pub(super) pacer: Variable,
    registers: Registers,
    blocks: IdVec<BlockId, Block>,
    /// The blocks to resume at, from resume point 1.
    resumes: Vec<Block>,
    /// In a native function: its locals.
    locals: Option<StackSlot>,
    /// Left with status (and result in native functions) after what locals own is freed.
    leave: Block,
    /// Left with a fault.
    unwind: Unwind,
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
    pub(super) fn translate(unit: &'t mut Unit<'u>, id: FunctionId, body: &'t mut Body<'b>) {
        let ir = unit.ir;
        let function = &ir.functions[id];
        let arguments = body.begin();
        let (frame, process, worker) = (arguments[0], arguments[1], arguments[2]);
        let component = body.ins().load(types::I64, sound(), process, PROCESS_COMPONENT);
        let framed = unit.suspending.contains(id);
        let registers = Registers::of(function, &unit.frames[id], body);
        let pacer = body.declare_var(types::I64);
        body.def_var(pacer, worker);
        let blocks = blocks_of(function, body);
        let (leave, unwind) = (body.create_block(), Unwind::of(body));
        let locals = (!framed && !function.locals.is_empty()).then(|| {
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
            framed,
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
        translator.function(&arguments[3..]);
    }

    fn function(&mut self, arguments: &[Value]) {
        let (start, dispatch) = (self.body.create_block(), self.body.create_block());
        if self.framed {
            let resume = self.body.ins().load(types::I32, sound(), self.frame, FRAME_RESUME);
            self.body.ins().brif(resume, dispatch, &[], start, &[]);
        } else {
            self.body.ins().jump(start, &[]);
        }
        self.body.switch_to_block(start);
        self.receive_arguments(arguments);
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
        if self.framed {
            self.dispatch(dispatch);
        }
    }

    /// The code of a condition about the component alone, as part of this function.
    pub(super) fn within(&mut self, condition: FunctionId, holds: Block, fails: Block) {
        let inner = &self.unit.ir.functions[condition];
        let registers = Registers::of(inner, &self.unit.frames[condition], self.body);
        let registers = std::mem::replace(&mut self.registers, registers);
        let blocks = blocks_of(inner, self.body);
        let blocks = std::mem::replace(&mut self.blocks, blocks);
        let constants = self.unit.frames[condition].constants().clone();
        let constants = std::mem::replace(&mut self.constants, constants);
        let function = std::mem::replace(&mut self.function, inner);
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
        (self.registers, self.blocks, self.constants) = (registers, blocks, constants);
        (self.function, self.span) = (function, span);
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

    /// Jumps to the resume point of a suspended frame.
    fn dispatch(&mut self, dispatch: Block) {
        self.body.switch_to_block(dispatch);
        let mut switch = Switch::new();
        for (index, block) in self.resumes.iter().enumerate() {
            switch.set_entry(index as u128 + 1, *block);
        }
        let resume = self.body.ins().load(types::I32, sound(), self.frame, FRAME_RESUME);
        switch.emit(self.body, resume, self.unwind.leaving());
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
                Parameter::Register(register) if self.framed => {
                    let ty = machine(self.function.registers[register]);
                    let offset = self.unit.frames[self.id].word(kept);
                    let value = self.body.ins().load(ty, sound(), self.frame, offset);
                    self.set(register, value);
                    kept += 1;
                }
                Parameter::Register(register) => self.set(register, arguments[index]),
                Parameter::Local(_) if self.framed => {}
                Parameter::Local(local) => {
                    let to = self.place(Place::Local(local));
                    self.store(to, arguments[index]);
                }
            }
        }
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
        self.body.ins().load(machine(ty), sound(), from.base, from.offset)
    }

    pub(super) fn store(&mut self, to: Address, value: Value) {
        self.body.ins().store(sound(), value, to.base, to.offset);
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
        self.body.ins().load(machine(ty), sound(), self.frame, FRAME_RESULT)
    }

    pub(super) fn position(&mut self) -> Value {
        let position = self.unit.descriptors.position(self.span);
        self.half(position)
    }

    // ---- operations of the run-time ----

    fn operate(&mut self, name: &'static str, arguments: &[Value]) -> (Option<Value>, Outcome) {
        let (function, outcome) = match self.unit.entries.get(name) {
            Some((function, entry)) => (*function, entry.outcome),
            None => panic!("the run-time has no operation {name}"),
        };
        let mut all = vec![self.frame, self.process, self.worker];
        all.extend_from_slice(arguments);
        (self.body.call(function, &all).first().copied(), outcome)
    }

    /// An operation without failure.
    pub(super) fn plain(&mut self, name: &'static str, arguments: &[Value]) -> Option<Value> {
        let (value, outcome) = self.operate(name, arguments);
        debug_assert_eq!(outcome, Outcome::Value, "{name}");
        value
    }

    /// An operation that gives a value and cannot fail.
    pub(super) fn value(&mut self, name: &'static str, arguments: &[Value]) -> Value {
        match self.plain(name, arguments) {
            Some(value) => value,
            None => panic!("{name} gives nothing"),
        }
    }

    /// A truth value of 32 bits, as a word.
    pub(super) fn truth(&mut self, name: &'static str, arguments: &[Value]) -> Value {
        let value = self.value(name, arguments);
        self.body.ins().uextend(types::I64, value)
    }

    /// An operation that may fault.
    pub(super) fn faults(&mut self, name: &'static str, arguments: &[Value]) {
        let (status, outcome) = self.operate(name, arguments);
        debug_assert_eq!(outcome, Outcome::Faults, "{name}");
        if let Some(status) = status {
            self.unwind_if(status);
        }
    }

    /// An operation that is called only where it faults, which the code has tested. It does not
    /// return to the code that follows, so no value has to outlive it: what a loop has in
    /// registers, reals above all, stays there.
    pub(super) fn states_fault(&mut self, name: &'static str, arguments: &[Value]) {
        self.operate(name, arguments);
        let unwind = self.unwind();
        self.body.ins().jump(unwind, &[]);
    }

    /// An operation that gives an address, or null after a fault.
    pub(super) fn finds(&mut self, name: &'static str, arguments: &[Value]) -> Value {
        let (address, outcome) = self.operate(name, arguments);
        debug_assert_eq!(outcome, Outcome::Finds, "{name}");
        let address = address.unwrap_or(self.frame);
        let next = self.body.create_block();
        let unwind = self.unwind();
        self.body.ins().brif(address, next, &[], unwind, &[]);
        self.body.switch_to_block(next);
        address
    }

    fn unwind_if(&mut self, status: Value) {
        let next = self.body.create_block();
        let unwind = self.unwind();
        self.body.ins().brif(status, unwind, &[], next, &[]);
        self.body.switch_to_block(next);
    }

    /// Begins what is executed again when the process is resumed.
    pub(super) fn retry(&mut self) -> Block {
        let retry = self.body.create_block();
        self.body.ins().jump(retry, &[]);
        self.body.switch_to_block(retry);
        retry
    }

    /// An operation that may suspend; then all since `retry` is executed again.
    pub(super) fn blocks(&mut self, name: &'static str, arguments: &[Value], retry: Block) {
        let suspended = self.body.create_block();
        self.body.set_cold_block(suspended);
        self.blocks_at(name, arguments, retry, suspended);
    }

    /// The same; code that has suspended the process by itself goes to `suspended`.
    pub(super) fn blocks_at(
        &mut self,
        name: &'static str,
        arguments: &[Value],
        retry: Block,
        suspended: Block,
    ) {
        self.hold();
        let (status, outcome) = self.operate(name, arguments);
        debug_assert_eq!(outcome, Outcome::Blocks, "{name}");
        let (next, waits) = (self.body.create_block(), self.body.create_block());
        self.body.set_cold_block(waits);
        let status = status.unwrap_or(self.frame);
        self.body.ins().brif(status, waits, &[], next, &[]);
        self.body.switch_to_block(waits);
        self.suspend_at_or_unwind(status, retry, suspended);
        self.body.switch_to_block(next);
    }

    /// The same of an operation that seldom suspends, and then leaves the process ready: the
    /// monitor is taken only then.
    pub(super) fn pauses(&mut self, name: &'static str, arguments: &[Value], retry: Block) {
        let (status, outcome) = self.operate(name, arguments);
        debug_assert_eq!(outcome, Outcome::Blocks, "{name}");
        let (next, waits) = (self.body.create_block(), self.body.create_block());
        let suspended = self.body.create_block();
        self.body.set_cold_block(waits);
        self.body.set_cold_block(suspended);
        let status = status.unwrap_or(self.frame);
        self.body.ins().brif(status, waits, &[], next, &[]);
        self.body.switch_to_block(waits);
        let is = self.body.ins().icmp_imm_u(IntCC::Equal, status, i64::from(SUSPENDED));
        let unwind = self.unwind();
        self.body.ins().brif(is, suspended, &[], unwind, &[]);
        self.body.switch_to_block(suspended);
        self.hold();
        self.suspend(retry);
        self.body.switch_to_block(next);
    }

    /// Status 1 or 2 is known.
    pub(super) fn suspend_or_unwind(&mut self, status: Value, resume: Block) {
        let suspended = self.body.create_block();
        self.body.set_cold_block(suspended);
        self.suspend_at_or_unwind(status, resume, suspended);
    }

    fn suspend_at_or_unwind(&mut self, status: Value, resume: Block, suspended: Block) {
        let is = self.body.ins().icmp_imm_u(IntCC::Equal, status, i64::from(SUSPENDED));
        let unwind = self.unwind();
        self.body.ins().brif(is, suspended, &[], unwind, &[]);
        self.body.switch_to_block(suspended);
        self.suspend(resume);
    }

    /// Where a fault leaves.
    pub(super) fn unwind(&mut self) -> Block {
        self.unwind.block(self.body)
    }

    /// Has the scheduler start a frame when the native stack is deep enough.
    pub(super) fn defer(&mut self, callee: Value, resume: Block) {
        self.operate("call_deferred", &[callee]);
        self.suspend(resume);
    }

    /// Keeps what is needed and returns; resumed, reloads it and goes to `resume`.
    pub(super) fn suspend(&mut self, resume: Block) {
        let reload = self.keep();
        self.leave_suspended(reload, resume);
    }

    /// Keeps the live registers, and sets the frame's resume point to the block that it returns.
    fn keep(&mut self) -> Block {
        for (word, register) in self.kept().into_iter().enumerate() {
            let value = self.get(register);
            let offset = self.unit.frames[self.id].word(word);
            self.body.ins().store(sound(), value, self.frame, offset);
        }
        let reload = self.body.create_block();
        self.resumes.push(reload);
        let point = self.half(self.resumes.len() as u32);
        self.body.ins().store(sound(), point, self.frame, FRAME_RESUME);
        reload
    }

    /// Returns; resumed, takes up again what has been kept and goes to `resume`.
    fn leave_suspended(&mut self, reload: Block, resume: Block) {
        let status = self.half(SUSPENDED);
        self.body.ins().return_(&[status]);
        self.body.switch_to_block(reload);
        for (word, register) in self.kept().into_iter().enumerate() {
            let ty = machine(self.function.registers[register]);
            let offset = self.unit.frames[self.id].word(word);
            let value = self.body.ins().load(ty, sound(), self.frame, offset);
            self.set(register, value);
        }
        let (block, index) = self.at;
        for (register, viewed) in self.unit.frames[self.id].viewed(block, index) {
            let value = self.view_anew(viewed);
            self.set(register, value);
        }
        self.body.ins().jump(resume, &[]);
    }

    fn kept(&self) -> Vec<Register> {
        let (block, index) = self.at;
        self.unit.frames[self.id].kept(block, index)
    }

    /// A fault that the code itself finds, if `condition` is not 0.
    pub(super) fn fault_if(&mut self, condition: Value, reason: u32, detail: Option<Value>) {
        let (next, cold) = (self.body.create_block(), self.body.create_block());
        self.body.set_cold_block(cold);
        self.body.ins().brif(condition, cold, &[], next, &[]);
        self.body.switch_to_block(cold);
        self.fault(reason, detail);
        self.body.switch_to_block(next);
    }

    /// Ends the block with a fault.
    pub(super) fn fault(&mut self, reason: u32, detail: Option<Value>) {
        let detail = detail.unwrap_or_else(|| self.body.ins().iconst(types::I64, 0));
        let (reason, position) = (self.half(reason), self.position());
        self.operate("fault", &[reason, detail, position]);
        let unwind = self.unwind();
        self.body.ins().jump(unwind, &[]);
    }

    // ---- exits ----

    fn terminator(&mut self, terminator: &Terminator) {
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
            Some(value) if self.framed => {
                self.body.ins().store(sound(), value, self.frame, FRAME_RESULT);
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
            None if self.framed => _ = self.body.ins().jump(self.leave, &[]),
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
        let result = self.function.result.filter(|_| !self.framed && !is_condition).map(machine);
        self.unwind.finish(self.body);
        let status = self.half(UNWINDING);
        if self.framed {
            self.body.ins().return_(&[status]);
        } else {
            let nothing = result.map(|ty| match ty {
                types::F64 => self.body.ins().f64const(0.0),
                ty => self.body.ins().iconst(ty, 0),
            });
            let all: Vec<_> =
                [Some(status), nothing].into_iter().flatten().map(Into::into).collect();
            self.body.ins().jump(self.leave, &all);
        }
        let parameters: Vec<Value> = if self.framed {
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
        if self.framed {
            let status = self.half(DONE);
            self.body.ins().return_(&[status]);
        } else {
            self.body.ins().return_(&parameters);
        }
    }

    /// Frees what the word owns, if it owns something.
    pub(super) fn drop_if_any(&mut self, at: Address, kind: Owned) {
        let word = self.load(at, Type::Integer);
        let (some, next) = (self.body.create_block(), self.body.create_block());
        self.body.ins().brif(word, some, &[], next, &[]);
        self.body.switch_to_block(some);
        let (pointer, kind) = (self.pointer(at), self.half(kind as u32));
        self.plain("drop_word", &[pointer, kind]);
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(next);
    }

    // ---- instructions ----

    fn instruction(&mut self, instruction: &Instruction) {
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

    fn checkpoint(&mut self) {
        use tidemill_proc::layout::{WORKER_BUDGET, WORKER_FLAG};
        let over = match self.unit.checkpoints {
            Checkpoints::None => return,
            Checkpoints::Flag => {
                // Another thread sets it: the load must not move.
                let (flags, worker) = (MemFlagsData::new(), self.body.use_var(self.pacer));
                self.body.ins().load(types::I8, flags, worker, WORKER_FLAG)
            }
            Checkpoints::Count => {
                let left = self.body.ins().load(types::I64, sound(), self.worker, WORKER_BUDGET);
                let left = self.body.ins().iadd_imm_s(left, -1);
                self.body.ins().store(sound(), left, self.worker, WORKER_BUDGET);
                self.body.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0)
            }
        };
        let (next, cold) = (self.body.create_block(), self.body.create_block());
        self.body.set_cold_block(cold);
        self.body.ins().brif(over, cold, &[], next, &[]);
        self.body.switch_to_block(cold);
        // Kept before the call, so that nothing of the loop has to outlive it.
        let reload = self.keep();
        self.hold();
        self.operate("pause", &[]);
        if let Some(rest) = self.short_rest() {
            let resumed = self.outside();
            self.leave_suspended(reload, resumed);
            self.body.switch_to_block(resumed);
            let span = self.span;
            for (instruction, span) in rest {
                self.span = *span;
                self.instruction(instruction);
            }
            let block = &self.function.blocks[self.at.0];
            self.span = block.terminator.1;
            self.terminator(&block.terminator.0);
            self.span = span;
        } else {
            self.leave_suspended(reload, next);
        }
        self.body.switch_to_block(next);
    }

    /// The rest of the block after the instruction, if that is a few instructions of registers
    /// alone. A process that is resumed there has a copy of it: so the original has one
    /// predecessor, and its results stay in the registers of the loop.
    fn short_rest(&self) -> Option<&'u [(Instruction, Span)]> {
        let block = &self.function.blocks[self.at.0];
        let rest = &block.instructions[self.at.1 + 1..];
        let is_plain = |(instruction, _): &(Instruction, Span)| match instruction {
            Instruction::Constant { .. } | Instruction::Copy { .. } => true,
            Instruction::Binary { operator, .. } => operator.is_comparison(),
            _ => false,
        };
        let goes_on = matches!(block.terminator.0, Terminator::Jump(_) | Terminator::Branch { .. });
        (goes_on && rest.len() <= REST_MAX && rest.iter().all(is_plain)).then_some(rest)
    }
}

/// A block of the code for each of the function.
fn blocks_of(function: &Function, body: &mut Body) -> IdVec<BlockId, Block> {
    let made = function.blocks.iter().map(|block| {
        let made = body.create_block();
        if block.is_rare {
            body.set_cold_block(made);
        }
        made
    });
    made.collect()
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
