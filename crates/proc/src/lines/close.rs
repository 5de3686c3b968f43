//! Closing lines.

use crate::channel;
use crate::handle::{ChannelRef, ComponentRef, LineRef, ProcessRef, SlotRef};
use crate::layout::{CLIENT_FAILED, CLIENT_FINISHED, Line, PORT_LINE, port};
use crate::lines::MANY;
use crate::machine::Worker;
use crate::program::Port;

/// How a process leaves its lines.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Leave {
    Finished,
    Failed,
}

/// Frees the line that a slot is part of, if it is, after its communication has ended.
pub(crate) fn free_closed(worker: &mut Worker, slot: SlotRef) {
    if slot.port() >> 56 == PORT_LINE {
        free(worker, LineRef(slot.0.cast()));
    }
}

pub(crate) fn free(worker: &mut Worker, line: LineRef) {
    let process = line.process();
    if process.has(MANY) {
        worker.home(process.component()).machine.lines.remove(line);
    }
    let (next, previous) = (line.next(), line.previous());
    if !next.is_null() {
        next.set_previous(previous);
    }
    if previous.is_null() {
        process.set_lines(next);
    } else {
        previous.set_next(next);
    }
    worker.memory.give(line.0.cast(), size_of::<Line>());
}

/// Ends all communications of a process.
pub(crate) fn close_all(worker: &mut Worker, process: ProcessRef, how: Leave) {
    let flags = match how {
        Leave::Finished => CLIENT_FINISHED,
        Leave::Failed => CLIENT_FINISHED | CLIENT_FAILED,
    };
    while let Some(line) = process.lines().some() {
        close(worker, line, flags);
    }
}

/// Ends the communications that a process has with a component which it deletes: the component
/// becomes unreachable, and server processes there would wait for it.
pub(crate) fn close_with(worker: &mut Worker, process: ProcessRef, component: ComponentRef) {
    let target = component.id().raw();
    let offered = &component.descriptor().offered;
    if process.has(MANY) && !offered.iter().any(Port::is_set) {
        for known in offered {
            let wanted = (process.0.addr(), target, port(PORT_LINE, known.interface, 1));
            if let Some(line) = worker.machine.lines.find(wanted) {
                close(worker, line, CLIENT_FINISHED);
            }
        }
        return;
    }
    let mut line = process.lines();
    while let Some(here) = line.some() {
        line = here.next();
        if here.slot().target() == target {
            close(worker, here, CLIENT_FINISHED);
        }
    }
}

pub(crate) fn close(worker: &mut Worker, line: LineRef, flags: u32) {
    let open: ChannelRef = line.slot().channel();
    if !open.is_null() {
        channel::finish(worker, line.slot(), flags);
    }
    free(worker, line);
}
