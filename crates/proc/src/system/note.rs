//! Noting that something has changed on a channel of a system component.

use super::servers::{NOTED, PENDING, name_of};
use crate::handle::ProcessRef;
use crate::machine::Worker;

/// Something has changed on a channel of a system component.
pub(crate) fn note(worker: &mut Worker, server: ProcessRef) {
    if !server.has(NOTED) {
        server.raise(NOTED);
        worker.machine.systems.noted.push_back(name_of(server));
        worker.machine.attention = true;
    }
}

/// A client has taken an answer: that is not reported, unless more answers wait for the room.
pub(crate) fn note_taken(worker: &mut Worker, server: ProcessRef) {
    if server.has(PENDING) {
        note(worker, server);
    }
}
