//! Closing sessions.

use crate::channel;
use crate::handle::{ChannelRef, ComponentRef, ProcessRef, SessionRef, SlotRef};
use crate::layout::{CLIENT_FAILED, CLIENT_FINISHED, PORT_SESSION, Session, port};
use crate::machine::Worker;
use crate::program::Port;
use crate::sessions::MANY;

/// How a process leaves its sessions.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Leave {
    Finished,
    Failed,
}

/// Frees the session that a slot is part of, if it is, after its communication has ended.
pub(crate) fn free_closed(worker: &mut Worker, slot: SlotRef) {
    if slot.port() >> 56 == PORT_SESSION {
        free(worker, SessionRef(slot.0.cast()));
    }
}

pub(crate) fn free(worker: &mut Worker, session: SessionRef) {
    let process = session.process();
    if process.has(MANY) {
        worker.home(process.component()).machine.sessions.remove(session);
    }
    let (next, previous) = (session.next(), session.previous());
    if !next.is_null() {
        next.set_previous(previous);
    }
    if previous.is_null() {
        process.set_sessions(next);
    } else {
        previous.set_next(next);
    }
    worker.memory.give(session.0.cast(), size_of::<Session>());
}

/// Ends all communications of a process.
pub(crate) fn close_all(worker: &mut Worker, process: ProcessRef, how: Leave) {
    let flags = match how {
        Leave::Finished => CLIENT_FINISHED,
        Leave::Failed => CLIENT_FINISHED | CLIENT_FAILED,
    };
    while let Some(session) = process.sessions().some() {
        close(worker, session, flags);
    }
}

/// Ends the communications that a process has with a component which it deletes: the component
/// becomes unreachable, and server processes there would wait for it.
pub(crate) fn close_with(worker: &mut Worker, process: ProcessRef, component: ComponentRef) {
    let target = component.id().raw();
    let offered = &component.descriptor().offered;
    if process.has(MANY) && !offered.iter().any(Port::is_set) {
        for known in offered {
            let wanted = (process.0.addr(), target, port(PORT_SESSION, known.interface, 1));
            if let Some(session) = worker.machine.sessions.find(wanted) {
                close(worker, session, CLIENT_FINISHED);
            }
        }
        return;
    }
    let mut session = process.sessions();
    while let Some(here) = session.some() {
        session = here.next();
        if here.slot().target() == target {
            close(worker, here, CLIENT_FINISHED);
        }
    }
}

pub(crate) fn close(worker: &mut Worker, session: SessionRef, flags: u32) {
    let open: ChannelRef = session.slot().channel();
    if !open.is_null() {
        channel::finish(worker, session.slot(), flags);
    }
    free(worker, session);
}
