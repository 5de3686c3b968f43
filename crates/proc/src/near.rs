//! Prefetching memory.
//!
//! A system component that answers many waiting components knows them before the first of them
//! runs. Their blocks are prefetched together, so the cache misses overlap.

use tidemill_stdx::cache;

use crate::communication::Communication;
use crate::layout::{PROCESS_SYSTEM, Process};
use crate::machine::Worker;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Lines of a process of its own, about: header and frame.
const PROCESS_LINES: usize = 3;

/// Lines of a component, about: header, slots, some variables.
const COMPONENT_LINES: usize = 4;

/// Prefetches cache lines; a hint.
#[inline(always)]
pub(crate) fn prefetch<T>(block: *const T, lines: usize) {
    for line in 0..lines {
        cache::prefetch(block.cast::<u8>().wrapping_add(line * LINE));
    }
}

impl Worker {
    /// Prefetches the memory of a communication with a system component that is to be answered
    /// soon.
    #[inline]
    pub fn prefetch(&self, communication: Communication) {
        if let Some(server) = self.machine.systems.servers.at(communication) {
            prefetch(server.0.cast::<u8>().wrapping_add(PROCESS_SYSTEM as usize), 2);
        }
    }

    /// Prefetches the client of a communication that has been prefetched itself.
    #[inline]
    pub fn prefetch_client(&self, communication: Communication) {
        if let Some(server) = self.machine.systems.servers.get(communication) {
            let channel = server.channel();
            prefetch::<Process>(channel.client_process().0, PROCESS_LINES);
            prefetch(channel.client_component().0, COMPONENT_LINES);
        }
    }
}
