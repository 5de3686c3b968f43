//! The inbox of a loop: closures of type `P` posted by other threads, with their owners.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::host::Waker;
use crate::owner::Owner;

/// The state that a loop shares with its remotes.
pub(crate) struct Posts<P> {
    pub(crate) posts: Mutex<VecDeque<(Owner, P)>>,
    /// Something was posted that the loop has not taken over.
    pub(crate) pending: AtomicBool,
    pub(crate) dropped: AtomicU64,
    pub(crate) handles: AtomicUsize,
    pub(crate) limit: usize,
    pub(crate) waker: Arc<dyn Waker>,
}

impl<P> Posts<P> {
    /// A poster that panicked has left the queue whole: pushing is its last step.
    pub(crate) fn lock(&self) -> MutexGuard<'_, VecDeque<(Owner, P)>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The loop's end of its remotes.
pub(crate) struct Inbox<P> {
    pub(crate) shared: Arc<Posts<P>>,
    /// Swapped with the posts: both keep their capacity.
    pub(crate) taken: VecDeque<(Owner, P)>,
}
