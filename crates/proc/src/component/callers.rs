//! Which of the components that end may still be called by others that end.
//!
//! Components of one scope are told to end at once. One that is done must stay as long as another
//! of them is connected to it: its process may be about to call, or its FINALLY. So for each that
//! is told, the connections of told components to it are counted, until these are released.
//!
//! Components that are connected in a circle would count each other for ever. Circles are found by
//! trial deletion (Bacon and Rajan, *Concurrent Cycle Collection in Reference Counted Systems*):
//! those that are done and reachable from a suspect, less the connections among themselves; what
//! has none left but from its like is free to end. A suspect is one that has become done, or has
//! lost a caller.

use std::sync::{MutexGuard, PoisonError};

use tidemill_stdx::hash::{Map, Set};

use super::{ComponentId, Life, may_end, slots_of, tell_end};
use crate::crew;
use crate::handle::{ComponentRef, ProcessRef, SlotRef};
use crate::layout::PORT_OFFERED;
use crate::machine::Worker;

/// Components that were done early and are looked at again at a stretch.
const EARLY: usize = 256;

/// What is known of them, by all loops.
#[derive(Default)]
pub(crate) struct Callers {
    /// Connections of told components, by what they lead to; those to components that are free to
    /// end are not counted any more.
    counts: Map<ComponentId, u32>,
    suspects: Vec<ComponentId>,
    /// Done before all that end with them had been told.
    early: Vec<ComponentId>,
}

fn callers(worker: &Worker) -> MutexGuard<'_, Callers> {
    worker.machine.callers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The component beside its holder that a slot leads to.
fn target_of(slot: SlotRef) -> Option<ComponentId> {
    let id = ComponentId::from_raw(slot.target());
    (slot.port() >> 56 == PORT_OFFERED && id != ComponentId::NONE).then_some(id)
}

/// A component has been told to end: what it is connected to waits for it.
pub(super) fn note_told(worker: &mut Worker, component: ComponentRef) {
    for slot in slots_of(component) {
        note_connected(worker, component, slot);
    }
}

/// A slot of a component's required interfaces has been connected.
pub(super) fn note_connected(worker: &mut Worker, holder: ComponentRef, slot: SlotRef) {
    if let Some(target) = target_of(slot)
        && holder.is_told()
        && target != holder.id()
    {
        *callers(worker).counts.entry(target).or_default() += 1;
    }
}

/// A slot of a component's required interfaces is about to be disconnected, or the component to be
/// released.
pub(super) fn note_disconnected(worker: &mut Worker, holder: ComponentRef, slot: SlotRef) {
    let Some(target) = target_of(slot).filter(|_| holder.is_told()) else { return };
    let mut known = callers(worker);
    let Some(count) = known.counts.get_mut(&target) else { return };
    *count -= 1;
    if *count > 0 {
        known.suspects.push(target);
        drop(known);
        worker.machine.attention = true;
        return;
    }
    known.counts.remove(&target);
    drop(known);
    if let Some(target) = worker.machine.table.get(target)
        && (crew::is_elsewhere(worker, target) || target.is_told())
    {
        tell_end(worker, target, ProcessRef::NULL);
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
/// looked at again when it need not.
pub(super) fn has_callers(worker: &mut Worker, component: ComponentRef) -> bool {
    let id = component.id();
    if worker.machine.pieces.is_telling() {
        callers(worker).early.push(id);
        return true;
    }
    let mut known = callers(worker);
    if !known.counts.contains_key(&id) {
        return false;
    }
    known.suspects.push(id);
    drop(known);
    worker.machine.attention = true;
    true
}

/// Has some of those looked at again that were done before all that end with them had been told;
/// whether there are more.
pub(crate) fn end_telling(worker: &mut Worker) -> bool {
    if worker.machine.pieces.is_telling() {
        return false;
    }
    let mut known = callers(worker);
    let left = known.early.len().saturating_sub(EARLY);
    let some = known.early.split_off(left);
    drop(known);
    for id in some {
        if let Some(component) = worker.machine.table.get(id) {
            may_end(worker, component);
        }
    }
    left > 0
}

/// Lets circles of components end that nothing outside of them can call.
pub(crate) fn break_circles(worker: &mut Worker) {
    let suspects = std::mem::take(&mut callers(worker).suspects);
    if !suspects.is_empty() {
        crew::between(worker, |worker| break_circles_of(worker, &suspects));
    }
}

/// A component of a circle, perhaps.
struct Candidate {
    component: ComponentRef,
    /// Connections of candidates to it.
    inner: u32,
    targets: Vec<ComponentId>,
}

fn break_circles_of(worker: &mut Worker, suspects: &[ComponentId]) {
    let candidates = candidates(worker, suspects);
    let counts = |id: &ComponentId| callers(worker).counts.get(id).copied().unwrap_or(0);
    let is_called =
        |(id, candidate): (&ComponentId, &Candidate)| (counts(id) > candidate.inner).then_some(*id);
    let mut called: Vec<ComponentId> = candidates.iter().filter_map(is_called).collect();
    let mut kept: Set<ComponentId> = called.iter().copied().collect();
    while let Some(id) = called.pop() {
        for target in candidates.get(&id).into_iter().flat_map(|it| &it.targets) {
            if candidates.contains_key(target) && kept.insert(*target) {
                called.push(*target);
            }
        }
    }
    let mut free: Vec<(ComponentId, ComponentRef)> = candidates
        .iter()
        .filter(|(id, _)| !kept.contains(id))
        .map(|(id, candidate)| (*id, candidate.component))
        .collect();
    free.sort_unstable();
    // Sub-components may call through a circle that their owner is part of: those owners first.
    if free.iter().any(|(_, component)| component.child_count() > 0) {
        free.retain(|(_, component)| component.child_count() > 0);
    }
    for (id, component) in free {
        callers(worker).counts.remove(&id);
        may_end(worker, component);
    }
}

/// The components that wait for callers only, and can be reached from suspects through others.
fn candidates(worker: &Worker, suspects: &[ComponentId]) -> Map<ComponentId, Candidate> {
    let mut candidates: Map<ComponentId, Candidate> = Map::default();
    let mut queue: Vec<ComponentId> = suspects.to_vec();
    let mut edges = Vec::new();
    while let Some(id) = queue.pop() {
        let Some(component) = worker.machine.table.get(id).filter(|&it| is_waiting(it)) else {
            continue;
        };
        if candidates.contains_key(&id) || !callers(worker).counts.contains_key(&id) {
            continue;
        }
        let targets: Vec<ComponentId> =
            slots_of(component).into_iter().filter_map(target_of).collect();
        edges.extend(targets.iter().filter(|&&target| target != id));
        queue.extend(&targets);
        candidates.insert(id, Candidate { component, inner: 0, targets });
    }
    for target in edges {
        if let Some(candidate) = candidates.get_mut(&target) {
            candidate.inner += 1;
        }
    }
    candidates
}

/// Told to end, and done.
fn is_waiting(component: ComponentRef) -> bool {
    component.is_told()
        && !component.is_doomed()
        && matches!(Life::of(component), Life::Beginning | Life::Running)
        && component.process_count() == 0
}
