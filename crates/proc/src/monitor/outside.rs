//! Processes that are kept outside: their condition did not hold when they were about to request
//! the lock.

use super::{Turn, call, watch};
use crate::handle::ComponentRef;
use crate::layout::{BUSY, CLOSED, OK, UNWINDING, WOKEN, busy};
use crate::machine::Worker;
use crate::monitor::evaluate::{evaluate, evaluate_if};
use crate::monitor::lock::{hand_over, take_out};
use crate::process::{OUTSIDE, SAME};

/// The most conditions evaluated in one visit, while others need none of them.
const LOOKS_MAX: u32 = 64;

/// Whether there are processes that await a condition, and all of them are outside.
pub(super) fn are_all(component: ComponentRef) -> bool {
    component.await_queue().some().is_some_and(|last| last.has(OUTSIDE))
}

/// Hands nothing on, unless the first has been woken too often without getting the lock.
pub(super) fn pass(worker: &mut Worker, component: ComponentRef, turn: Turn) -> u32 {
    if component.is_urgent() {
        let last = component.await_queue();
        match evaluate(worker, last.link()) {
            0 => {}
            1 => {
                hand_over(worker, component, last, turn);
                return OK;
            }
            _ => return UNWINDING,
        }
    } else {
        component.set_calm();
    }
    if !component.is_awake() {
        call::call(worker, component);
    }
    OK
}

/// The result of a visit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing to do before the next release of the lock.
    Done,
    /// Some were passed over, as other processes consume what they wait for.
    Spared,
}

/// Wakes the longest waiter whose condition holds. If `spare`, passes over waiters whose condition
/// another process has found true, if that has not waited since.
pub(super) fn look(worker: &mut Worker, component: ComponentRef, spare: bool) -> Look {
    let last = component.await_queue();
    let is_free = component.lock() == 0 && component.lock_queue().is_null();
    // If the lock is taken, its release visits again; so does a process that has been woken.
    component.clear_calm();
    if last.is_null() || !is_free || component.is_awake() || component.is_doomed() {
        return Look::Done;
    }
    let written = watch::written(component);
    if !spare && !watch::concerns_any(component, written) {
        return Look::Done;
    }
    // A condition about the component alone that does not hold, so for none that waits for it.
    let (mut known, mut awaited) = (0, 0);
    let (mut previous, mut left, mut is_spared) = (last, LOOKS_MAX, false);
    loop {
        let process = previous.link();
        let is_spare = spare && component.flags() & busy(process.condition()) != 0;
        is_spared |= is_spare;
        awaited |= watch::reads(worker, process);
        if !is_spare && process.wait() != known {
            match evaluate_if(worker, process, written) {
                0 if process.condition() & CLOSED != 0 => known = process.wait(),
                0 => {}
                1 => {
                    take_out(component, previous);
                    process.set_granted(WOKEN);
                    component.set_awake();
                    component.set_calm();
                    worker.wake(process);
                    return Look::Done;
                }
                _ => return Look::Done,
            }
        }
        left = left.saturating_sub(1);
        let all_same = last.has(SAME) && (is_spare || known != 0);
        if process == last || all_same {
            break;
        }
        if spare && left == 0 {
            is_spared = true;
            break;
        }
        previous = process;
    }
    if !is_spared {
        watch::note_all_seen(component, awaited);
        return Look::Done;
    }
    component.set_calm();
    Look::Spared
}

/// Clears the marks for conditions that have held.
pub(super) fn forget(component: ComponentRef) {
    component.set_flags(component.flags() & !BUSY);
}
