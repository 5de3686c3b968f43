//! Circular lists of processes: one word, the last, gives both ends.

use crate::handle::ProcessRef;

/// Puts a process at the end; returns the new last.
pub(super) fn push(last: ProcessRef, process: ProcessRef) -> ProcessRef {
    if last.is_null() {
        process.set_link(process);
    } else {
        process.set_link(last.link());
        last.set_link(process);
    }
    process
}

/// Puts a process at the front; returns the last.
pub(super) fn push_first(last: ProcessRef, process: ProcessRef) -> ProcessRef {
    push(last, process);
    if last.is_null() { process } else { last }
}

/// Takes out the one after `previous`; returns the new last.
pub(super) fn remove(last: ProcessRef, previous: ProcessRef) -> ProcessRef {
    let process = previous.link();
    if process == previous {
        return ProcessRef::NULL;
    }
    previous.set_link(process.link());
    if process == last { previous } else { last }
}

/// Takes out the first; returns the new last.
pub(super) fn remove_first(last: ProcessRef) -> ProcessRef {
    remove(last, last)
}
