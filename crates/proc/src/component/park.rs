//! Waiting for connections that are missing.

use crate::crew;
use crate::handle::{ComponentRef, ProcessRef};
use crate::machine::Worker;
use crate::monitor;

/// Notes that processes wait for a connection here.
pub(crate) fn park(worker: &mut Worker, component: ComponentRef, process: ProcessRef) {
    component.set_parked();
    process.set_wait(component.id().raw());
    let home = worker.home(component);
    home.machine.parked.entry(component.id().raw()).or_default().push(process);
}

/// Has the conditions of `watcher` evaluated when something is connected here.
pub(crate) fn watch_connection(
    worker: &mut Worker,
    component: ComponentRef,
    watcher: ComponentRef,
) {
    crew::tie(component, watcher);
    let away = crew::is_elsewhere(worker, component);
    let watch = |worker: &mut Worker| {
        component.set_parked();
        let home = worker.home(component);
        let watchers = home.machine.watchers.entry(component.id().raw()).or_default();
        watchers.insert(watcher.id());
    };
    if away { crew::alone(worker, watch) } else { watch(worker) }
}

/// Wakes the processes that wait for a connection here: they retry.
pub(crate) fn wake_parked(worker: &mut Worker, component: ComponentRef) {
    if !component.is_parked() {
        return;
    }
    component.clear_parked();
    let machine = &mut worker.home(component).machine;
    let parked = machine.parked.remove(&component.id().raw());
    let watchers = machine.watchers.remove(&component.id().raw());
    for process in parked.unwrap_or_default() {
        worker.wake(process);
    }
    for watcher in watchers.unwrap_or_default() {
        if let Some(watcher) = worker.machine.table.get(watcher) {
            monitor::poke(worker, watcher);
        }
    }
}
