//! Tearing down failed components.

use crate::component::{self, Life};
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::CLIENT_FAILED;
use crate::machine::Worker;
use crate::process;
use crate::tear::Stopping;

/// Components that are stopped in one increment.
pub(crate) const PIECE: usize = 1024;

/// Tears down the doomed components, or an increment of them; true if more is left.
pub(crate) fn bury_doomed(worker: &mut Worker) -> bool {
    let mut left = if worker.machine.desk.is_some() { usize::MAX } else { PIECE };
    loop {
        if let Some(stopping) = worker.machine.stopping.take() {
            worker.machine.stopping = stop_some(worker, stopping, &mut left);
            if worker.machine.stopping.is_some() {
                worker.budget -= PIECE as i64;
                worker.machine.attend();
                return true;
            }
        }
        let Some(id) = worker.machine.doomed.pop() else { return false };
        let Some(component) = worker.machine.table.get(id) else { continue };
        match Life::of(component) {
            // The fault was in FINALLY after another fault.
            Life::Failing => {
                stop(worker, component, Whose::Own);
                component.clear_doomed();
                component::empty(worker, component);
            }
            Life::Emptying | Life::Failed => component.clear_doomed(),
            _ => worker.machine.stopping = Some(Stopping { root: id, next: id }),
        }
    }
}

/// Stops up to `left` components of a tree; returns the rest, if there is any.
pub(crate) fn stop_some(
    worker: &mut Worker,
    stopping: Stopping,
    left: &mut usize,
) -> Option<Stopping> {
    let Stopping { root, next } = stopping;
    let root = worker.machine.table.get(root)?;
    let mut here = worker.machine.table.get(next);
    while let Some(component) = here {
        if *left == 0 {
            return Some(Stopping { next: component.id(), ..stopping });
        }
        *left -= 1;
        let whose = if component == root { Whose::Own } else { Whose::Healthy };
        stop(worker, component, whose);
        here = after(component, root);
    }
    component::fail(worker, root);
    None
}

/// The next of a tree in preorder.
pub(crate) fn after(component: ComponentRef, root: ComponentRef) -> Option<ComponentRef> {
    if let Some(child) = component.first_child().some() {
        return Some(child);
    }
    let mut here = component;
    while here != root {
        if let Some(sibling) = here.next_sibling().some() {
            return Some(sibling);
        }
        here = here.owner();
    }
    None
}

/// The owner of the killed processes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Those of the component that has failed.
    Own,
    /// Those of a sub-component; its FINALLY continues if it runs already.
    Healthy,
}

/// Kills the processes of a component and fails its communications.
pub(crate) fn stop(worker: &mut Worker, component: ComponentRef, whose: Whose) {
    let ends = Life::of(component) >= Life::Finally;
    if whose == Whose::Healthy && ends {
        return;
    }
    kill_all(worker, component);
    component::fail_communications(worker, component);
    if whose == Whose::Healthy {
        component.set_life(Life::Running as u8);
    }
}

pub(crate) fn kill_all(worker: &mut Worker, component: ComponentRef) {
    component.set_lock_queue(ProcessRef::NULL);
    component.set_await_queue(ProcessRef::NULL);
    component.set_lock(0);
    let mut was_deleting = false;
    while let Some(process) = component.processes().some() {
        was_deleting |= process.may_delete();
        process::kill(worker, process);
    }
    component.forget_monitor();
    if was_deleting {
        component::forget_deleted(worker, component);
    }
}

/// Tears down the component and all below at once, without FINALLY, leaf first; it is a shell then.
pub(crate) fn tear_down(worker: &mut Worker, root: ComponentRef) {
    let mut here = root;
    loop {
        while let Some(child) = here.first_child().some() {
            here = child;
        }
        here.set_doomed();
        kill_all(worker, here);
        component::close_slots(worker, here, CLIENT_FAILED);
        component::strip(worker, here);
        if here == root {
            return;
        }
        let owner = here.owner();
        component::release(worker, here);
        here = owner;
    }
}
