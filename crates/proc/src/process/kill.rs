//! Killing processes in any state.

use crate::channel::Unread;
use crate::handle::{ComponentRef, FrameRef, ProcessRef};
use crate::layout::FROM_CLIENT;
use crate::machine::Worker;
use crate::process::end::{forget, unlink};
use crate::process::{DEAD, free_frame};
use crate::{ProcessState, Role, channel, component, sessions, words};

/// Kills a process in any state: what its frames own is dropped, its communications fail. The
/// caller repairs the queues of its component.
pub(crate) fn kill(worker: &mut Worker, process: ProcessRef) {
    match ProcessState::of(process) {
        ProcessState::Connect => channel::unpark(worker, process),
        ProcessState::Passive => crate::clock::forget(worker, process),
        ProcessState::Delete => {
            crate::pieces::forget(worker, process);
            component::forget_deleter(process);
        }
        _ => {}
    }
    let ready = process.is_ready();
    process.stop_waiting();
    sessions::close_all(worker, process, sessions::Leave::Failed);
    unwind(worker, process.frame(), FrameRef::NULL);
    if Role::of(process) == Role::Server {
        channel::close_failed(worker, process.channel());
        channel::take_unread(worker, process.channel(), FROM_CLIENT, Unread::IsGone);
    }
    if !ready {
        forget(worker, process);
        return;
    }
    if Role::of(process) == Role::Server {
        channel::drop_entries(worker, process.channel());
        worker.machine.counts.channels.remove();
        process.set_role(Role::Main as u8);
    }
    unlink(process);
    process.set_component(ComponentRef::NULL);
    process.set_frame(FrameRef::NULL);
    process.raise(DEAD);
}

/// Frees what a frame and its callers own, up to `end`, and the frames that have blocks of their
/// own. Components in them stay with their owner, which ends, too.
pub(crate) fn unwind(worker: &mut Worker, mut frame: FrameRef, end: FrameRef) {
    while frame.0 != end.0 {
        let parent = frame.parent();
        let function = frame.function() as usize;
        for variable in &worker.program().functions[function].owned {
            words::free_word(worker, variable.kind, frame.word(variable.offset));
        }
        if !parent.is_null() {
            free_frame(worker, frame);
        }
        frame = parent;
    }
}
