//! When conditions of processes outside are evaluated: as soon as nothing is ready; else after some
//! steps of the scheduler. The steps are taken from the budget of the slice, so the scheduler keeps
//! one count only.
//!
//! The first time is after all ready processes have had a turn, if they are few. A waiter whose
//! condition other processes consume is passed over then, and visited again from time to time, up
//! to [`PASSED_MAX`] times.

use super::outside::{self, Look};
use crate::handle::ComponentRef;
use crate::machine::Worker;
use crate::monitor::call::STEPS;
use crate::monitor::call::lend;
use crate::monitor::settle;

/// The most visits that pass over a component, however busy it is.
pub(crate) const PASSED_MAX: u8 = 16;

/// Visits the components that are due, and spares none if nothing is ready. Returns whether any was
/// due.
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

pub(crate) fn look(
    worker: &mut Worker,
    component: ComponentRef,
    passed: u8,
    is_idle: bool,
) -> Look {
    let spare = passed < PASSED_MAX && !is_idle;
    let found = if outside::are_all(component) {
        outside::look(worker, component, spare)
    } else {
        super::pass(worker, component, super::Turn::Last);
        Look::Done
    };
    if passed > 0 {
        outside::forget(component);
    }
    if found == Look::Done {
        component.clear_due();
    }
    found
}
