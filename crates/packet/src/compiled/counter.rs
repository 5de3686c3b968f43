//! Numbers that a run keeps while its loop runs: in registers as long as there are few of them, and
//! then on the stack. A value that lives through a whole function costs time in each of its blocks
//! when registers are assigned, so many of them in a long function would take for ever.

use tidemill_jit::build::{InstBuilder, StackSlot, StackSlotData, StackSlotKind};
use tidemill_jit::build::{Value, Variable, types};

use super::writer::{Writer, variable};

/// Counters of a run in registers at most; some more than the machine has.
const REGISTERS_MAX: usize = 32;

/// A number that is kept while the loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counter {
    /// In a register, or wherever the compiler puts it.
    Register(Variable),
    /// On the stack.
    Stack(StackSlot),
}

impl Writer<'_, '_, '_> {
    /// Whether the next counter is in a register.
    pub fn has_registers(&self) -> bool {
        self.registers < REGISTERS_MAX
    }

    /// A counter that begins with a value.
    pub fn counter(&mut self, first: Value) -> Counter {
        if self.has_registers() {
            self.registers += 1;
            return Counter::Register(variable(self.body, first));
        }
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        let slot = self.body.create_sized_stack_slot(slot);
        let counter = Counter::Stack(slot);
        self.set(counter, first);
        counter
    }

    /// A counter that begins with 0.
    pub fn zero_counter(&mut self) -> Counter {
        let none = self.body.ins().iconst(types::I64, 0);
        self.counter(none)
    }

    /// The value of a counter.
    pub fn read(&mut self, counter: Counter) -> Value {
        match counter {
            Counter::Register(variable) => self.body.use_var(variable),
            Counter::Stack(slot) => self.body.ins().stack_load(types::I64, types::I64, slot, 0),
        }
    }

    /// Changes a counter.
    pub fn set(&mut self, counter: Counter, value: Value) {
        match counter {
            Counter::Register(variable) => self.body.def_var(variable, value),
            Counter::Stack(slot) => {
                self.body.ins().stack_store(types::I64, value, slot, 0);
            }
        }
    }

    /// Adds to a counter.
    pub fn count(&mut self, counter: Counter, by: Value) {
        let old = self.read(counter);
        let new = self.body.ins().iadd(old, by);
        self.set(counter, new);
    }
}
