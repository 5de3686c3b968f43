//! The end of a run on several loops.
//!
//! 1. It begins with a halt, on any loop ([`halt_first`] passes it on to the first), with the end
//!    of the entry component, or when no loop has anything left to run (`settle`). The first worker
//!    alone ends the run.
//! 2. It gets exclusive access between two processes, gathers all components and tears them down
//!    ([`clear_alone`]). All posts have been delivered before, so none names what is freed.
//! 3. Still with exclusive access it sets `over`, and wakes the loops that sleep.
//! 4. The other threads find `over` set: before a slice, when they have stepped aside, or as they
//!    are woken. One that waited for exclusive access gets it, and finds nothing to do.
//!    `Team::stop` joins them.
//!
//! A worker is cleared again when it is dropped: after `over` nothing is stopped for that.

use std::sync::atomic::Ordering;

use super::{between, spread, visit};
use crate::machine::Worker;
use crate::paused::Paused;

impl Worker {
    /// Ends the run: the first worker tears everything down.
    pub(super) fn end_crew(&mut self) -> Paused {
        self.clear();
        Paused::Ended
    }
}

/// Passes a halt on to the first worker, which alone ends the run.
pub(super) fn halt_first(worker: &mut Worker) {
    between(worker, |worker| {
        worker.machine.halted = false;
        (worker.machine.attention, worker.machine.has_due_work) = (false, false);
        let first = worker.first();
        first.machine.halted = true;
        first.machine.attend();
        if let Some(desk) = &worker.machine.desk {
            desk.crew.wake(0);
        }
    });
}

/// Ends the run, with everything gathered on the first loop.
pub(crate) fn clear_alone(worker: &mut Worker, f: impl FnOnce(&mut Worker)) {
    let over = worker.machine.desk.as_ref().is_none_or(|desk| desk.crew.is_over());
    if over {
        f(worker);
        return;
    }
    visit(worker, |worker| {
        between(worker, |worker| {
            spread::gather(worker);
            f(worker);
            if let Some(desk) = &worker.machine.desk {
                desk.crew.over.store(true, Ordering::SeqCst);
                (1..desk.crew.members.len()).for_each(|index| desk.crew.wake(index));
            }
        });
    });
}
