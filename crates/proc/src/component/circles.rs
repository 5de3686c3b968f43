//! Components that end and may call each other, in circles.

use super::{ComponentId, Life, may_end, slots_of};
use crate::component::callers::callers;
use crate::component::callers::target_of;
use crate::crew;
use crate::handle::ComponentRef;
use crate::machine::Worker;
use tidemill_stdx::hash::{Map, Set};

/// Components that were done early and are scheduled again in one increment.
pub(crate) const EARLY: usize = 256;

/// Schedules [`EARLY`] of the components that were done before all that end with them were
/// terminated. Returns whether more are left.
pub(crate) fn advance_early(worker: &mut Worker) -> bool {
    if !worker.machine.callers.are_due() || worker.machine.pieces.is_terminating() {
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
    if !worker.machine.callers.are_due() {
        return;
    }
    let mut known = callers(worker);
    let suspects = std::mem::take(&mut known.suspects);
    worker.machine.callers.set_due(!known.early.is_empty());
    drop(known);
    if !suspects.is_empty() {
        crew::between(worker, |worker| break_circles_of(worker, &suspects));
    }
}

/// A component that may be part of a circle.
pub(crate) struct Candidate {
    component: ComponentRef,
    /// Connections of candidates to it.
    inner: u32,
    targets: Vec<ComponentId>,
}

pub(crate) fn break_circles_of(worker: &mut Worker, suspects: &[ComponentId]) {
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
pub(crate) fn candidates(worker: &Worker, suspects: &[ComponentId]) -> Map<ComponentId, Candidate> {
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

/// Terminating, and done.
pub(crate) fn is_waiting(component: ComponentRef) -> bool {
    component.is_terminating()
        && !component.is_doomed()
        && matches!(Life::of(component), Life::Beginning | Life::Running)
        && component.process_count() == 0
}
