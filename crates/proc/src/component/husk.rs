//! The memory of components that have ended while variables of their owner name them.
//!
//! A component that ends has its sub-components end first, and serves them meanwhile. Its
//! implementations may use variables whose components are released by then: these stay as husks
//! until their owner is released. Whoever uses one faults, as with a component that has failed.

use super::Life;
use crate::handle::ComponentRef;
use crate::machine::Worker;

/// Whether processes of its owner may use a component that is about to be released. What is deleted
/// by name is not: its variable is empty then.
pub(super) fn may_be_used(component: ComponentRef) -> bool {
    let owner = component.owner();
    if owner.is_null() || !component.deleter().is_null() {
        return false;
    }
    let offered = &owner.descriptor().offered;
    let may_serve = owner.child_count() > 1 && offered.iter().any(|it| it.implementation.is_some());
    owner.process_count() > 0 || may_serve
}

/// Whether a component has been released, and only its memory is there.
pub(super) fn is_husk(component: ComponentRef) -> bool {
    Life::of(component) == Life::Failed && component.owner().is_null()
}

/// Keeps the memory of a component that is released, until its owner is.
pub(super) fn keep(worker: &mut Worker, owner: ComponentRef, component: ComponentRef) {
    component.set_life(Life::Failed as u8);
    let husks = &mut worker.home(owner).machine.husks;
    husks.entry(owner.id().raw()).or_default().push(component);
}

/// Frees the husks of an owner that is released.
pub(super) fn free_those_of(worker: &mut Worker, owner: ComponentRef) {
    for husk in worker.machine.husks.remove(&owner.id().raw()).unwrap_or_default() {
        free(worker, husk);
    }
}

/// Frees the memory of a component.
pub(super) fn free(worker: &mut Worker, component: ComponentRef) {
    let size = component.descriptor().size as usize;
    worker.memory.give(component.0.cast(), size);
}
