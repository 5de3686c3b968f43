//! When those outside are looked at: as soon as nothing is ready; else after some steps of the
//! scheduler, which are taken from the budget of the slice, so that nobody counts them apart.
//!
//! First that is when all that are ready have had a turn, if they are few. Those that are passed
//! over then, because others do what they wait for, are looked at from time to time, and a few
//! times passed over again.

use super::outside::{self, Look};
use crate::component::ComponentId;
use crate::handle::ComponentRef;
use crate::machine::Worker;

/// Steps to the first look, at most.
const STEPS_FIRST: i64 = 4;

/// Steps from one look to the next.
const STEPS: i64 = 256;

/// Looks that pass over a component, however busy it is.
const PASSED_MAX: u8 = 16;

/// What is to be looked at.
#[derive(Default)]
pub(crate) struct Looker {
    due: Vec<Due>,
    /// What the slice has left beyond the steps to the next look.
    lent: i64,
}

/// A component, and how often it has been passed over.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    pub(crate) component: ComponentId,
    passed: u8,
}

impl Looker {
    /// What is to be looked at.
    pub(crate) fn due(&self) -> &[Due] {
        &self.due
    }

    /// The same to be taken over.
    pub(crate) fn due_mut(&mut self) -> &mut Vec<Due> {
        &mut self.due
    }
}

/// Has the conditions of those outside a component looked at.
pub(super) fn call(worker: &mut Worker, component: ComponentRef) {
    if component.is_due() {
        return;
    }
    component.set_due();
    let home = worker.home_awake(component);
    home.machine.looker.due.push(Due { component: component.id(), passed: 0 });
    settle(home);
    // All that are ready have their turn before, and who runs now.
    let round = home.ready_count() as i64 + 1;
    lend(home, round.min(STEPS_FIRST));
}

/// Ends what is seen as the slice at the next look.
fn lend(worker: &mut Worker, steps: i64) {
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

/// Looks at what is due; at all of it if nothing is ready. Whether anything was due.
pub(crate) fn look_due(worker: &mut Worker) -> bool {
    settle(worker);
    if worker.machine.looker.due.is_empty() {
        return false;
    }
    let is_idle = worker.ready_count() == 0;
    let mut due = std::mem::take(&mut worker.machine.looker.due);
    due.retain_mut(|one| {
        let Some(component) = worker.machine.table.get(one.component) else { return false };
        let stays = look(worker, component, one.passed, is_idle) == Look::Spared;
        one.passed += 1;
        stays
    });
    due.append(&mut worker.machine.looker.due);
    worker.machine.looker.due = due;
    if !worker.machine.looker.due.is_empty() {
        lend(worker, STEPS);
    }
    true
}

fn look(worker: &mut Worker, component: ComponentRef, passed: u8, is_idle: bool) -> Look {
    let spare = passed < PASSED_MAX && !is_idle;
    let found = match outside::are_all(component) {
        true => outside::look(worker, component, spare),
        false => {
            super::pass(worker, component, super::Turn::Last);
            Look::Done
        }
    };
    if passed > 0 {
        outside::forget(component);
    }
    if found == Look::Done {
        component.clear_due();
    }
    found
}
