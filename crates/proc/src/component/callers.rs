//! Which terminating components may still be called by others that are terminating.
//!
//! Components of one scope are terminated at once. One that is done must stay as long as another
//! of them is connected to it: its process may be about to call, or its FINALLY. So the
//! connections held by terminating components are counted by target, until they are released.
//!
//! Components that are connected in a circle would keep each other for ever. Circles are found by
//! trial deletion (Bacon and Rajan, *Concurrent Cycle Collection in Reference Counted Systems*):
//! of those that are done and reachable from a suspect, the connections among themselves are
//! subtracted; those that nothing outside of the circle calls are free to end. A suspect has just
//! become done, or lost a caller.

use super::{ComponentId, slots_of, terminate};
use crate::component::called::Callers;
use crate::crew;
use crate::handle::{ComponentRef, ProcessRef, SlotRef};
use crate::layout::PORT_OFFERED;
use crate::machine::Worker;
use std::sync::MutexGuard;

pub(crate) fn callers(worker: &Worker) -> MutexGuard<'_, Callers> {
    worker.machine.callers.lock()
}

/// The component beside its holder that a slot leads to.
pub(crate) fn target_of(slot: SlotRef) -> Option<ComponentId> {
    let id = ComponentId::from_raw(slot.target());
    (slot.port() >> 56 == PORT_OFFERED && id != ComponentId::NONE).then_some(id)
}

/// A component is terminating: the components it is connected to wait for it.
pub(super) fn note_terminating(worker: &mut Worker, component: ComponentRef) {
    for slot in slots_of(component) {
        note_connected(worker, component, slot);
    }
}

/// A slot of a component's required interfaces has been connected.
pub(super) fn note_connected(worker: &mut Worker, holder: ComponentRef, slot: SlotRef) {
    if let Some(target) = target_of(slot)
        && holder.is_terminating()
        && target != holder.id()
    {
        *callers(worker).counts.entry(target).or_default() += 1;
    }
}

/// A slot of a component's required interfaces is about to be disconnected, or the component to be
/// released.
pub(super) fn note_disconnected(worker: &mut Worker, holder: ComponentRef, slot: SlotRef) {
    let Some(target) = target_of(slot).filter(|_| holder.is_terminating()) else { return };
    let mut known = callers(worker);
    let Some(count) = known.counts.get_mut(&target) else { return };
    *count -= 1;
    if *count > 0 {
        known.suspects.push(target);
        worker.machine.callers.set_due(true);
        drop(known);
        worker.machine.attend();
        return;
    }
    known.counts.remove(&target);
    drop(known);
    if let Some(target) = worker.machine.table.get(target)
        && (crew::is_elsewhere(worker, target) || target.is_terminating())
    {
        terminate(worker, target, ProcessRef::NULL);
    }
}

/// A component is released.
pub(super) fn note_released(worker: &mut Worker, component: ComponentRef) {
    for slot in slots_of(component) {
        note_disconnected(worker, component, slot);
    }
    callers(worker).counts.remove(&component.id());
}

/// Whether a component whose processes are done has to wait for components that may call it. It is
/// advanced again when it need not.
pub(super) fn has_callers(worker: &mut Worker, component: ComponentRef) -> bool {
    let id = component.id();
    if worker.machine.pieces.is_terminating() {
        let mut known = callers(worker);
        known.early.push(id);
        worker.machine.callers.set_due(true);
        return true;
    }
    let mut known = callers(worker);
    if !known.counts.contains_key(&id) {
        return false;
    }
    known.suspects.push(id);
    worker.machine.callers.set_due(true);
    drop(known);
    worker.machine.attend();
    true
}
