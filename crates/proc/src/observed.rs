//! What processes have done, for programs that ask for it: their code leaves messages to the
//! run-time, which notes them here. Other programs have none of it.
//!
//! The notes are kept by the address of the process; they begin when it is made and end when its
//! memory is given back. All workers of a program share them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidemill_stdx::hash::Map;

use crate::handle::ProcessRef;

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
pub(crate) struct Notes {
    /// The wall time of what follows.
    pub(crate) wall_ns: i64,
    activities: Map<usize, Activity>,
}

impl Observed {
    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        // Each change is complete in itself.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    pub(crate) fn of(&mut self, process: ProcessRef) -> &mut Activity {
        self.activities.entry(key(process)).or_default()
    }

    /// A process has been made, or got into another state.
    pub(crate) fn change_state(&mut self, process: ProcessRef) {
        let wall_ns = self.wall_ns;
        self.of(process).since_ns = wall_ns;
    }

    /// The memory of a process is given back.
    pub(crate) fn forget(&mut self, process: ProcessRef) {
        self.activities.remove(&key(process));
    }

    /// What is known about a process.
    pub(crate) fn get(&self, process: ProcessRef) -> Option<Activity> {
        self.activities.get(&key(process)).copied()
    }
}

fn key(process: ProcessRef) -> usize {
    process.0.addr()
}
