//! Sleepers that are killed, and times that end.

use crate::handle::{ComponentRef, ProcessRef};
use crate::machine::Worker;
use crate::monitor;

/// Takes a sleeper out, which is killed.
pub(crate) fn forget(worker: &mut Worker, process: ProcessRef) {
    let clocks = &mut worker.first().machine.clocks;
    if let Some(clock) = clocks.get_mut(&process.condition()) {
        clock.sleepers.remove(&(process.wait() as i64, process.link().0.addr() as u64));
    }
}

/// Ends the time of a component. Wakes sleepers whose component has moved away.
pub(crate) fn close(worker: &mut Worker, component: ComponentRef) {
    if !component.is_clocked() {
        return;
    }
    component.clear_clocked();
    let clock = worker.first().machine.clocks.remove(&component.number()).unwrap_or_default();
    for process in clock.sleepers.into_values() {
        process.set_link(ProcessRef::NULL);
        monitor::resume(worker, process);
    }
}
