//! Frames: their memory, and calls that go through the scheduler.

use crate::fault::Reason;
use crate::handle::FrameRef;
use crate::layout::{DEFERRED, Frame, SUSPENDED};
use crate::machine::Context;
use crate::machine::Worker;
use crate::process::StackMeasured;

/// Bytes of the frames of a function.
#[inline]
pub(crate) fn frame_size(worker: &Worker, function: u32) -> usize {
    worker.program().functions[function as usize].frame_size as usize
}

/// Makes zeroed memory, or memory of a frame that is done, the start of a function.
#[inline]
pub(crate) fn prepare_frame(worker: &Worker, frame: FrameRef, function: u32, parent: FrameRef) {
    let known = &worker.program().functions[function as usize];
    let words = (known.frame_size as usize).div_ceil(8);
    for index in size_of::<Frame>() / 8..words {
        frame.word(0).set(index, 0);
    }
    frame.set_parent(parent);
    frame.set_code(known.code.entry());
    frame.set_resume(0);
    frame.set_function(function);
    frame.set_result(0);
}

/// Frees a frame that owns nothing any more and is not its process's outermost.
#[inline]
pub(crate) fn free_frame(worker: &mut Worker, frame: FrameRef) {
    let size = frame_size(worker, frame.function());
    worker.memory.give(frame.0.cast(), size);
}

#[inline]
pub(crate) fn pause(cx: &mut Context) -> u32 {
    cx.process.set_frame(cx.frame);
    cx.worker.wake(cx.process);
    SUSPENDED
}

/// The factor by which stacks of interpreted functions may be larger.
pub(crate) const INTERPRETED_FACTOR: u64 = 4;

/// Whether the stack of a process with a frame more is within the limit.
///
/// Frames that come from free lists are not counted one by one: that would slow every call. A stack
/// that grows without bound soon exhausts these, and comes here. So its size is measured now and
/// then, when memory in use has grown by a fraction of what the limit allowed the last time.
#[cold]
#[inline(never)]
pub(crate) fn has_stack_left(worker: &mut Worker, frame: FrameRef) -> bool {
    // Interpreted frames have every register in memory, where compiled ones have few.
    let factor = if worker.machine.interpreter.is_some() { INTERPRETED_FACTOR } else { 1 };
    let limit = worker.machine.stack_max.saturating_mul(factor);
    let mut size = 0;
    let mut here = frame.some();
    while let Some(frame) = here
        && size <= limit
    {
        size += frame_size(worker, frame.function()) as u64;
        here = frame.parent().some();
    }
    let (used, last) = (worker.memory.used, worker.machine.stack_measured);
    let left = limit.saturating_sub(size);
    // Where other data grows, walking the stack every time would dominate; the stack cannot grow by
    // more than memory use does meanwhile.
    let is_stack = size.saturating_sub(last.size) >= used.saturating_sub(last.used) / 4;
    let step = if is_stack { (left / 4).max(limit / 64) } else { limit };
    worker.machine.stack_mark = used.saturating_add(step);
    worker.machine.stack_measured = StackMeasured { size, used };
    size <= limit
}

/// A frame whose words are zero, above `innermost`, which is the last of its process; its parent is
/// the running frame. Or the reason why there is none, with its detail.
pub(crate) fn take_frame(
    cx: &mut Context,
    function: u32,
    innermost: FrameRef,
) -> Result<FrameRef, (Reason, i64)> {
    if cx.worker.memory.used >= cx.worker.machine.stack_mark
        && !has_stack_left(cx.worker, innermost)
    {
        return Err((Reason::Stack, cx.worker.machine.stack_max as i64));
    }
    let size = frame_size(cx.worker, function);
    let block = cx.worker.memory.take(size).map_err(|_| (Reason::OutOfMemory, 0))?;
    let known = &cx.worker.program().functions[function as usize];
    let frame = FrameRef(block.cast());
    frame.set_parent(cx.frame);
    frame.set_code(known.code.entry());
    frame.set_function(function);
    Ok(frame)
}

pub(crate) fn frame_new(cx: &mut Context, function: u32, position: u32) -> *mut Frame {
    match take_frame(cx, function, cx.frame) {
        Ok(frame) => frame.0,
        Err((reason, detail)) => {
            cx.fault(reason, detail, position);
            std::ptr::null_mut()
        }
    }
}

pub(crate) fn frame_free(cx: &mut Context, callee: *mut Frame) {
    free_frame(cx.worker, FrameRef(callee));
}

pub(crate) fn call_deferred(cx: &mut Context, callee: *mut Frame) -> u32 {
    cx.process.set_frame(FrameRef(callee));
    DEFERRED
}
