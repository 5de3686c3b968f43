//! Numbers that a run keeps while its loop runs: in registers as long as there are few of them, and
//! then on the stack. A value that lives through a whole function costs time in each of its blocks
//! when registers are assigned, so many of them in a long function would take for ever.

use tidemill_jit::build::{StackSlot, Variable};

/// Counters of a run in registers at most; some more than the machine has.
pub(super) const REGISTERS_MAX: usize = 32;

/// A number that is kept while the loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counter {
    /// In a register, or wherever the compiler puts it.
    Register(Variable),
    /// On the stack.
    Stack(StackSlot),
}
