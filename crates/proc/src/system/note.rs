//! Noting that something has changed on a channel of a system component.

use crate::communication::Communication;
use crate::handle::ProcessRef;
use crate::machine::Worker;

/// Something has changed on a channel of a system component.
pub(crate) fn note(worker: &mut Worker, server: ProcessRef) {
    let systems = &mut worker.machine.systems;
    let name = Communication(server.wait());
    if let Some(line) = systems.lines.get_mut(name)
        && !line.noted
    {
        line.noted = true;
        systems.noted.push_back(name);
        worker.machine.attention = true;
    }
}

/// A client has taken an answer: whoever answers need not know, unless more of them wait for the
/// room.
pub(crate) fn note_taken(worker: &mut Worker, server: ProcessRef) {
    let line = worker.machine.systems.lines.get(Communication(server.wait()));
    if line.is_some_and(|line| line.pending.is_some()) {
        note(worker, server);
    }
}
