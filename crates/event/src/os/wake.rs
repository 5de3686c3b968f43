//! Ending a wait from another thread: an eventfd in the set of watched descriptors.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

use crate::host::Waker;

pub(super) struct EventFd {
    fd: OwnedFd,
}

impl EventFd {
    pub(super) fn new() -> io::Result<EventFd> {
        Ok(EventFd { fd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
    }

    /// Clears the signals so far, if any.
    pub(super) fn clear(&self) {
        let _ = rustix::io::read(&self.fd, &mut [0; 8]);
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Waker for EventFd {
    fn wake(&self) {
        // It fails only when 2^64 - 2 wakes are outstanding, and then the loop wakes anyway.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }
}
