//! The lock: its holder, its queue, and how it is handed on.

use super::queue::{push, remove};
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{EXCLUSIVE, Frame, GRANTED, Process, SHARED, UNLOCKED};
use crate::machine::Context;
use crate::machine::Worker;

/// Code of a condition: 0, 1, or 2 after a fault.
pub(crate) type Condition = unsafe extern "C" fn(*mut Frame, *mut Process, *mut Worker) -> u32;

/// Takes what the process has been handed, if it has been.
#[inline]
pub(crate) fn grant_is_taken(cx: &mut Context) -> bool {
    let is_granted = cx.process.take_grant();
    if is_granted {
        cx.component().clear_handed();
    }
    is_granted
}

#[inline]
pub(crate) fn wait_for_lock(component: ComponentRef, process: ProcessRef) {
    component.set_lock_queue(push(component.lock_queue(), process));
}

/// Whether a process that requests the lock now gets it.
#[inline]
pub(crate) fn is_open(component: ComponentRef, mode: u8) -> bool {
    is_free(component, mode) && component.lock_queue().is_null()
}

#[inline]
pub(crate) fn is_free(component: ComponentRef, mode: u8) -> bool {
    match mode {
        EXCLUSIVE => component.lock() == 0,
        SHARED => component.lock() >= 0,
        _ => true,
    }
}

#[inline]
pub(crate) fn enter(component: ComponentRef, process: ProcessRef, mode: u8) {
    match mode {
        EXCLUSIVE => component.set_lock(-1),
        SHARED => component.set_lock(component.lock() + 1),
        _ => {}
    }
    process.set_holds(mode);
}

/// When a process runs that is granted what it waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Before others that are ready, if it is alone inside.
    Next,
    /// After them.
    Last,
}

#[inline]
pub(crate) fn grant(worker: &mut Worker, component: ComponentRef, process: ProcessRef, turn: Turn) {
    enter(component, process, process.mode());
    process.set_granted(GRANTED);
    component.set_handed();
    if turn == Turn::Next && process.mode() == EXCLUSIVE {
        worker.wake_next(process);
    } else {
        worker.wake(process);
    }
}

/// Gives up the lock; [`pass`](super::pass()) has to follow.
#[inline]
pub(crate) fn release(_: &mut Worker, process: ProcessRef) {
    let component = process.component();
    match process.holds() {
        EXCLUSIVE => component.set_lock(0),
        SHARED => component.set_lock(component.lock() - 1),
        _ => {}
    }
    process.set_holds(UNLOCKED);
}

/// Gives the lock to the one after `previous`, of those that await a condition.
#[inline]
pub(crate) fn hand_over(
    worker: &mut Worker,
    component: ComponentRef,
    previous: ProcessRef,
    turn: Turn,
) {
    let process = take_out(component, previous);
    grant(worker, component, process, turn);
}

/// Takes the one after `previous` out of those that await a condition.
#[inline]
pub(crate) fn take_out(component: ComponentRef, previous: ProcessRef) -> ProcessRef {
    let process = previous.link();
    if previous == component.await_queue() {
        component.clear_urgent();
    }
    component.set_await_queue(remove(component.await_queue(), previous));
    process
}
