//! Evaluating conditions between two processes.

use crate::crew;
use crate::handle::ComponentRef;
use crate::machine::Worker;

/// Has the conditions of a component evaluated between two processes: something that they may
/// depend on has changed outside the monitor.
#[inline]
pub(crate) fn poke(worker: &mut Worker, component: ComponentRef) {
    if crew::is_elsewhere(worker, component) {
        worker.post_poke(component);
        return;
    }
    if component.await_queue().is_null() || component.is_poked() {
        return;
    }
    component.set_poked();
    let home = worker.home_awake(component);
    home.machine.pokes.push(component.id());
    home.machine.attend();
}
