//! Notes what processes do, if the program asks for it; else costs a comparison.

use crate::handle::{ChannelRef, ProcessRef};
use crate::machine::{Context, Worker};
use crate::observed::Activity;
use crate::process::ProcessState;

impl Worker {
    /// Whether it is noted what processes do.
    #[inline]
    pub fn is_observed(&self) -> bool {
        self.machine.observed.is_some()
    }

    /// The wall time of what follows.
    pub(crate) fn note_time(&mut self, wall_ns: i64) {
        if let Some(observed) = &self.machine.observed {
            observed.notes().wall_ns = wall_ns;
        }
    }

    /// A process has been made, or got into another state.
    #[inline]
    pub(crate) fn note_state(&mut self, process: ProcessRef) {
        if let Some(observed) = &self.machine.observed {
            observed.notes().change_state(process);
        }
    }

    /// The memory of a process is given back.
    #[inline]
    pub(crate) fn note_freed(&mut self, process: ProcessRef) {
        if let Some(observed) = &self.machine.observed {
            observed.notes().forget(process);
        }
    }

    /// A message has been put into a channel.
    #[inline]
    pub(crate) fn note_put(&mut self, channel: ChannelRef) {
        if let Some(observed) = &self.machine.observed {
            observed.notes().of(channel.server()).channel_messages += 1;
        }
    }

    /// A process has sent or received a message.
    #[inline]
    pub(crate) fn note_message(&mut self, process: ProcessRef) {
        if let Some(observed) = &self.machine.observed {
            observed.notes().of(process).messages += 1;
        }
    }

    /// What is known about a process, if that is noted.
    pub(crate) fn activity(&self, process: ProcessRef) -> Option<Activity> {
        self.machine.observed.as_ref()?.notes().get(process)
    }
}

impl Context<'_> {
    /// Notes what the process waits for and where it is.
    pub(crate) fn block(&mut self, state: ProcessState) -> u32 {
        self.worker.note_state(self.process);
        self.process.block(state, self.frame)
    }
}
