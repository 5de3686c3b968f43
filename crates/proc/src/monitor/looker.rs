//! When the conditions of those outside are looked at: as soon as nothing is ready; else after some
//! steps of the scheduler, which takes them from the budget of the slice, so that it need not count
//! them apart.
//!
//! While the lock of a component is given back between any two looks, those inside do without
//! those outside: it is passed over then, but not for ever.

use crate::component::ComponentId;
use crate::handle::ComponentRef;
use crate::layout::Worker;

/// Steps between two looks.
const STEPS: i64 = 64;

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
    lend(home);
}

/// Ends what is seen as the slice at the next look. Among several loops each looks now and then.
fn lend(worker: &mut Worker) {
    let looker = &mut worker.machine.looker;
    if worker.machine.desk.is_none() && looker.lent == 0 && worker.budget > STEPS {
        looker.lent = worker.budget - STEPS;
        worker.budget = STEPS;
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
        lend(worker);
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
        one.passed += 1;
        let passes = component.is_busy() && one.passed < PASSED_MAX && !is_idle;
        component.clear_busy();
        if !passes {
            component.clear_due();
            super::look_at(worker, component);
        }
        passes
    });
    due.append(&mut worker.machine.looker.due);
    worker.machine.looker.due = due;
    if !worker.machine.looker.due.is_empty() {
        lend(worker);
    }
    true
}
