//! Terminating components, and waiting for their end.

use super::{Life, callers};
use crate::crew;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{GRANTED, OK};
use crate::machine::{Context, Machine, Worker};
use crate::process::ProcessState;
use crate::{monitor, sessions};

/// Whether a terminating component may serve until it ends. Not one in its FINALLY: many of those
/// may wait for the system, and each scan would have to pass over them.
pub(crate) fn is_serving(component: ComponentRef) -> bool {
    component.is_terminating() && Life::of(component) != Life::Finally
}

/// Records a terminating component. With several loops the whole table is scanned instead.
pub(crate) fn note_terminating(worker: &mut Worker, component: ComponentRef) {
    let Machine { terminating, table, desk, .. } = &mut worker.machine;
    if desk.is_none() {
        terminating.add(component.id(), |id| table.get(id).is_some_and(is_serving));
    }
}

/// Requests the end of a component; `deleter`, unless null, waits for it.
pub(crate) fn terminate(worker: &mut Worker, component: ComponentRef, deleter: ProcessRef) {
    if crew::is_elsewhere(worker, component) {
        debug_assert!(deleter.is_null(), "only with exclusive access");
        worker.post_end(component);
        return;
    }
    if !deleter.is_null() {
        component.set_deleter(deleter);
    }
    if !component.is_terminating() {
        component.set_terminating();
        note_terminating(worker, component);
        callers::note_terminating(worker, component);
        monitor::poke(worker, component);
    }
    may_end(worker, component);
}

/// Terminates several components; returns their number.
pub(crate) fn terminate_all(worker: &mut Worker, all: &[ComponentRef], deleter: ProcessRef) -> u64 {
    for &component in all {
        terminate(worker, component, deleter);
    }
    all.len() as u64
}

/// Schedules [`advance`](super::advance) for a component.
#[inline]
pub(crate) fn may_end(worker: &mut Worker, component: ComponentRef) {
    if !component.is_ending() {
        component.set_ending();
        let home = worker.home_awake(component);
        home.machine.ending.push(component.id());
        home.machine.attend();
    }
}

/// One of the components that a process waits for is released.
pub(crate) fn one_less(worker: &mut Worker, deleter: ProcessRef) {
    deleter.set_wait(deleter.wait() - 1);
    if deleter.wait() == 0 {
        deleter.set_granted(GRANTED);
        worker.wake(deleter);
    }
}

/// Terminates components and waits for their end, and for `large` incremental deletions.
pub(crate) fn wait_for(cx: &mut Context, components: &[ComponentRef], large: u64) -> u32 {
    if components.is_empty() && large == 0 {
        return OK;
    }
    for &component in components {
        sessions::close_with(cx.worker, cx.process, component);
    }
    let count = terminate_all(cx.worker, components, cx.process);
    cx.process.set_wait(count + large);
    cx.block(ProcessState::Delete)
}
