//! Conditions: waiting for them with the lock released meanwhile, or before requesting it.

use super::{call, outside, poke, release, watch};
use crate::handle::ProcessRef;
use crate::layout::{CLOSED, EXCLUSIVE, OK, UNLOCKED, UNWINDING, WOKEN, busy};
use crate::machine::{Context, Worker};
use crate::monitor::enter::lock;
use crate::monitor::evaluate::evaluate;
use crate::monitor::lock::{enter, grant_is_taken, is_open};
use crate::monitor::queue::{push, push_first};
use crate::process::{OUTSIDE, ProcessState, SAME};

/// How often a process is woken without getting the lock before it is handed the lock.
pub(crate) const LOST_WAKES_MAX: u8 = 3;

/// What the process awaits, and where.
pub(crate) fn note(cx: &Context, condition: *const u8, number: u32) {
    cx.process.set_wait(condition.expose_provenance() as u64);
    cx.process.set_condition(number);
    cx.process.set_frame(cx.frame);
}

pub(crate) fn await_condition(cx: &mut Context, condition: *const u8, number: u32) -> u32 {
    if grant_is_taken(cx) {
        return OK;
    }
    await_inside(cx, condition, number)
}

/// Awaits a condition with the lock held.
pub(crate) fn await_inside(cx: &mut Context, condition: *const u8, number: u32) -> u32 {
    note(cx, condition, number);
    match evaluate(cx.worker, cx.process) {
        0 => await_change(cx, condition, number),
        1 => OK,
        _ => UNWINDING,
    }
}

pub(crate) fn await_change(cx: &mut Context, condition: *const u8, number: u32) -> u32 {
    let (process, component) = (cx.process, cx.component());
    note(cx, condition, number);
    process.set_mode(process.holds());
    let last = component.await_queue();
    let is_same = is_same(last, process);
    let status = cx.block(ProcessState::Await);
    let passed = if process.holds() == UNLOCKED {
        status
    } else if is_same && component.lock() == -1 && component.lock_queue().is_null() {
        // Its condition does not hold, and all the others await the same.
        release(cx.worker, process);
        status
    } else {
        super::give_up(cx)
    };
    // Only now: its own condition has just been found not to hold.
    process.lower(OUTSIDE);
    component.clear_calm();
    join(cx.worker, process, is_same);
    passed
}

/// Takes the lock for a sequence that begins with a condition, as soon as that holds.
pub(crate) fn lock_when(cx: &mut Context, condition: *const u8, number: u32) -> u32 {
    let (process, component) = (cx.process, cx.component());
    let is_woken = process.granted() == WOKEN;
    if is_woken {
        process.set_granted(0);
        component.clear_awake();
        component.clear_calm();
    }
    if !grant_is_taken(cx) {
        if is_open(component, EXCLUSIVE) {
            note(cx, condition, number);
            return match evaluate(cx.worker, process) {
                0 => wait_outside(cx, is_woken),
                1 => {
                    process.set_granted(0);
                    process.set_lost_wakes(0);
                    component.set_flags(component.flags() | busy(number));
                    enter(component, process, EXCLUSIVE);
                    OK
                }
                _ => UNWINDING,
            };
        }
        match lock(cx, EXCLUSIVE) {
            OK => {}
            status => return status,
        }
    }
    process.set_lost_wakes(0);
    let status = await_inside(cx, condition, number);
    if status == OK {
        component.set_flags(component.flags() | busy(number));
    }
    status
}

/// Keeps a process outside whose condition does not hold.
pub(crate) fn wait_outside(cx: &mut Context, is_woken: bool) -> u32 {
    let (process, component) = (cx.process, cx.component());
    process.set_granted(0);
    process.set_mode(EXCLUSIVE);
    component.set_flags(component.flags() & !busy(process.condition()));
    let last = component.await_queue();
    if !is_woken {
        if last.is_null() || last.has(OUTSIDE) {
            process.raise(OUTSIDE);
        } else {
            process.lower(OUTSIDE);
        }
        join(cx.worker, process, is_same(last, process));
        return cx.block(ProcessState::Await);
    }
    process.set_lost_wakes(process.lost_wakes() + 1);
    process.raise(OUTSIDE);
    go_first(cx.worker, process, is_same(last, process));
    if process.lost_wakes() >= LOST_WAKES_MAX {
        component.set_urgent();
    }
    // It was the one woken; now another may be.
    if outside::are_all(component) {
        call::call(cx.worker, component);
    } else {
        poke(cx.worker, component);
    }
    cx.block(ProcessState::Await)
}

/// Whether a process awaits what all others await.
pub(crate) fn is_same(last: ProcessRef, process: ProcessRef) -> bool {
    let is_like = |other: ProcessRef| {
        (other.wait(), other.mode()) == (process.wait(), process.mode()) && other.has(SAME)
    };
    process.condition() & CLOSED != 0 && last.some().is_none_or(is_like)
}

/// Puts a process before all that await a condition.
pub(crate) fn go_first(worker: &Worker, process: ProcessRef, is_same: bool) {
    let component = process.component();
    let last = component.await_queue();
    component.set_await_queue(push_first(last, process));
    watch::note_waiting(worker, process);
    process.raise(SAME);
    if !is_same {
        // It awaits another condition than those after it.
        let mut other = process.link();
        while other != process {
            other.lower(SAME);
            other = other.link();
        }
    }
}

/// Puts a process at the end of those that await a condition.
pub(crate) fn join(worker: &Worker, process: ProcessRef, is_same: bool) {
    if is_same {
        process.raise(SAME);
    } else {
        process.lower(SAME);
    }
    let component = process.component();
    component.set_await_queue(push(component.await_queue(), process));
    watch::note_waiting(worker, process);
}
