//! The sockets of an endpoint.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::AddressFamily;

use crate::source::Interest;

/// Datagrams or connections taken from one of the two sockets of `localhost` before the other is
/// read.
const STRETCH: usize = 32;

/// The kind of an endpoint.
pub(super) enum Socket {
    /// A port for datagrams, and those that wait until their name is known.
    Datagram {
        fd: OwnedFd,
        twin: Twin,
        name: String,
        family: AddressFamily,
        waiting: VecDeque<Waiting>,
    },
    /// Takes connections.
    Listener { fd: OwnedFd, twin: Twin, name: String },
    /// Takes connections from processes of this host.
    LocalListener { fd: OwnedFd },
    /// A connection.
    Stream { fd: OwnedFd },
    /// A connection that will be made once its name is resolved; with its watch, if it has one.
    Unresolved { name: String, watch: Option<(u64, Interest)> },
}

/// The descriptors opened for an endpoint.
pub(super) struct Opened {
    pub(super) fd: OwnedFd,
    pub(super) twin: Twin,
    /// With the actual port.
    pub(super) name: String,
    pub(super) family: AddressFamily,
}

/// The second socket of an endpoint on `localhost`, on ::1, if the host has IPv6.
///
/// The socket that had something is read first the next time, but at most [`STRETCH`] times:
/// neither can starve the other.
#[derive(Default)]
pub(super) struct Twin {
    pub(super) fd: Option<OwnedFd>,
    /// It is read first.
    leads: bool,
    /// How many were taken in succession from the socket that is read first.
    stretch: usize,
}

impl Twin {
    pub(super) fn new(fd: Option<OwnedFd>) -> Twin {
        Twin { fd, ..Twin::default() }
    }

    /// Calls `socket` on each until one returns something.
    pub(super) fn first_ready<T>(
        &mut self,
        fd: &OwnedFd,
        mut socket: impl FnMut(&OwnedFd) -> io::Result<Option<T>>,
    ) -> io::Result<Option<T>> {
        let mut found = None;
        self.take(fd, 1, |fd, _| {
            found = socket(fd)?;
            Ok(usize::from(found.is_some()))
        })?;
        Ok(found)
    }

    /// Calls `socket` on each, to take at most `most`, until one has taken something; returns the
    /// number taken.
    pub(super) fn take(
        &mut self,
        fd: &OwnedFd,
        most: usize,
        mut socket: impl FnMut(&OwnedFd, usize) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let Some(twin) = &self.fd else { return socket(fd, most) };
        let (first, second) = if self.leads { (twin, fd) } else { (fd, twin) };
        let mut count = socket(first, most.min(STRETCH - self.stretch))?;
        let is_over = if count > 0 {
            self.stretch += count;
            self.stretch >= STRETCH
        } else {
            count = socket(second, most)?;
            count > 0
        };
        if is_over {
            self.leads = !self.leads;
            self.stretch = 0;
        }
        Ok(count)
    }
}

/// A datagram to a name that is being looked up.
pub(super) struct Waiting {
    pub(super) to: String,
    pub(super) bytes: Box<[u8]>,
}

impl Socket {
    pub(super) fn twin(&self) -> Option<&OwnedFd> {
        match self {
            Socket::Datagram { twin, .. } | Socket::Listener { twin, .. } => twin.fd.as_ref(),
            _ => None,
        }
    }

    pub(super) fn fd(&self) -> Option<&OwnedFd> {
        match self {
            Socket::Datagram { fd, .. }
            | Socket::Listener { fd, .. }
            | Socket::LocalListener { fd }
            | Socket::Stream { fd } => Some(fd),
            Socket::Unresolved { .. } => None,
        }
    }
}
