//! Finding the session of a process, or making it.

use crate::handle::{ComponentRef, ProcessRef, SessionRef};
use crate::layout::{PORT_SESSION, Session, port};
use crate::machine::Worker;
use crate::memory::OutOfMemory;

/// Sessions searched in order.
pub(crate) const FEW: usize = 8;

/// Flag of a process: its sessions are in the map.
pub(crate) const MANY: u16 = 8;

/// The sessions of a process.
pub(crate) fn sessions_of(process: ProcessRef) -> impl Iterator<Item = SessionRef> {
    std::iter::successors(process.sessions().some(), |session| session.next().some())
}

/// The session of a process to an interface of a sub-component, by its number in the program; made
/// if there is none.
pub(crate) fn find_or_make(
    worker: &mut Worker,
    process: ProcessRef,
    component: ComponentRef,
    interface: u32,
    index: u32,
) -> Result<SessionRef, OutOfMemory> {
    let wanted = (component.id().raw(), port(PORT_SESSION, interface, index));
    if let Some(session) = find(worker, process, wanted) {
        return Ok(session);
    }
    let session = SessionRef(worker.memory.take(size_of::<Session>())?.cast());
    session.slot().set_target(wanted.0);
    session.slot().set_port(wanted.1);
    session.set_process(process);
    session.set_component(component);
    let first = process.sessions();
    session.set_next(first);
    if !first.is_null() {
        first.set_previous(session);
    }
    process.set_sessions(session);
    if process.has(MANY) {
        worker.machine.sessions.insert(session);
    }
    Ok(session)
}

pub(crate) fn find(
    worker: &mut Worker,
    process: ProcessRef,
    wanted: (u64, u64),
) -> Option<SessionRef> {
    let mut session = process.sessions();
    for _ in 0..FEW {
        let here = session.some()?;
        if (here.slot().target(), here.slot().port()) == wanted {
            return Some(here);
        }
        session = here.next();
    }
    if !process.has(MANY) {
        enter_all(worker, process);
    }
    worker.machine.sessions.find((process.0.addr(), wanted.0, wanted.1))
}

pub(crate) fn enter_all(worker: &mut Worker, process: ProcessRef) {
    process.raise(MANY);
    let mut session = process.sessions();
    while !session.is_null() {
        worker.machine.sessions.insert(session);
        session = session.next();
    }
}
