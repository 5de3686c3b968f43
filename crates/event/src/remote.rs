//! Posting closures into a loop from other threads.
//!
//! The only place where a loop meets another thread, so the only lock: a bounded queue, taken
//! for the length of a push or a swap. `pending` saves the loop the lock when nothing was posted,
//! and the poster the system call when a wake-up is pending already.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::Loop;
use crate::event_loop::Posted;
use crate::inbox::{Inbox, Posts};
use crate::owner::Owner;
use crate::queue::Full;

/// A handle on a loop for other threads. While there is one, the loop does not end as idle.
pub struct Remote<W> {
    shared: Arc<Posts<Posted<W>>>,
}

impl<W> Remote<W> {
    /// Queues an event on the loop and wakes it.
    pub fn event(
        &self,
        owner: Owner,
        f: impl FnOnce(&mut W, &mut Loop<W>) + Send + 'static,
    ) -> Result<(), Full> {
        let mut posts = self.shared.lock();
        if posts.len() >= self.shared.limit {
            drop(posts);
            // Relaxed: a counter, read for display.
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return Err(Full);
        }
        posts.push_back((owner, Box::new(f)));
        drop(posts);
        // Release, with the acquire in `take_remote`: a loop that sees the flag sees the post.
        if !self.shared.pending.swap(true, Ordering::AcqRel) {
            self.shared.waker.wake();
        }
        Ok(())
    }
}

impl<W> Clone for Remote<W> {
    fn clone(&self) -> Remote<W> {
        // Relaxed: `self` is a handle, so the count cannot reach zero meanwhile.
        self.shared.handles.fetch_add(1, Ordering::Relaxed);
        Remote { shared: self.shared.clone() }
    }
}

impl<W> Drop for Remote<W> {
    fn drop(&mut self) {
        // Release, with the acquire in `has_remotes`: the last post is seen before the count.
        if self.shared.handles.fetch_sub(1, Ordering::Release) == 1 {
            // A loop that has nothing else to wait for may end now.
            self.shared.waker.wake();
        }
    }
}

impl<W: 'static> Loop<W> {
    /// A handle for other threads.
    ///
    /// # Errors
    /// `Unsupported` on a simulation: another thread's timing would make runs differ.
    pub fn remote(&mut self) -> io::Result<Remote<W>> {
        if let Some(inbox) = &self.inbox {
            // Relaxed: it is on this thread that the loop ends by the count, in `has_remotes`.
            inbox.shared.handles.fetch_add(1, Ordering::Relaxed);
            return Ok(Remote { shared: inbox.shared.clone() });
        }
        let shared = Arc::new(Posts {
            posts: Mutex::new(VecDeque::new()),
            pending: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            handles: AtomicUsize::new(1),
            limit: self.limits.remote,
            waker: self.host.waker()?,
        });
        self.inbox = Some(Inbox { shared: shared.clone(), taken: VecDeque::new() });
        Ok(Remote { shared })
    }

    /// Whether another thread may still post.
    pub(crate) fn has_remotes(&self) -> bool {
        let Some(inbox) = &self.inbox else { return false };
        // Acquire, with the release in `Remote::drop`; then a last look at what was posted.
        inbox.shared.handles.load(Ordering::Acquire) > 0
            || inbox.shared.pending.load(Ordering::Acquire)
    }

    /// Queues as events what other threads have posted.
    pub(crate) fn take_remote(&mut self) {
        let Some(mut inbox) = self.inbox.take() else { return };
        // Acquire, with the release in `Remote::event`. Cleared before the queue is taken: a post
        // that comes in between is taken now and wakes once too often, never too seldom.
        if inbox.shared.pending.swap(false, Ordering::AcqRel) {
            mem::swap(&mut inbox.taken, &mut *inbox.shared.lock());
            self.stats.dropped_remote = inbox.shared.dropped.load(Ordering::Relaxed);
            for (owner, post) in inbox.taken.drain(..) {
                self.stats.remote += 1;
                // A full queue counts the drop.
                let _ = self.event(owner, post);
            }
        }
        self.inbox = Some(inbox);
    }
}
