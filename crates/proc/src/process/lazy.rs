//! Frames that functions get when they are suspended.
//!
//! A function that only pauses now and then, and waits for nothing, runs on the native stack like
//! one that is never suspended. Where it has to pause, or the native stack is deep, it gets a frame
//! and returns; so does each of its callers, up to one that has a frame:
//!
//! ```text
//! native stack      F has a frame  <-  G  <-  H  <-  I, whose slice is over
//! I: frame_first or frame_lazy         F <----------- I      the process continues with I
//! H: frame_lazy                        F <------ H <- I
//! G: frame_lazy                        F <- G <- H <- I
//! F returns PAUSED or DEFERRED to the run-time, which resumes I, H, G and F in turn.
//! ```
//! Each frame is made once, however often the function calls others, so the work is proportional
//! to the native calls that were made before.

use crate::fault::Reason;
use crate::handle::FrameRef;
use crate::layout::{Frame, UNWINDING};
use crate::machine::Context;
use crate::process::LazyFrames;
use crate::process::frame::take_frame;
use crate::process::kill::unwind;

pub(crate) fn frame_lazy(
    cx: &mut Context,
    function: u32,
    status: u32,
    position: u32,
) -> *mut Frame {
    match link(cx, function) {
        Ok(frame) => {
            frame.set_result(u64::from(status));
            frame.0
        }
        Err((reason, detail)) => {
            cx.worker.machine.lazy = LazyFrames::default();
            cx.fault(reason, detail, position);
            std::ptr::null_mut()
        }
    }
}

pub(crate) fn frame_first(cx: &mut Context, function: u32) -> *mut Frame {
    link(cx, function).map_or(std::ptr::null_mut(), |frame| frame.0)
}

pub(crate) fn call_left(cx: &mut Context, status: u32, position: u32) -> u32 {
    let Some((reason, detail)) = cx.worker.machine.lazy.failed else { return status };
    cx.worker.machine.lazy = LazyFrames::default();
    cx.fault(reason, detail, position);
    UNWINDING
}

/// Makes a frame the caller of the one made last.
fn link(cx: &mut Context, function: u32) -> Result<FrameRef, (Reason, i64)> {
    let lazy = &cx.worker.machine.lazy;
    if let Some(reason) = lazy.failed {
        return Err(reason);
    }
    let last = lazy.last;
    let innermost = if last.is_null() { cx.frame } else { cx.process.frame() };
    match take_frame(cx, function, innermost) {
        Ok(frame) => {
            match last.some() {
                Some(callee) => callee.set_parent(frame),
                None => cx.process.set_frame(frame),
            }
            cx.worker.machine.lazy.last = frame;
            Ok(frame)
        }
        Err(reason) => {
            unwind(cx.worker, innermost, cx.frame);
            cx.worker.machine.lazy = LazyFrames { last: FrameRef::NULL, failed: Some(reason) };
            Err(reason)
        }
    }
}
