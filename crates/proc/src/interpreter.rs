//! What an interpreter is to the run-time.

use crate::layout::{DEFERRED, DONE, PAUSED, SUSPENDED, UNWINDING};
use crate::machine::Context;

/// The outcome of a run of code or an operation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Status {
    /// Done.
    Done,
    /// It waits; the same again when the process is resumed.
    Suspended,
    /// A fault or the end of the process: return at once.
    Unwinding,
    /// It has paused in compiled code; as [`Status::Suspended`].
    Paused,
    /// The run-time continues the process, as the native stack is deep; as [`Status::Suspended`].
    Deferred,
}

impl Status {
    /// The status that an operation gave.
    pub fn of(status: u64) -> Status {
        match status {
            0 => Status::Done,
            1 => Status::Suspended,
            3 => Status::Paused,
            4 => Status::Deferred,
            _ => Status::Unwinding,
        }
    }

    pub(crate) fn number(self) -> u32 {
        match self {
            Status::Done => DONE,
            Status::Suspended => SUSPENDED,
            Status::Unwinding => UNWINDING,
            Status::Paused => PAUSED,
            Status::Deferred => DEFERRED,
        }
    }
}

/// Runs functions whose code is [`interpret`](crate::interpret::interpret).
///
/// # Safety
/// It does with activations what compiled code of the same functions may do, see
/// [`Executable::new`](crate::executable::Executable::new).
pub unsafe trait Interpreter: Send + Sync {
    /// Runs the activation's frame from its resume point.
    fn resume(&self, activation: &mut Activation<'_>) -> Status;

    /// Evaluates a condition of the activation's frame, without blocking; none after a fault.
    fn condition(&self, activation: &mut Activation<'_>, number: u32) -> Option<bool>;
}

/// A running frame.
pub struct Activation<'a>(pub(crate) Context<'a>);
