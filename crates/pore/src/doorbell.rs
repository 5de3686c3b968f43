//! Doorbells: eventfds that one side rings and the other waits at.
//!
//! The number in an eventfd says how often it was rung; nobody reads more into it than "look".

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, ReadWriteFlags, preadv2, read, write};

use crate::Error;

/// One eventfd, shared with the other side.
#[derive(Debug)]
pub struct Doorbell(OwnedFd);

impl Doorbell {
    /// A new one that nobody has rung.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn new() -> Result<Doorbell, Error> {
        Ok(Doorbell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// One that came from the other side.
    pub(crate) fn from_fd(fd: OwnedFd) -> Doorbell {
        Doorbell(fd)
    }

    /// Another handle to the same.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn share(&self) -> Result<Doorbell, Error> {
        Ok(Doorbell(self.0.try_clone()?))
    }

    /// Rings. One that nobody answers can only be full, and then it has rung.
    ///
    /// # Errors
    /// The descriptor that the other side gave is none that rings.
    pub fn ring(&self) -> Result<(), Error> {
        match write(&self.0, &1u64.to_ne_bytes()) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes back all rings so far. The other side shares the flags of the descriptor, so that
    /// its being non-blocking is said again with the call.
    pub fn hush(&self) {
        let mut count = [0u8; 8];
        let mut parts = [std::io::IoSliceMut::new(&mut count)];
        if preadv2(&self.0, &mut parts, u64::MAX, ReadWriteFlags::NOWAIT) == Err(Errno::OPNOTSUPP) {
            let _ = read(&self.0, &mut count);
        }
    }

    /// Waits until it is rung, at most so long, and takes the rings back. For threads of their
    /// own: nothing on a loop calls this.
    pub fn wait(&self, at_most: Duration) {
        let span = Timespec {
            tv_sec: at_most.as_secs() as i64,
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        let mut bells = [PollFd::new(&self.0, PollFlags::IN)];
        if poll(&mut bells, Some(&span)).is_ok_and(|ready| ready > 0) {
            self.hush();
        }
    }

    /// The descriptor, to be watched.
    pub fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub(crate) fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}
