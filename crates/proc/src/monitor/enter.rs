//! Locking and unlocking.

use crate::layout::{EXCLUSIVE, GAVE_WAY, OK, SHARED};
use crate::machine::Context;
use crate::monitor::Turn;
use crate::monitor::lock::{enter, grant_is_taken, is_open, release, wait_for_lock};
use crate::monitor::pass::pass;
use crate::process;
use crate::process::ProcessState;

pub(crate) fn lock_exclusive(cx: &mut Context) -> u32 {
    lock(cx, EXCLUSIVE)
}

pub(crate) fn lock_shared(cx: &mut Context) -> u32 {
    lock(cx, SHARED)
}

pub(crate) fn lock(cx: &mut Context, mode: u8) -> u32 {
    let (process, component) = (cx.process, cx.component());
    if grant_is_taken(cx) {
        return OK;
    }
    let before = process.granted();
    process.set_granted(0);
    if is_open(component, mode) {
        enter(component, process, mode);
        return OK;
    }
    if before != GAVE_WAY && component.is_handed() && component.lock_queue().is_null() {
        process.set_granted(GAVE_WAY);
        return process::pause(cx);
    }
    process.set_mode(mode);
    wait_for_lock(component, process);
    cx.block(ProcessState::Lock)
}

pub(crate) fn unlock(cx: &mut Context) -> u32 {
    let component = cx.component();
    release(cx.worker, cx.process);
    let queues = component.await_queue().is_null() && component.lock_queue().is_null();
    if queues { OK } else { pass(cx.worker, component, Turn::Next) }
}
