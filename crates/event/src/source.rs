//! The sources that a host can watch, and its reports of readiness.

use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;

use crate::slab::Key;

/// A port, listener or stream that the host holds: watched like a descriptor.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint(pub(crate) Key);

/// The sender of a datagram; small, and answers to it need no look-up of a name.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Address {
    /// An IPv4 or IPv6 address and port.
    Inet(SocketAddr),
    /// A node of a simulation, numbered in the order its name was first used.
    Sim(u32),
    /// A process of this host at the other end of a local stream, as the kernel vouches for it.
    Local(Peer),
}

/// The process that opened the other end of a local stream.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Peer {
    /// The user that it ran as then.
    pub uid: u32,
    /// The process; 0 if it cannot be named here.
    pub pid: u32,
}

/// A source to watch: a descriptor the caller owns, or an endpoint of the host.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A descriptor. Its owner unwatches it before closing it.
    Fd(RawFd),
    /// An endpoint.
    Endpoint(Endpoint),
}

impl From<RawFd> for Source {
    fn from(fd: RawFd) -> Source {
        Source::Fd(fd)
    }
}

impl From<Endpoint> for Source {
    fn from(endpoint: Endpoint) -> Source {
        Source::Endpoint(endpoint)
    }
}

/// The readiness to report. Errors are always reported.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Interest {
    /// Errors only: a watch that rests.
    None,
    /// Something can be read, or accepted, or the other side is finished.
    Read,
    /// Something can be written, or a connection is made.
    Write,
    /// Both.
    ReadWrite,
}

impl Interest {
    /// Whether readable is part of it.
    pub fn reads(self) -> bool {
        matches!(self, Interest::Read | Interest::ReadWrite)
    }

    /// Whether writable is part of it.
    pub fn writes(self) -> bool {
        matches!(self, Interest::Write | Interest::ReadWrite)
    }
}

/// One source that has something to report.
#[derive(Debug)]
pub struct Ready {
    /// The token it was registered with.
    pub token: u64,
    /// It can be read.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
    /// The error, if it failed.
    pub error: Option<SourceError>,
}

/// A source that failed.
#[derive(Debug)]
pub enum SourceError {
    /// An error that reading it has cleared; the source lives on.
    Transient(io::Error),
    /// An error that stays: the descriptor is closed, or its other side is. The host has
    /// deregistered it, for it would be reported again and again.
    Lasting(io::Error),
}

/// The error for what a host does not offer.
pub(crate) fn unsupported(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// The error for an endpoint that is closed, or of the wrong kind.
pub(crate) fn no_such_endpoint() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "no such endpoint")
}
