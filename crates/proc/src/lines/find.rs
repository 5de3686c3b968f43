//! Finding the line of a process, or making it.

use crate::handle::{ComponentRef, LineRef, ProcessRef};
use crate::layout::{Line, PORT_LINE, port};
use crate::machine::Worker;
use crate::memory::OutOfMemory;

/// Lines searched in order.
pub(crate) const FEW: usize = 8;

/// Flag of a process: its lines are in the map.
pub(crate) const MANY: u16 = 8;

/// The lines of a process.
pub(crate) fn lines_of(process: ProcessRef) -> impl Iterator<Item = LineRef> {
    std::iter::successors(process.lines().some(), |line| line.next().some())
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

pub(crate) fn find(
    worker: &mut Worker,
    process: ProcessRef,
    wanted: (u64, u64),
) -> Option<LineRef> {
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

pub(crate) fn enter_all(worker: &mut Worker, process: ProcessRef) {
    process.raise(MANY);
    let mut line = process.lines();
    while !line.is_null() {
        worker.machine.lines.insert(line);
        line = line.next();
    }
}
