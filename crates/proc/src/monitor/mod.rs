//! The reader-writer monitor of a component.
//!
//! `lock` is -1 when a process holds it exclusively, else how many share it. Two queues: of those
//! that want the lock, and of those that await a condition. Whoever makes the monitor free
//! evaluates the conditions, longest waiter first, and hands the lock to the first whose
//! condition holds, before anybody else can take it (*signal and pass*); if none holds, to the
//! head of the lock queue, readers together. New readers wait behind a waiting writer.

mod queue;

use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{DONE, EXCLUSIVE, Frame, OK, Process, SHARED, UNLOCKED, UNWINDING, Worker};
use crate::process::State;
use crate::worker::Context;
use queue::{push, remove, remove_first};

/// Code of a condition: 0, 1, or 2 after a fault.
type Condition = unsafe extern "C" fn(*mut Frame, *mut Process, *mut Worker) -> u32;

pub(crate) fn lock_exclusive(cx: &mut Context) -> u32 {
    lock(cx, EXCLUSIVE)
}

pub(crate) fn lock_shared(cx: &mut Context) -> u32 {
    lock(cx, SHARED)
}

fn lock(cx: &mut Context, mode: u8) -> u32 {
    let (process, component) = (cx.process, cx.component());
    if process.take_grant() {
        return OK;
    }
    if is_free(component, mode) && component.lock_queue().is_null() {
        enter(component, process, mode);
        return OK;
    }
    process.set_mode(mode);
    wait_for_lock(component, process);
    process.block(State::Lock, cx.frame)
}

fn wait_for_lock(component: ComponentRef, process: ProcessRef) {
    component.set_lock_queue(push(component.lock_queue(), process));
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

fn grant(worker: &mut Worker, component: ComponentRef, process: ProcessRef) {
    enter(component, process, process.mode());
    process.set_granted(1);
    worker.wake(process);
}

pub(crate) fn unlock(cx: &mut Context) -> u32 {
    let component = cx.component();
    release(cx.worker, cx.process);
    let queues = component.await_queue().is_null() && component.lock_queue().is_null();
    if queues { OK } else { pass(cx.worker, component) }
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
pub(crate) fn pass(worker: &mut Worker, component: ComponentRef) -> u32 {
    if component.is_doomed() {
        return UNWINDING;
    }
    if component.lock() == 0 && pass_to_awaiting(worker, component) == UNWINDING {
        return UNWINDING;
    }
    pass_to_queue(worker, component);
    OK
}

/// Wakes those whose condition holds, as long as the lock allows.
fn pass_to_awaiting(worker: &mut Worker, component: ComponentRef) -> u32 {
    let last = component.await_queue();
    if last.is_null() {
        return DONE;
    }
    let mut previous = last;
    loop {
        let process = previous.link();
        let is_last = process == component.await_queue();
        let holds = if is_free(component, process.mode()) { evaluate(worker, process) } else { 0 };
        match holds {
            0 => previous = process,
            1 => {
                component.set_await_queue(remove(component.await_queue(), previous));
                grant(worker, component, process);
            }
            _ => return UNWINDING,
        }
        if is_last || component.lock() < 0 {
            return DONE;
        }
    }
}

/// Gives the lock to the head of the queue; to several if they read.
fn pass_to_queue(worker: &mut Worker, component: ComponentRef) {
    while let Some(last) = component.lock_queue().some() {
        let first = last.link();
        if !is_free(component, first.mode()) {
            return;
        }
        component.set_lock_queue(remove_first(last));
        grant(worker, component, first);
    }
}

fn evaluate(worker: &mut Worker, process: ProcessRef) -> u32 {
    let address = std::ptr::with_exposed_provenance::<()>(process.wait() as usize);
    // SAFETY: `await_condition` stored the address of a condition, which has this type.
    let condition = unsafe { std::mem::transmute::<*const (), Condition>(address) };
    // SAFETY: the frame awaits this condition and is live, and so are process and worker.
    unsafe { condition(process.frame().0, process.0, worker) }
}

pub(crate) fn await_condition(cx: &mut Context, condition: *const u8, number: u32) -> u32 {
    let (process, component) = (cx.process, cx.component());
    if process.take_grant() {
        return OK;
    }
    process.set_wait(condition.expose_provenance() as u64);
    process.set_condition(number);
    process.set_frame(cx.frame);
    match evaluate(cx.worker, process) {
        0 => {}
        1 => return OK,
        _ => return UNWINDING,
    }
    process.set_mode(process.holds());
    let status = process.block(State::Await, cx.frame);
    let passed = if process.holds() == UNLOCKED { status } else { give_up(cx) };
    // Only now: its own condition has just been found not to hold.
    component.set_await_queue(push(component.await_queue(), process));
    passed
}

/// Releases the lock for a passive wait. Answers 1, or 2 if a condition failed.
pub(crate) fn give_up(cx: &mut Context) -> u32 {
    release(cx.worker, cx.process);
    match pass(cx.worker, cx.component()) {
        OK => crate::layout::SUSPENDED,
        fault => fault,
    }
}

/// A passive wait is over: the process goes on as soon as it has its lock again.
pub(crate) fn resume(worker: &mut Worker, process: ProcessRef) {
    let component = process.component();
    let mode = process.mode();
    if is_free(component, mode) && (mode == UNLOCKED || component.lock_queue().is_null()) {
        grant(worker, component, process);
    } else {
        process.set_state(State::Lock as u8);
        wait_for_lock(component, process);
    }
}

/// Has the conditions of a component looked at between two processes: something that they may
/// depend on has come from outside the monitor.
pub(crate) fn poke(worker: &mut Worker, component: ComponentRef) {
    if component.await_queue().is_null() || component.is_poked() {
        return;
    }
    component.set_poked();
    worker.machine.pokes.push(component.id());
    worker.machine.attention = true;
}

/// Looks at the conditions of components that were poked.
pub(crate) fn look(worker: &mut Worker) {
    for id in std::mem::take(&mut worker.machine.pokes) {
        if let Some(component) = worker.machine.table.get(id) {
            component.clear_poked();
            pass(worker, component);
        }
    }
}

#[cfg(test)]
mod tests;
