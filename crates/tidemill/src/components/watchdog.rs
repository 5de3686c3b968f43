//! Ends a run whose processes cannot be preempted: without checkpoints a process runs until it
//! waits, and the loop does not see a request to end.
//!
//! **This is a thread**, as the loop is blocked: it waits for the request to end, grants the run a
//! moment to end in order, and then calls its embedder, which ends the process.

use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The time that a run has to end in order.
const GRACE: Duration = Duration::from_millis(60);

/// Watches until it is dropped.
pub(crate) struct Watchdog {
    done: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Watches a run that has to end when `stop` is readable, or after `end_ns` nanoseconds.
    pub(crate) fn start(
        stop: Option<&OwnedFd>,
        end_ns: Option<u64>,
        overdue: fn(),
    ) -> io::Result<Watchdog> {
        let stop = stop.map(OwnedFd::try_clone).transpose()?;
        let (over, done) = io::pipe()?;
        let end = end_ns.and_then(|ns| Instant::now().checked_add(Duration::from_nanos(ns)));
        let builder = std::thread::Builder::new().name("watchdog".to_owned());
        let thread = builder.spawn(move || {
            if shall_end(stop.as_ref(), &over, end) && !can_be_read(&over, Some(GRACE)) {
                overdue();
            }
        })?;
        Ok(Watchdog { done: Some(done), thread: Some(thread) })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // Closing the pipe makes its other end readable.
        self.done = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

/// Waits for the request to end, then returns true; false if the run is over.
fn shall_end(stop: Option<&OwnedFd>, over: &impl AsFd, end: Option<Instant>) -> bool {
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let is_late = left.is_some_and(|left| left.is_zero());
        let mut all = vec![PollFd::new(over, PollFlags::IN)];
        all.extend(stop.map(|stop| PollFd::new(stop, PollFlags::IN)));
        let found = poll(&mut all, left.and_then(timeout).as_ref());
        if found.is_ok() && !all[0].revents().is_empty() {
            return false;
        }
        if is_late || found.is_ok() && all.get(1).is_some_and(|stop| !stop.revents().is_empty()) {
            return true;
        }
    }
}

fn can_be_read(what: &impl AsFd, within: Option<Duration>) -> bool {
    let mut all = [PollFd::new(what, PollFlags::IN)];
    poll(&mut all, within.and_then(timeout).as_ref()).is_ok_and(|count| count > 0)
}

fn timeout(left: Duration) -> Option<Timespec> {
    Timespec::try_from(left).ok()
}
