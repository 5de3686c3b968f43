//! Ending processes whose bodies are done, and freeing them.

use crate::channel::{self};
use crate::component::{self};
use crate::handle::ProcessRef;
use crate::machine::Worker;
use crate::process::DEAD;
use crate::process::Role;
use crate::process::create::free_system;
use crate::sessions;

/// Ends a process whose body is done.
pub(crate) fn end(worker: &mut Worker, process: ProcessRef) {
    sessions::close_all(worker, process, sessions::Leave::Finished);
    let component = process.component();
    forget(worker, process);
    if !component.is_null() && component.is_terminating() {
        component::may_end(worker, component);
    }
}

/// Takes a process out of its component and frees it.
pub(crate) fn forget(worker: &mut Worker, process: ProcessRef) {
    if matches!(Role::of(process), Role::Server | Role::System) {
        channel::drop_entries(worker, process.channel());
        worker.machine.counts.channels.remove();
    }
    worker.machine.counts.processes.remove();
    if Role::of(process) == Role::System {
        return free_system(worker, process);
    }
    unlink(process);
    worker.note_freed(process);
    worker.memory.give(process.0.cast(), process.size() as usize);
}

#[inline]
pub(crate) fn unlink(process: ProcessRef) {
    let component = process.component();
    if component.is_null() {
        return;
    }
    let (next, previous) = (process.next(), process.previous());
    if !next.is_null() {
        next.set_previous(previous);
    }
    if previous.is_null() {
        component.set_processes(next);
    } else {
        previous.set_next(next);
    }
    component.set_process_count(component.process_count() - 1);
}

/// Frees a process that was killed while it was ready.
#[inline]
pub(crate) fn bury(worker: &mut Worker, process: ProcessRef) {
    if process.has(DEAD) {
        worker.machine.counts.processes.remove();
        worker.note_freed(process);
        worker.memory.give(process.0.cast(), process.size() as usize);
    }
}
