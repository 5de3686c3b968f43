//! What processes have done, for programs that ask for it: their code leaves messages to the
//! run-time, which notes them here. Other programs have none of it.
//!
//! The notes are kept by the address of the process; they begin when it is made and end when its
//! memory is given back. All workers of a program share them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidemill_stdx::hash::Map;

use crate::handle::{ChannelRef, ProcessRef};
use crate::machine::Worker;

/// What is known about a process beside its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Activity {
    /// When it got into its state, in ns since the epoch: the begin of that slice.
    pub since_ns: i64,
    /// Messages that it has sent and received.
    pub messages: u64,
    /// Of a server process: messages that have been put into its channel.
    pub channel_messages: u64,
}

/// The notes about all processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    wall_ns: i64,
    activities: Map<usize, Activity>,
}

impl Observed {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Each change is complete in itself.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn of(&mut self, process: ProcessRef) -> &mut Activity {
        self.activities.entry(key(process)).or_default()
    }

    fn change_state(&mut self, process: ProcessRef) {
        let wall_ns = self.wall_ns;
        self.of(process).since_ns = wall_ns;
    }
}

fn key(process: ProcessRef) -> usize {
    process.0.addr()
}

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
            observed.notes().activities.remove(&key(process));
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
        let notes = self.machine.observed.as_ref()?.notes();
        notes.activities.get(&key(process)).copied()
    }
}
