//! The reader-writer monitor of a component.
//!
//! `lock` is -1 when a process holds it exclusively, else how many share it. Two queues: of those
//! that want the lock, and of those that await a condition. Whoever makes the monitor free
//! evaluates the conditions, longest waiter first, and hands the lock to the first whose
//! condition holds, before anybody else can take it (*signal and pass*); if none holds, to the
//! head of the lock queue, readers together. New readers wait behind a waiting writer.
//!
//! Who is handed the lock runs next, before others that are ready. Two things keep processes that
//! share a monitor from changing places for every single thing they do; both only put off when a
//! process asks for the lock, as the end of a slice could at any time:
//!
//! * who finds the lock handed to a process that has not run yet gives way once, instead of
//!   queueing: to be in the queue would mean to be handed the lock at the next release;
//! * who begins with a condition that does not hold is kept *outside*, before it has asked for the
//!   lock. While all in the queue of conditions are outside, a release hands nothing over: they
//!   are looked at later (`looker`), and the longest waiter whose condition holds is woken to ask
//!   for the lock, one at a time. So a producer fills the buffer before a consumer runs, and of
//!   many consumers as few run as can empty it. Who was woken in vain, because others came before
//!   it, is the first again; after a few times it is handed the lock like those inside.

mod condition;
mod looker;
mod outside;
mod queue;
mod watch;

pub(crate) use condition::{await_change, await_condition, lock_when};
pub(crate) use looker::{Looker, begin, look_due, settle};

use crate::crew;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{
    CLOSED, DONE, EXCLUSIVE, Frame, GAVE_WAY, GRANTED, OK, Process, SHARED, UNLOCKED, UNWINDING,
};
use crate::machine::Context;
use crate::machine::Worker;
use crate::process::{self, SAME, State};
use queue::{push, push_first, remove, remove_first};

/// Code of a condition: 0, 1, or 2 after a fault.
type Condition = unsafe extern "C" fn(*mut Frame, *mut Process, *mut Worker) -> u32;

pub(crate) fn lock_exclusive(cx: &mut Context) -> u32 {
    lock(cx, EXCLUSIVE)
}

pub(crate) fn lock_shared(cx: &mut Context) -> u32 {
    lock(cx, SHARED)
}

/// Takes what the process has been handed, if it has been.
fn grant_is_taken(cx: &mut Context) -> bool {
    let is_granted = cx.process.take_grant();
    if is_granted {
        cx.component().clear_handed();
    }
    is_granted
}

fn lock(cx: &mut Context, mode: u8) -> u32 {
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
    process.block(State::Lock, cx.frame)
}

fn wait_for_lock(component: ComponentRef, process: ProcessRef) {
    component.set_lock_queue(push(component.lock_queue(), process));
}

/// Whether a process that asks now gets the lock.
fn is_open(component: ComponentRef, mode: u8) -> bool {
    is_free(component, mode) && component.lock_queue().is_null()
}

fn is_free(component: ComponentRef, mode: u8) -> bool {
    match mode {
        EXCLUSIVE => component.lock() == 0,
        SHARED => component.lock() >= 0,
        _ => true,
    }
}

fn enter(component: ComponentRef, process: ProcessRef, mode: u8) {
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

fn grant(worker: &mut Worker, component: ComponentRef, process: ProcessRef, turn: Turn) {
    enter(component, process, process.mode());
    process.set_granted(GRANTED);
    component.set_handed();
    if turn == Turn::Next && process.mode() == EXCLUSIVE {
        worker.wake_next(process);
    } else {
        worker.wake(process);
    }
}

pub(crate) fn unlock(cx: &mut Context) -> u32 {
    let component = cx.component();
    release(cx.worker, cx.process);
    let queues = component.await_queue().is_null() && component.lock_queue().is_null();
    if queues { OK } else { pass(cx.worker, component, Turn::Next) }
}

/// Gives up the lock; [`pass`] has to follow.
pub(crate) fn release(_: &mut Worker, process: ProcessRef) {
    let component = process.component();
    match process.holds() {
        EXCLUSIVE => component.set_lock(0),
        SHARED => component.set_lock(component.lock() - 1),
        _ => {}
    }
    process.set_holds(UNLOCKED);
}

/// Hands a free monitor on. Answers 2 if a condition failed.
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

/// Gives the lock to the one after `previous`, of those that await a condition.
fn hand_over(worker: &mut Worker, component: ComponentRef, previous: ProcessRef, turn: Turn) {
    let process = take_out(component, previous);
    grant(worker, component, process, turn);
}

/// Takes the one after `previous` out of those that await a condition.
fn take_out(component: ComponentRef, previous: ProcessRef) -> ProcessRef {
    let process = previous.link();
    if previous == component.await_queue() {
        component.clear_urgent();
    }
    component.set_await_queue(remove(component.await_queue(), previous));
    process
}

/// Gives the lock to those whose condition holds, as long as it allows, the longest waiter first.
fn serve(worker: &mut Worker, component: ComponentRef, turn: Turn) -> u32 {
    let last = component.await_queue();
    let written = watch::written(component);
    if last.is_null() || !watch::concerns_any(component, written) {
        return DONE;
    }
    // A condition about the component alone that does not hold, so for none that waits for it.
    let mut known = 0;
    let mut previous = last;
    // What those read that stay, if all have been looked at.
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
            let holds = condition::evaluate_if(worker, process, written);
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
fn pass_to_queue(worker: &mut Worker, component: ComponentRef, turn: Turn) {
    while let Some(last) = component.lock_queue().some() {
        let first = last.link();
        if !is_free(component, first.mode()) {
            return;
        }
        component.set_lock_queue(remove_first(last));
        grant(worker, component, first, turn);
    }
}

/// Releases the lock for a passive wait. Answers 1, or 2 if a condition failed.
pub(crate) fn give_up(cx: &mut Context) -> u32 {
    release(cx.worker, cx.process);
    match pass(cx.worker, cx.component(), Turn::Next) {
        OK => crate::layout::SUSPENDED,
        fault => fault,
    }
}

/// A passive wait is over: the process goes on as soon as it has its lock again.
pub(crate) fn resume(worker: &mut Worker, process: ProcessRef) {
    let component = process.component();
    let mode = process.mode();
    if is_free(component, mode) && (mode == UNLOCKED || component.lock_queue().is_null()) {
        grant(worker, component, process, Turn::Last);
    } else {
        process.set_state(State::Lock as u8);
        wait_for_lock(component, process);
    }
}

/// Has the conditions of a component looked at between two processes: something that they may
/// depend on has come from outside the monitor.
pub(crate) fn poke(worker: &mut Worker, component: ComponentRef) {
    if crew::is_elsewhere(worker, component) {
        worker.post_poke(component);
        return;
    }
    if component.await_queue().is_null() || component.is_poked() {
        return;
    }
    component.set_poked();
    let home = worker.home_awake(component);
    home.machine.pokes.push(component.id());
    home.machine.attention = true;
}

/// Looks at the conditions of components that were poked.
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

fn look_at(worker: &mut Worker, component: ComponentRef) {
    if outside::are_all(component) {
        outside::look(worker, component, false);
    } else {
        pass(worker, component, Turn::Last);
    }
}

#[cfg(test)]
mod tests;
