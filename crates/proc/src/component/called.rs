//! Connections among components that are terminating.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ComponentId;
use tidemill_stdx::hash::Map;

/// Shared by all loops.
#[derive(Default)]
pub(crate) struct SharedCallers {
    callers: Mutex<Callers>,
    /// Some are suspects or were done early. Changed under the lock, and read without it, as
    /// between two processes there is mostly nothing to do here.
    are_due: AtomicBool,
}

impl SharedCallers {
    /// Locks them.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Callers> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether some are due. Relaxed: who notes one looks itself later.
    #[inline]
    pub(crate) fn are_due(&self) -> bool {
        self.are_due.load(Ordering::Relaxed)
    }

    /// Some are due, or none are any more. The caller has them locked.
    pub(crate) fn set_due(&self, are_due: bool) {
        self.are_due.store(are_due, Ordering::Relaxed);
    }
}

/// The connections, and the components that are due.
#[derive(Default)]
pub(crate) struct Callers {
    /// Connections held by terminating components, counted by target. A target that is free to end
    /// is not counted any more.
    pub(crate) counts: Map<ComponentId, u32>,
    pub(crate) suspects: Vec<ComponentId>,
    /// Components that were done before all that end with them were terminated.
    pub(crate) early: Vec<ComponentId>,
}
