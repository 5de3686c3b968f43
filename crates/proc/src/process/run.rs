//! Running a process until it waits, pauses or ends.

use crate::ProcessState;
use crate::channel::{self};
use crate::component::{self};
use crate::handle::{FrameRef, ProcessRef};
use crate::layout::{CLIENT_FINISHED, CLIENT_WAITS, EXCLUSIVE, SERVER_ENDED};
use crate::layout::{DEFERRED, DONE, NATIVE_STACK, PAUSED, SUSPENDED};
use crate::machine::Worker;
use crate::outside::launched::is_launched;
use crate::process::ACTIVITY;
use crate::process::LazyFrames;
use crate::process::Role;
use crate::process::bury;
use crate::process::end;
use crate::process::frame::prepare_frame;
use crate::process::free_frame;
use crate::{monitor, sessions};

/// How many processes may be put before others until all others have had their turn.
pub(crate) const FAVOURS: u32 = 32;

impl Worker {
    /// Makes a waiting process ready.
    pub(crate) fn wake(&mut self, process: ProcessRef) {
        self.make_ready(process);
        self.push_home(process);
    }

    fn make_ready(&mut self, process: ProcessRef) {
        process.set_state(ProcessState::Ready as u8);
        self.note_state(process);
    }

    /// The same of one that runs before others, but not all the time.
    pub(crate) fn wake_next(&mut self, process: ProcessRef) {
        self.make_ready(process);
        let desk = self.machine.desk.as_ref();
        let is_here = desk.is_none_or(|desk| process.component().worker() == desk.index);
        if is_here && self.machine.favours < FAVOURS {
            self.machine.favours += 1;
            self.push_ready_first(process);
        } else {
            self.machine.favours = 0;
            self.push_home(process);
        }
    }

    /// Runs a process until it waits, pauses or ends.
    #[inline]
    pub(crate) fn step(&mut self, process: ProcessRef) {
        self.current = process.0;
        self.depth = 0;
        let here = 0_u8;
        self.stack_end = (&raw const here).addr().saturating_sub(NATIVE_STACK);
        let mut frame = process.frame();
        if frame.is_null() {
            bury(self, process);
            return;
        }
        loop {
            // SAFETY: the code is the program's code for this frame's function, the handles are
            // live, and nothing of the worker is borrowed.
            let status = unsafe { (frame.code())(frame.0, process.0, self.address()) };
            if status == SUSPENDED {
                return;
            }
            match self.after(process, frame, status) {
                Some(next) => frame = next,
                None => return,
            }
        }
    }

    /// Handles code that has returned otherwise than by suspension; returns the frame to run next.
    fn after(&mut self, process: ProcessRef, frame: FrameRef, status: u32) -> Option<FrameRef> {
        match status {
            DONE => {}
            PAUSED => {
                self.machine.lazy = LazyFrames::default();
                self.wake(process);
                return None;
            }
            DEFERRED => {
                self.machine.lazy = LazyFrames::default();
                self.depth = 0;
                return Some(process.frame());
            }
            _ => {
                process.set_state(ProcessState::Running as u8);
                return None;
            }
        }
        if let Some(parent) = frame.parent().some() {
            parent.set_result(frame.result());
            free_frame(self, frame);
            process.set_frame(parent);
            return Some(parent);
        }
        process.set_state(ProcessState::Running as u8);
        process.set_frame(frame);
        match Role::of(process) {
            Role::Main => main_done(self, process, frame),
            Role::Finally => {
                component::finally_done(self, process);
                None
            }
            Role::Server | Role::System => {
                server_done(self, process);
                None
            }
        }
    }
}

/// BEGIN is done: servers may begin; or ACTIVITY is: that is the end of the process.
pub(crate) fn main_done(
    worker: &mut Worker,
    process: ProcessRef,
    frame: FrameRef,
) -> Option<FrameRef> {
    let component = process.component();
    if !process.has(ACTIVITY) {
        process.raise(ACTIVITY);
        component::begun(worker, component);
        if process.holds() == EXCLUSIVE {
            monitor::release(worker, process);
            monitor::pass(worker, component, monitor::Turn::Last);
        }
        if let Some(activity) = component.descriptor().activity {
            prepare_frame(worker, frame, activity, FrameRef::NULL);
            // Its first slice is its own: processes that wait for BEGIN go first.
            worker.wake(process);
            return None;
        }
    }
    let is_done = component.id() == worker.machine.entry || is_launched(worker, component);
    end(worker, process);
    if is_done {
        component::terminate(worker, component, ProcessRef::NULL);
    }
    None
}

pub(crate) fn server_done(worker: &mut Worker, process: ProcessRef) {
    let channel = process.channel();
    channel::hold(worker, channel);
    channel.raise(SERVER_ENDED);
    let finished = channel.has(CLIENT_FINISHED);
    channel::release(worker);
    if finished {
        end(worker, process);
        return;
    }
    sessions::close_all(worker, process, sessions::Leave::Finished);
    process.set_state(ProcessState::Finish as u8);
    worker.note_state(process);
    if process.component().is_terminating() {
        component::may_end(worker, process.component());
    }
    channel::hold(worker, channel);
    if channel.has(CLIENT_WAITS) {
        channel.clear(CLIENT_WAITS);
        worker.wake(channel.client_process());
    }
    channel::notify_watching_client(worker, channel);
    channel::release(worker);
}
