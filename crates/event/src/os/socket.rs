//! The sockets of an endpoint.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::AddressFamily;

use crate::source::Interest;

/// Datagrams or connections taken from one of the two sockets of `localhost` before the other is
/// read.
const STRETCH: u32 = 32;

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
    /// The number of successive reads in which the socket that is read first had something.
    stretch: u32,
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
        let Some(twin) = &self.fd else { return socket(fd) };
        let (first, second) = if self.leads { (twin, fd) } else { (fd, twin) };
        let (found, is_over) = match socket(first)? {
            Some(found) => {
                self.stretch += 1;
                (Some(found), self.stretch >= STRETCH)
            }
            None => {
                let found = socket(second)?;
                let is_over = found.is_some();
                (found, is_over)
            }
        };
        if is_over {
            self.leads = !self.leads;
            self.stretch = 0;
        }
        Ok(found)
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
