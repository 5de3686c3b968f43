//! Sessions by process, component and interface.

use hashbrown::HashTable;
use tidemill_stdx::hash::{combine, hash_u64};

use crate::handle::{ProcessRef, SessionRef, SlotRef};

/// Process, component and port.
pub(crate) type Key = (usize, u64, u64);

/// Sessions of the processes that have many, by process, component and port. The table holds
/// addresses only and reads keys from the sessions, as there may be as many sessions as components.
#[derive(Default)]
pub(crate) struct SessionMap(HashTable<SessionRef>);

#[inline]
pub(crate) fn hash(key: Key) -> u64 {
    combine(combine(hash_u64(key.0 as u64), key.1), key.2)
}

#[inline]
pub(crate) fn key(process: ProcessRef, session: SlotRef) -> Key {
    (process.0.addr(), session.target(), session.port())
}

#[inline]
pub(crate) fn key_of(session: SessionRef) -> Key {
    key(session.process(), session.slot())
}

impl SessionMap {
    /// Enters a session of a process that has many.
    pub(crate) fn insert(&mut self, session: SessionRef) {
        self.0.insert_unique(hash(key_of(session)), session, |&other| hash(key_of(other)));
    }

    pub(crate) fn find(&self, key: Key) -> Option<SessionRef> {
        self.0.find(hash(key), |&session| key_of(session) == key).copied()
    }

    pub(crate) fn remove(&mut self, session: SessionRef) {
        if let Ok(entry) = self.0.find_entry(hash(key_of(session)), |&other| other == session) {
            entry.remove();
        }
    }
}
