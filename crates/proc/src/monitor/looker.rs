//! When those outside are looked at: as soon as nothing is ready; else after some steps of the
//! scheduler, which are taken from the budget of the slice, so that nobody counts them apart.
//!
//! First that is when all that are ready have had a turn, if they are few. Those that are passed
//! over then, because others do what they wait for, are looked at from time to time, and a few
//! times passed over again.

use super::outside::{self, Look};
use crate::handle::ComponentRef;
use crate::machine::Worker;
use crate::monitor::call::STEPS;
use crate::monitor::call::lend;
use crate::monitor::settle;

/// Looks that pass over a component, however busy it is.
pub(crate) const PASSED_MAX: u8 = 16;

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

pub(crate) fn look(
    worker: &mut Worker,
    component: ComponentRef,
    passed: u8,
    is_idle: bool,
) -> Look {
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
