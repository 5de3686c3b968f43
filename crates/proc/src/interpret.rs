//! Functions that are interpreted instead of compiled.

use crate::layout::{Frame, Process, UNWINDING, Worker};
use crate::worker::Context;

/// What a run of code or an operation has come to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Status {
    /// Done.
    Done,
    /// It waits; the same again when the process is resumed.
    Suspended,
    /// A fault or the end of the process: return at once.
    Unwinding,
}

impl Status {
    fn of(status: u32) -> Status {
        match status {
            0 => Status::Done,
            1 => Status::Suspended,
            _ => Status::Unwinding,
        }
    }
}

/// Runs functions whose code is [`interpret`].
pub trait Interpreter {
    /// Runs the activation's frame from its resume point.
    fn resume(&self, activation: &mut Activation<'_>) -> Status;

    /// Evaluates a condition of the activation's frame; none after a fault.
    fn condition(&self, activation: &mut Activation<'_>, number: u32) -> Option<bool>;
}

/// A running frame.
pub struct Activation<'a>(pub(crate) Context<'a>);

/// The code of functions that are interpreted.
///
/// # Safety
/// Called by the scheduler or by other code as any function's code.
pub unsafe extern "C" fn interpret(
    frame: *mut Frame,
    process: *mut Process,
    worker: *mut Worker,
) -> u32 {
    // SAFETY: promised by the caller.
    let cx = unsafe { Context::new(frame, process, worker) };
    let Some(interpreter) = cx.worker.machine.interpreter.clone() else { return UNWINDING };
    interpreter.resume(&mut Activation(cx)) as u32
}
