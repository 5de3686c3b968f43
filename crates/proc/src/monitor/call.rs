//! Scheduling the evaluation of conditions after some steps, which are borrowed from the slice.

use crate::handle::ComponentRef;
use crate::machine::Worker;
use crate::monitor::due::Due;

/// The most steps to the first visit.
pub(crate) const STEPS_FIRST: i64 = 4;

/// Steps from one visit to the next.
pub(crate) const STEPS: i64 = 256;

/// Schedules the evaluation of the conditions of processes outside a component.
pub(super) fn call(worker: &mut Worker, component: ComponentRef) {
    if component.is_due() {
        return;
    }
    component.set_due();
    let home = worker.home_awake(component);
    home.machine.looker.due.push(Due { component: component.id(), passed: 0 });
    settle(home);
    // A round: all that are ready now, and the running process.
    let round = home.ready_count() as i64 + 1;
    lend(home, round.min(STEPS_FIRST));
}

/// Shortens the slice to `steps`, and lends out the rest.
pub(crate) fn lend(worker: &mut Worker, steps: i64) {
    if worker.budget > steps {
        worker.machine.looker.lent = worker.budget - steps;
        worker.budget = steps;
    }
}

/// Gives the slice back what it has left.
pub(crate) fn settle(worker: &mut Worker) {
    worker.budget += std::mem::take(&mut worker.machine.looker.lent);
}

/// A slice begins.
pub(crate) fn begin(worker: &mut Worker, budget: i64) {
    worker.budget = budget;
    worker.machine.looker.lent = 0;
    if !worker.machine.looker.due.is_empty() {
        lend(worker, STEPS);
    }
}
