//! Doorbells: eventfds that one side rings and the other waits at.
//!
//! The number in an eventfd is how often it was rung; it means no more than "look".
//!
//! Both sides hold the same open file, so its mode and its count are never trusted: ringing goes
//! through the kernel's own signal (`crate::aio`), which cannot block and takes eventfds only,
//! and each read passes a flag not to wait.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::{Error, aio};

/// One eventfd, shared with the other side.
#[derive(Debug)]
pub struct Doorbell(OwnedFd);

impl Doorbell {
    /// A new one that has not been rung.
    ///
    /// # Errors
    /// There are too many descriptors, or the kernel has no way to ring that cannot block.
    pub fn new() -> Result<Doorbell, Error> {
        aio::available()?;
        Ok(Doorbell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Whether a descriptor from the other side can be rung. It is rung by that.
    ///
    /// # Errors
    /// It is no eventfd.
    pub(crate) fn check_to_ring(fd: BorrowedFd<'_>) -> Result<(), Error> {
        aio::signal(fd)
    }

    /// Whether a descriptor from the other side can be waited at. Rings so far are taken back.
    ///
    /// # Errors
    /// It is no eventfd, or one that goes down by one with each read: that would ring on by itself
    /// after a single write of a large number.
    pub(crate) fn check_to_wait_at(fd: BorrowedFd<'_>) -> Result<(), Error> {
        aio::signal(fd)?;
        aio::signal(fd)?;
        match take(fd) {
            Ok(2..) => Ok(()),
            Ok(_) => Err(Error::BadOffer("a doorbell is an eventfd that a read empties")),
            Err(error) => Err(error.into()),
        }
    }

    /// A descriptor from the other side that was checked.
    pub(crate) fn from_checked(fd: OwnedFd) -> Doorbell {
        Doorbell(fd)
    }

    /// Another handle to the same.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn share(&self) -> Result<Doorbell, Error> {
        Ok(Doorbell(self.0.try_clone()?))
    }

    /// Rings. A full bell stays full, and so has rung.
    ///
    /// # Errors
    /// The error of the system.
    pub fn ring(&self) -> Result<(), Error> {
        aio::signal(self.0.as_fd())
    }

    /// Takes back all rings so far.
    pub fn drain(&self) {
        // No ring since the last drain is fine.
        let _ = take(self.0.as_fd());
    }

    /// Waits until it is rung, at most this long, and drains it. For threads of their own: nothing
    /// on a loop calls this.
    pub fn wait(&self, at_most: Duration) {
        let span = Timespec {
            tv_sec: at_most.as_secs() as i64,
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        let mut bells = [PollFd::new(&self.0, PollFlags::IN)];
        if poll(&mut bells, Some(&span)).is_ok_and(|ready| ready > 0) {
            self.drain();
        }
    }

    /// The descriptor, to be watched.
    pub fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reads the count, which becomes 0, without waiting for one.
fn take(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    let mut count = [0u8; 8];
    let mut parts = [std::io::IoSliceMut::new(&mut count)];
    preadv2(fd, &mut parts, u64::MAX, ReadWriteFlags::NOWAIT)?;
    Ok(u64::from_ne_bytes(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn waiting_ends_with_a_ring_and_takes_it_back() {
        let bell = Doorbell::new().expect("a bell");
        bell.ring().expect("it is ours");
        let (start, long, short) =
            (Instant::now(), Duration::from_secs(30), Duration::from_millis(30));
        bell.wait(long);
        assert!(start.elapsed() < long);
        // The ring is taken: the next wait lasts as long as it may.
        let start = Instant::now();
        bell.wait(short);
        assert!(start.elapsed() >= short);
        // A bell that has not been rung has no count to take.
        bell.ring().expect("it is ours");
        assert_eq!(take(bell.fd()).expect("rung"), 1);
    }
}
