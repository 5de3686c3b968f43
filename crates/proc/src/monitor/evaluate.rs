//! Evaluating a condition.

use super::watch;
use crate::handle::ProcessRef;
use crate::machine::Worker;
use crate::monitor::lock::Condition;

/// Whether the condition of a waiting process holds. It was false; if nothing that it reads has
/// been written since, it still is.
#[inline]
pub(super) fn evaluate_if(worker: &mut Worker, process: ProcessRef, written: u64) -> u32 {
    if watch::reads(worker, process) & written == 0 { 0 } else { evaluate(worker, process) }
}

#[inline]
pub(super) fn evaluate(worker: &mut Worker, process: ProcessRef) -> u32 {
    worker.machine.conditions += 1;
    let address = std::ptr::with_exposed_provenance::<()>(process.wait() as usize);
    // SAFETY: `note` stored the address of a condition, which has this type.
    let condition = unsafe { std::mem::transmute::<*const (), Condition>(address) };
    // SAFETY: the frame awaits this condition and is live, and so are process and worker.
    unsafe { condition(process.frame().0, process.0, worker) }
}
