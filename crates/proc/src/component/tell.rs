//! Telling components to end, and waiting for that.

use super::{Life, callers};
use crate::crew;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{GRANTED, OK};
use crate::machine::{Context, Machine, Worker};
use crate::process::State;
use crate::{lines, monitor};

/// Whether a component that was told to end may serve until it does: not one in its FINALLY, of
/// which there may be many that wait for the system, and that must not be gone through each time.
pub(crate) fn is_serving(component: ComponentRef) -> bool {
    component.is_told() && Life::of(component) != Life::Finally
}

/// Notes a component that was told to end. With several loops all are gone through instead.
pub(crate) fn note_told(worker: &mut Worker, component: ComponentRef) {
    let Machine { told, table, desk, .. } = &mut worker.machine;
    if desk.is_none() {
        told.add(component.id(), |id| table.get(id).is_some_and(is_serving));
    }
}

/// Tells a component to end; `deleter`, unless null, waits for that.
pub(crate) fn tell_end(worker: &mut Worker, component: ComponentRef, deleter: ProcessRef) {
    if crew::is_elsewhere(worker, component) {
        debug_assert!(deleter.is_null(), "only with the floor alone");
        worker.post_end(component);
        return;
    }
    if !deleter.is_null() {
        component.set_deleter(deleter);
    }
    if !component.is_told() {
        component.set_told();
        note_told(worker, component);
        callers::note_told(worker, component);
        monitor::poke(worker, component);
    }
    may_end(worker, component);
}

/// Tells several components to end; answers how many they are.
pub(crate) fn tell_all(worker: &mut Worker, all: &[ComponentRef], deleter: ProcessRef) -> u64 {
    for &component in all {
        tell_end(worker, component, deleter);
    }
    all.len() as u64
}

/// Has [`advance`](super::advance) look at a component.
#[inline]
pub(crate) fn may_end(worker: &mut Worker, component: ComponentRef) {
    if !component.is_ending() {
        component.set_ending();
        let home = worker.home_awake(component);
        home.machine.ending.push(component.id());
        home.machine.attention = true;
    }
}

/// One of the components that a process waits for is gone.
pub(crate) fn one_less(worker: &mut Worker, deleter: ProcessRef) {
    deleter.set_wait(deleter.wait() - 1);
    if deleter.wait() == 0 {
        deleter.set_granted(GRANTED);
        worker.wake(deleter);
    }
}

/// Tells components to end and waits for them, and for what goes in pieces.
pub(crate) fn wait_for(cx: &mut Context, components: &[ComponentRef], large: u64) -> u32 {
    if components.is_empty() && large == 0 {
        return OK;
    }
    for &component in components {
        lines::close_with(cx.worker, cx.process, component);
    }
    let count = tell_all(cx.worker, components, cx.process);
    cx.process.set_wait(count + large);
    cx.process.block(State::Delete, cx.frame)
}
