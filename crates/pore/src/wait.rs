//! Waiting for the other side of a memfd pore, for threads of their own: nothing on a loop does so.

use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll as poll_descriptors};
use rustix::io::Errno;

use crate::adaptive_poll::{AdaptivePoll, pause};
use crate::memfd::Memfd;
use crate::{Error, Pore, Wants};

/// Polls between two readings of the clock.
const LOOKS: u32 = 16;
const SOMETHING: Wants = Wants { readable: 1, writable: 0 };

/// Polls for something as long as that pays.
///
/// # Errors
/// It has not arrived since this time: it is time to sleep.
pub(crate) fn poll(
    policy: &mut AdaptivePoll,
    mut look: impl FnMut() -> bool,
) -> Result<(), Instant> {
    if policy.span().is_zero() {
        return Err(Instant::now());
    }
    // Most answers arrive before the first reading of the clock.
    let mut start = None;
    let mut looks = 0;
    loop {
        for _ in 0..LOOKS {
            if look() {
                policy.succeeded();
                return Ok(());
            }
            pause(looks);
            looks += 1;
        }
        let now = Instant::now();
        let start = *start.get_or_insert(now);
        if now - start >= policy.span() {
            return Err(start);
        }
        if policy.should_yield(now - start) {
            std::thread::yield_now();
            policy.yielded(now.elapsed());
        }
    }
}

impl Memfd {
    /// Waits until there is something to read: polls as long as that pays, then sleeps.
    ///
    /// # Errors
    /// The other side has gone and left nothing, or has broken the pore.
    pub fn wait(&mut self, policy: &mut AdaptivePoll) -> Result<(), Error> {
        if !policy.span().is_zero() {
            self.begin_polling();
        }
        let mut is_there = Ok(false);
        let look = || {
            is_there = self.meets(SOMETHING);
            // An error is something, too.
            !matches!(is_there, Ok(false))
        };
        let Err(since) = poll(policy, look) else { return is_there.map(drop) };
        self.end_polling();
        // What arrived before that was not signalled.
        while !self.meets(SOMETHING)? {
            match self.sleep() {
                // There may be something that was left.
                Ok(()) | Err(Error::PeerGone) => {}
                Err(error) => return Err(error),
            }
        }
        policy.slept(since.elapsed());
        Ok(())
    }

    /// Sleeps until the other side rings or goes. There is no time limit, and so no timer that
    /// would have to be set for each sleep.
    ///
    /// # Errors
    /// It has gone.
    pub fn sleep(&mut self) -> Result<(), Error> {
        let bell = self.bell().fd();
        let lifelines = self.lifelines();
        let watched = std::iter::once(bell).chain(lifelines);
        let mut watched: Vec<PollFd<'_>> =
            watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll_descriptors(&mut watched, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_news = |one: &PollFd<'_>| !one.revents().is_empty();
        let (has_rung, may_be_gone) = (has_news(&watched[0]), watched[1..].iter().any(has_news));
        if has_rung {
            self.drain_doorbell();
        }
        if may_be_gone { self.look_at_peer() } else { Ok(()) }
    }
}
