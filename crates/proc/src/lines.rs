//! The communications that a process has with sub-components of its component.
//!
//! A line belongs to its process and lives while it is open. Most processes have a few, which are
//! searched in order; one that has many is also entered in a map of the worker.

use hashbrown::HashTable;
use tidemill_stdx::hash::{combine, hash_u64};

use crate::channel;
use crate::handle::{ChannelRef, ComponentRef, LineRef, ProcessRef, SlotRef};
use crate::layout::{CLIENT_FAILED, CLIENT_FINISHED, Line, PORT_LINE, port};
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::Port;

/// Lines searched in order.
const FEW: usize = 8;
/// Flag of a process: its lines are in the map.
pub(crate) const MANY: u16 = 8;

/// Process, component and port.
type Key = (usize, u64, u64);

/// Lines of the processes that have many, by process, component and port. Only where they are is
/// kept: what they are found by stands there, and there may be as many as there are components.
#[derive(Default)]
pub(crate) struct LineMap(HashTable<LineRef>);

fn hash(key: Key) -> u64 {
    combine(combine(hash_u64(key.0 as u64), key.1), key.2)
}

fn key_of(line: LineRef) -> Key {
    key(line.process(), line.slot())
}

impl LineMap {
    /// Enters a line of a process that has many.
    pub(crate) fn insert(&mut self, line: LineRef) {
        self.0.insert_unique(hash(key_of(line)), line, |&other| hash(key_of(other)));
    }

    fn find(&self, key: Key) -> Option<LineRef> {
        self.0.find(hash(key), |&line| key_of(line) == key).copied()
    }

    pub(crate) fn remove(&mut self, line: LineRef) {
        if let Ok(entry) = self.0.find_entry(hash(key_of(line)), |&other| other == line) {
            entry.remove();
        }
    }
}

/// The lines of a process.
pub(crate) fn lines_of(process: ProcessRef) -> impl Iterator<Item = LineRef> {
    std::iter::successors(process.lines().some(), |line| line.next().some())
}

/// How a process leaves its lines.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Leave {
    Finished,
    Failed,
}

fn key(process: ProcessRef, line: SlotRef) -> Key {
    (process.0.addr(), line.target(), line.port())
}

/// The line of a process to an interface of a sub-component, by its number in the program; made if
/// there is none.
pub(crate) fn find_or_make(
    worker: &mut Worker,
    process: ProcessRef,
    component: ComponentRef,
    interface: u32,
    index: u32,
) -> Result<LineRef, OutOfMemory> {
    let wanted = (component.id().raw(), port(PORT_LINE, interface, index));
    if let Some(line) = find(worker, process, wanted) {
        return Ok(line);
    }
    let line = LineRef(worker.memory.take(size_of::<Line>())?.cast());
    line.slot().set_target(wanted.0);
    line.slot().set_port(wanted.1);
    line.set_process(process);
    line.set_component(component);
    let first = process.lines();
    line.set_next(first);
    if !first.is_null() {
        first.set_previous(line);
    }
    process.set_lines(line);
    if process.has(MANY) {
        worker.machine.lines.insert(line);
    }
    Ok(line)
}

fn find(worker: &mut Worker, process: ProcessRef, wanted: (u64, u64)) -> Option<LineRef> {
    let mut line = process.lines();
    for _ in 0..FEW {
        let here = line.some()?;
        if (here.slot().target(), here.slot().port()) == wanted {
            return Some(here);
        }
        line = here.next();
    }
    if !process.has(MANY) {
        enter_all(worker, process);
    }
    worker.machine.lines.find((process.0.addr(), wanted.0, wanted.1))
}

fn enter_all(worker: &mut Worker, process: ProcessRef) {
    process.raise(MANY);
    let mut line = process.lines();
    while !line.is_null() {
        worker.machine.lines.insert(line);
        line = line.next();
    }
}

/// Frees the line that a slot is part of, if it is, after its communication has ended.
pub(crate) fn free_closed(worker: &mut Worker, slot: SlotRef) {
    if slot.port() >> 56 == PORT_LINE {
        free(worker, LineRef(slot.0.cast()));
    }
}

fn free(worker: &mut Worker, line: LineRef) {
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

/// Ends the communications that a process has with a component which it deletes: it cannot reach
/// it any more, and the servers there would wait for it.
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

fn close(worker: &mut Worker, line: LineRef, flags: u32) {
    let open: ChannelRef = line.slot().channel();
    if !open.is_null() {
        channel::finish(worker, line.slot(), flags);
    }
    free(worker, line);
}
