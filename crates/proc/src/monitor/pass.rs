//! Passing the lock on: to waiters whose conditions hold, then to the queue.

use super::evaluate;
use super::queue::remove_first;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{CLOSED, DONE, OK, UNLOCKED, UNWINDING};
use crate::machine::{Context, Worker};
use crate::monitor::lock::{grant, hand_over, is_free, release, wait_for_lock};
use crate::monitor::{Turn, outside, watch};
use crate::process::{ProcessState, SAME};

/// Hands a free monitor on. Returns 2 if a condition failed.
pub(crate) fn pass(worker: &mut Worker, component: ComponentRef, turn: Turn) -> u32 {
    if component.is_doomed() {
        return UNWINDING;
    }
    if component.lock() == 0 && component.lock_queue().is_null() && outside::are_all(component) {
        return outside::pass(worker, component, turn);
    }
    if component.lock() == 0 && serve(worker, component, turn) == UNWINDING {
        return UNWINDING;
    }
    pass_to_queue(worker, component, turn);
    OK
}

/// Gives the lock to those whose condition holds, as long as it allows, the longest waiter first.
pub(crate) fn serve(worker: &mut Worker, component: ComponentRef, turn: Turn) -> u32 {
    let last = component.await_queue();
    let written = watch::written(component);
    if last.is_null() || !watch::concerns_any(component, written) {
        return DONE;
    }
    // A condition about the component alone that does not hold, so for none that waits for it.
    let mut known = 0;
    let mut previous = last;
    // What the conditions of the remaining waiters read, if all have been evaluated.
    let mut awaited = Some(0);
    loop {
        let process = previous.link();
        let is_last = process == component.await_queue();
        let is_known = process.wait() == known;
        let holds = if is_known {
            0
        } else if !is_free(component, process.mode()) {
            awaited = None;
            0
        } else {
            let holds = evaluate::evaluate_if(worker, process, written);
            if holds == 0 && process.condition() & CLOSED != 0 {
                known = process.wait();
            }
            holds
        };
        match holds {
            // So for all of them: see the last.
            0 if known != 0 && component.await_queue().has(SAME) => {
                watch::note_all_seen(component, watch::reads(worker, process));
                return DONE;
            }
            0 => {
                awaited = awaited.map(|reads| reads | watch::reads(worker, process));
                previous = process;
            }
            1 => hand_over(worker, component, previous, turn),
            _ => return UNWINDING,
        }
        if is_last {
            awaited.into_iter().for_each(|reads| watch::note_all_seen(component, reads));
        }
        if is_last || component.lock() < 0 {
            return DONE;
        }
    }
}

/// Gives the lock to the head of the queue; to several if they read.
pub(crate) fn pass_to_queue(worker: &mut Worker, component: ComponentRef, turn: Turn) {
    while let Some(last) = component.lock_queue().some() {
        let first = last.link();
        if !is_free(component, first.mode()) {
            return;
        }
        component.set_lock_queue(remove_first(last));
        grant(worker, component, first, turn);
    }
}

/// Releases the lock for a passive wait. Returns 1, or 2 if a condition failed.
pub(crate) fn give_up(cx: &mut Context) -> u32 {
    release(cx.worker, cx.process);
    match pass(cx.worker, cx.component(), Turn::Next) {
        OK => crate::layout::SUSPENDED,
        fault => fault,
    }
}

/// A passive wait is over: the process continues once it has its lock again.
pub(crate) fn resume(worker: &mut Worker, process: ProcessRef) {
    let component = process.component();
    let mode = process.mode();
    if is_free(component, mode) && (mode == UNLOCKED || component.lock_queue().is_null()) {
        grant(worker, component, process, Turn::Last);
    } else {
        process.set_state(ProcessState::Lock as u8);
        wait_for_lock(component, process);
    }
}

/// Evaluates the conditions of components that were poked.
pub(crate) fn look(worker: &mut Worker) {
    let mut pokes = std::mem::take(&mut worker.machine.pokes);
    for id in pokes.drain(..) {
        if let Some(component) = worker.machine.table.get(id) {
            component.clear_poked();
            component.clear_due();
            look_at(worker, component);
        }
    }
    if worker.machine.pokes.is_empty() {
        // Its memory is used again.
        worker.machine.pokes = pokes;
    }
}

pub(crate) fn look_at(worker: &mut Worker, component: ComponentRef) {
    if outside::are_all(component) {
        outside::look(worker, component, false);
    } else {
        pass(worker, component, Turn::Last);
    }
}
