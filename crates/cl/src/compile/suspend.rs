//! How a function is left when its process is suspended, and entered again.
//!
//! ```text
//! blocks:  retry: operation --+-- done ------> next
//!            ^                +-- fault -----> unwind
//!            |                +-- suspended -> keep registers, set the resume point, return
//!            |                                                          .
//!            +------- reload registers <------- dispatch, by the resume point
//! ```
//! Resume point 0 is the start of the function, point `n` is the block `resumes[n - 1]`.
//!
//! Invariants:
//!
//! 1. A reload reads the words that were kept, in the same order: both ask for the registers kept
//!    at [`Translator::at`], which does not change between the two.
//! 2. The resume point is set before the function returns `SUSPENDED`.
//! 3. Nothing is emitted between `retry` and the operation that must not be executed twice.

use tidemill_diag::Span;
use tidemill_jit::build::{Block, InstBuilder, IntCC, MemFlagsData, Value, types};
use tidemill_proc::entry::Outcome;
use tidemill_proc::layout::{
    DEFERRED, FRAME_RESUME, PAUSED, SUSPENDED, UNWINDING, WORKER_BUDGET, WORKER_FLAG,
};

use crate::compile::lazy::Form;
use crate::compile::translate::Translator;
use crate::compile::unit::{Checkpoints, machine};
use crate::ir::{Instruction, Register, Terminator};

/// What a function that is being suspended returns, and the block that loads what it has kept.
struct Kept {
    status: Value,
    reload: Block,
}

/// Instructions that a process which is resumed has code of its own for, at most.
const REST_MAX: usize = 6;

impl<'u> Translator<'_, 'u, '_> {
    /// Begins what is executed again when the process is resumed.
    pub(super) fn retry(&mut self) -> Block {
        let retry = self.body.create_block();
        self.body.ins().jump(retry, &[]);
        self.body.switch_to_block(retry);
        retry
    }

    /// An operation that may suspend; then all since `retry` is executed again.
    pub(super) fn blocks(&mut self, name: &'static str, arguments: &[Value], retry: Block) {
        let suspended = self.body.cold_block();
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
        let (next, waits) = (self.body.create_block(), self.body.cold_block());
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
        let (next, waits) = (self.body.create_block(), self.body.cold_block());
        let suspended = self.body.cold_block();
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

    /// A call has returned this status, which is not 0: returns the same, with what is needed
    /// kept, or unwinds. A function with a frame, resumed, goes to `resume`.
    pub(super) fn leave_call(&mut self, status: Value, resume: Block) {
        let suspended = self.body.cold_block();
        let is = self.body.ins().icmp_imm_u(IntCC::Equal, status, i64::from(UNWINDING));
        let unwind = self.unwind();
        self.body.ins().brif(is, unwind, &[], suspended, &[]);
        self.body.switch_to_block(suspended);
        let kept = self.keep(status);
        self.leave_suspended(kept, resume);
    }

    fn suspend_at_or_unwind(&mut self, status: Value, resume: Block, suspended: Block) {
        let is = self.body.ins().icmp_imm_u(IntCC::Equal, status, i64::from(SUSPENDED));
        let unwind = self.unwind();
        self.body.ins().brif(is, suspended, &[], unwind, &[]);
        self.body.switch_to_block(suspended);
        self.suspend(resume);
    }

    /// Has the run-time start a frame when the native stack is deep enough.
    pub(super) fn defer(&mut self, callee: Value, resume: Block) {
        self.operate("call_deferred", &[callee]);
        let status = self.half(DEFERRED);
        let kept = self.keep(status);
        self.leave_suspended(kept, resume);
    }

    /// Keeps what is needed and returns; resumed, reloads it and goes to `resume`.
    pub(super) fn suspend(&mut self, resume: Block) {
        let status = self.half(SUSPENDED);
        let kept = self.keep(status);
        self.leave_suspended(kept, resume);
    }

    /// Keeps the live registers, in a function without a frame in one that is made now, and sets
    /// the frame's resume point, before the function returns with a status.
    fn keep(&mut self, status: Value) -> Kept {
        debug_assert!(self.form != Form::Native, "there is no frame to keep registers in");
        let (frame, status) = match self.form {
            Form::Lazy => self.lazy_frame(status),
            _ => (self.frame, status),
        };
        for (word, register) in self.kept().into_iter().enumerate() {
            let value = self.get(register);
            let offset = self.unit.frames[self.id].word(word);
            self.body.store_aligned(value, frame, offset);
        }
        let reload = self.body.create_block();
        self.resumes.push(reload);
        let point = self.half(self.resumes.len() as u32);
        self.body.store_aligned(point, frame, FRAME_RESUME);
        Kept { status, reload }
    }

    /// Returns; resumed, takes up again what has been kept and goes to `resume`.
    fn leave_suspended(&mut self, Kept { status, reload }: Kept, resume: Block) {
        if self.form == Form::Lazy {
            let all = self.without_result(status, self.function.result.map(machine));
            self.body.ins().return_(&all);
            return;
        }
        self.body.ins().return_(&[status]);
        self.body.switch_to_block(reload);
        for (word, register) in self.kept().into_iter().enumerate() {
            let ty = machine(self.function.registers[register]);
            let offset = self.unit.frames[self.id].word(word);
            let value = self.body.load_aligned(ty, self.frame, offset);
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

    /// Jumps to the resume point of a suspended frame.
    pub(super) fn dispatch(&mut self, dispatch: Block) {
        self.body.switch_to_block(dispatch);
        let resume = self.body.load_aligned(types::I32, self.frame, FRAME_RESUME);
        let cases = (1..).zip(self.resumes.iter().copied());
        self.body.switch(resume, cases, self.unwind.leaving());
    }

    /// A place in a loop where a process whose slice is over is suspended.
    pub(super) fn checkpoint(&mut self) {
        let Some(is_over) = self.slice_is_over() else { return };
        let (next, cold) = (self.body.create_block(), self.body.cold_block());
        self.body.ins().brif(is_over, cold, &[], next, &[]);
        self.body.switch_to_block(cold);
        // Kept before the call, so that nothing of the loop has to outlive it.
        let status = if self.is_framed() { SUSPENDED } else { PAUSED };
        let status = self.half(status);
        let kept = self.keep(status);
        if self.is_framed() {
            self.hold();
            self.operate("pause", &[]);
        }
        match self.short_rest().filter(|_| self.is_framed()) {
            Some(rest) => {
                let resumed = self.body.cold_block();
                self.leave_suspended(kept, resumed);
                self.body.switch_to_block(resumed);
                self.repeat(rest);
            }
            None => self.leave_suspended(kept, next),
        }
        self.body.switch_to_block(next);
    }

    /// Whether the slice is over; `None` if there are no slices.
    fn slice_is_over(&mut self) -> Option<Value> {
        let is_over = match self.unit.checkpoints {
            Checkpoints::None => return None,
            Checkpoints::Flag => {
                // Another thread sets it: the load must not move.
                let (flags, worker) = (MemFlagsData::new(), self.body.use_var(self.pacer));
                self.body.ins().load(types::I8, flags, worker, WORKER_FLAG)
            }
            Checkpoints::Count => {
                let left = self.body.load_aligned(types::I64, self.worker, WORKER_BUDGET);
                let left = self.body.ins().iadd_imm_s(left, -1);
                self.body.store_aligned(left, self.worker, WORKER_BUDGET);
                self.body.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0)
            }
        };
        Some(is_over)
    }

    /// Translates the rest of the block once more, with its end.
    fn repeat(&mut self, rest: &[(Instruction, Span)]) {
        let span = self.span;
        for (instruction, span) in rest {
            self.span = *span;
            self.instruction(instruction);
        }
        let block = &self.function.blocks[self.at.0];
        self.span = block.terminator.1;
        self.terminator(&block.terminator.0);
        self.span = span;
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
