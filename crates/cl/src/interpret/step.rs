//! The loop over instructions, and how they reach registers, places and the run-time.

use tidemill_diag::Span;
use tidemill_proc::entry::Operation;
use tidemill_proc::fault::{ANY_TYPE, Reason as Fault};
use tidemill_proc::interpret::Status;
use tidemill_proc::program::WordKind as Owned;
use tidemill_stdx::id::Id;

use crate::compile::describe::storage_kind;
use crate::interpret::access::Access;
use crate::interpret::frame::Layout;
use crate::interpret::machine::Machine;
use crate::ir::{
    BlockId, ComponentId, Function, FunctionId, Group, Guard, Instruction, Payload, Place, Reason,
    Register, Terminator, Type,
};

/// The outcome of an instruction; an error is never [`Status::Done`].
pub(super) type Done<T = ()> = Result<T, Status>;

/// The resume point of a frame whose call has suspended: resumed, the call has returned.
const RETURNED: u32 = 1;

/// A running frame.
pub(super) struct Step<'m, 'f, 'a> {
    pub(super) machine: &'m Machine,
    pub(super) function: &'m Function,
    pub(super) layout: Layout,
    pub(super) activation: Access<'f, 'a>,
    /// Of the instruction that is executed.
    pub(super) span: Span,
}

impl<'m, 'f, 'a> Step<'m, 'f, 'a> {
    pub(super) fn new(machine: &'m Machine, activation: Access<'f, 'a>) -> Self {
        let id = FunctionId::new(activation.function());
        let function = &machine.ir.functions[id];
        let span = function.blocks[BlockId::new(0)].terminator.1;
        Step { machine, function, layout: machine.layouts[id], activation, span }
    }

    /// Runs the frame from where it was until it is done, waits or faults.
    pub(super) fn run(mut self) -> Status {
        let mut block = BlockId::new(self.activation.word(self.layout.block()) as u32);
        let mut index = self.activation.word(self.layout.index()) as usize;
        let function = self.function;
        loop {
            let (instructions, end) = {
                let block = &function.blocks[block];
                (&block.instructions, &block.terminator)
            };
            while let Some((instruction, span)) = instructions.get(index) {
                self.span = *span;
                if let Err(status) = self.instruction(instruction) {
                    // A checkpoint that has suspended must not suspend again.
                    let next = index + usize::from(matches!(instruction, Instruction::Checkpoint));
                    self.activation.set_word(self.layout.block(), block.index() as u64);
                    self.activation.set_word(self.layout.index(), next as u64);
                    return status;
                }
                index += 1;
            }
            self.span = end.1;
            match self.terminator(&end.0) {
                Ok(next) => (block, index) = (next, 0),
                Err(status) => return status,
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction) -> Done {
        match instruction {
            Instruction::Checkpoint => self.checkpoint(),
            Instruction::Call { result, function, arguments } => {
                if self.activation.resume_point() != RETURNED {
                    self.activation.set_resume_point(RETURNED);
                    self.call(*function, arguments)?;
                }
                self.activation.set_resume_point(0);
                let value = self.activation.result();
                if let Some(to) = result {
                    self.put_result(*to, value);
                }
                Ok(())
            }
            _ => match instruction.group() {
                Group::Scalar => self.scalar(instruction),
                Group::Message => self.message(instruction),
                Group::Component => self.component(instruction),
                Group::Owned => self.owned(instruction),
            },
        }
    }

    fn checkpoint(&mut self) -> Done {
        if self.machine.has_checkpoints && self.activation.is_slice_over() {
            return self.status(Operation::pause, &[]);
        }
        Ok(())
    }

    // ---- how blocks end ----

    /// The next block; or how the function ends.
    fn terminator(&mut self, terminator: &Terminator) -> Done<BlockId> {
        match *terminator {
            Terminator::Jump(block) => Ok(block),
            Terminator::Branch { condition, then, otherwise } => {
                Ok(if self.get(condition) != 0 { then } else { otherwise })
            }
            Terminator::Return(payload) => {
                if let Some(payload) = payload {
                    let value = self.outgoing(payload)?;
                    self.activation.set_result(value);
                }
                self.leave();
                Err(Status::Done)
            }
            Terminator::Fault(reason) => {
                let (reason, detail) = match reason {
                    Reason::Assertion(Some(code)) => (Fault::Assertion, self.integer(code)),
                    Reason::Assertion(None) => (Fault::Asserted, 0),
                    Reason::Halt(code) => (Fault::Halt, self.integer(code)),
                    Reason::NoResult => (Fault::NoResult, 0),
                    Reason::Empty => (Fault::Empty, 0),
                    Reason::Type(Guard { place, component }) => {
                        let kind = component.map_or(ANY_TYPE, ComponentId::raw);
                        let words = [self.load(place), u64::from(kind), self.position()];
                        self.status(Operation::fault_type, &words)?;
                        return Err(Status::Unwinding);
                    }
                };
                Err(self.fault(reason, detail))
            }
            Terminator::Exit => {
                let position = self.position();
                self.status(Operation::halt, &[0, position])?;
                Err(Status::Unwinding)
            }
        }
    }

    /// Frees what locals own. Components among them have been waited for.
    fn leave(&mut self) {
        for (id, local) in self.function.locals.iter_enumerated() {
            let kind = storage_kind(&local.storage);
            if !matches!(kind, Owned::Scalar | Owned::Reference | Owned::Component) {
                self.drop_word(Place::Local(id), kind);
            }
        }
    }

    // ---- registers and places ----

    pub(super) fn get(&self, register: Register) -> u64 {
        self.activation.word(self.layout.register(register))
    }

    pub(super) fn set(&mut self, register: Register, value: u64) {
        self.activation.set_word(self.layout.register(register), value);
    }

    pub(super) fn integer(&self, register: Register) -> i64 {
        self.get(register) as i64
    }

    pub(super) fn real(&self, register: Register) -> f64 {
        f64::from_bits(self.get(register))
    }

    pub(super) fn ty(&self, register: Register) -> Type {
        self.function.registers[register]
    }

    /// Where a place is.
    pub(super) fn address(&self, place: Place) -> u64 {
        match place {
            Place::Local(local) => self.activation.frame() + u64::from(Layout::local(local)),
            Place::Outer(local) => self.activation.parent() + u64::from(Layout::local(local)),
            Place::Variable(variable) => {
                let offset = self.machine.ports[self.function.component].variable(variable);
                self.activation.component() + offset as u64
            }
            Place::At(register) => self.get(register),
        }
    }

    pub(super) fn load(&self, place: Place) -> u64 {
        self.activation.load(self.address(place))
    }

    pub(super) fn store(&mut self, place: Place, value: u64) {
        self.activation.store(self.address(place), value);
    }

    /// The place is empty afterwards.
    pub(super) fn take(&mut self, place: Place) -> u64 {
        let value = self.load(place);
        self.store(place, 0);
        value
    }

    /// A value on its way out of the function: texts are copied, or leave their place.
    pub(super) fn outgoing(&mut self, payload: Payload) -> Done<u64> {
        match payload {
            Payload::Register(register) => Ok(self.get(register)),
            Payload::Copy(place) => self.text_copy(place),
            Payload::Move(place) => Ok(self.take(place)),
        }
    }

    pub(super) fn drop_word(&mut self, place: Place, kind: Owned) {
        let address = self.address(place);
        self.activation.perform(Operation::drop_word, &[address, kind as u64]);
    }

    /// Puts words in a row; its address.
    pub(super) fn row(&mut self, words: &[u64]) -> u64 {
        for (index, &word) in words.iter().enumerate() {
            self.activation.set_word(self.layout.row(index), word);
        }
        self.row_address(words.len())
    }

    /// The address of a row of `count` words; an empty one is nowhere, as frames without rows end
    /// where it would be.
    pub(super) fn row_address(&self, count: usize) -> u64 {
        match count {
            0 => 0,
            _ => self.activation.frame() + u64::from(self.layout.row(0)),
        }
    }

    pub(super) fn row_word(&self, index: usize) -> u64 {
        self.activation.word(self.layout.row(index))
    }

    // ---- operations of the run-time ----

    pub(super) fn position(&self) -> u64 {
        u64::from(self.machine.numbers.position(self.span))
    }

    /// An operation that cannot fail.
    pub(super) fn value(&mut self, operation: Operation, arguments: &[u64]) -> u64 {
        self.activation.perform(operation, arguments)
    }

    /// An operation that may wait or fault.
    pub(super) fn status(&mut self, operation: Operation, arguments: &[u64]) -> Done {
        match Status::of(self.activation.perform(operation, arguments)) {
            Status::Done => Ok(()),
            other => Err(other),
        }
    }

    /// The same, of one with a result.
    pub(super) fn result(&mut self, operation: Operation, arguments: &[u64]) -> Done<u64> {
        self.status(operation, arguments)?;
        Ok(self.activation.result())
    }

    /// An operation that gives an address, or null after a fault.
    pub(super) fn find(&mut self, operation: Operation, arguments: &[u64]) -> Done<u64> {
        match self.activation.perform(operation, arguments) {
            0 => Err(Status::Unwinding),
            address => Ok(address),
        }
    }

    /// A fault of this instruction.
    pub(super) fn fault(&mut self, reason: Fault, detail: i64) -> Status {
        let words = [reason as u64, detail as u64, self.position()];
        Status::of(self.activation.perform(Operation::fault, &words))
    }
}

impl Machine {
    /// Evaluates a condition, which gets a frame below the one that awaits it.
    pub(super) fn evaluate(&self, mut access: Access<'_, '_>, number: u32) -> Option<bool> {
        let function = &self.ir.functions[FunctionId::new(number)];
        let position = self.numbers.position(function.blocks[BlockId::new(0)].terminator.1);
        let words = [u64::from(number), u64::from(position)];
        let frame = access.perform(Operation::frame_new, &words);
        if frame == 0 || access.call_at_once(frame) != Status::Done {
            return None;
        }
        Some(access.result() != 0)
    }
}
