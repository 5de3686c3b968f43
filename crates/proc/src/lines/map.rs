//! Lines by process, component and interface.

use hashbrown::HashTable;
use tidemill_stdx::hash::{combine, hash_u64};

use crate::handle::{LineRef, ProcessRef, SlotRef};

/// Process, component and port.
pub(crate) type Key = (usize, u64, u64);

/// Lines of the processes that have many, by process, component and port. The table holds addresses
/// only and reads keys from the lines, as there may be as many lines as components.
#[derive(Default)]
pub(crate) struct LineMap(HashTable<LineRef>);

#[inline]
pub(crate) fn hash(key: Key) -> u64 {
    combine(combine(hash_u64(key.0 as u64), key.1), key.2)
}

#[inline]
pub(crate) fn key(process: ProcessRef, line: SlotRef) -> Key {
    (process.0.addr(), line.target(), line.port())
}

#[inline]
pub(crate) fn key_of(line: LineRef) -> Key {
    key(line.process(), line.slot())
}

impl LineMap {
    /// Enters a line of a process that has many.
    pub(crate) fn insert(&mut self, line: LineRef) {
        self.0.insert_unique(hash(key_of(line)), line, |&other| hash(key_of(other)));
    }

    pub(crate) fn find(&self, key: Key) -> Option<LineRef> {
        self.0.find(hash(key), |&line| key_of(line) == key).copied()
    }

    pub(crate) fn remove(&mut self, line: LineRef) {
        if let Ok(entry) = self.0.find_entry(hash(key_of(line)), |&other| other == line) {
            entry.remove();
        }
    }
}
