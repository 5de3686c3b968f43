//! The seam to the outside: time, randomness, readiness, and the network.
//!
//! Everything a program learns from outside comes through one [`Host`]. There are two: [`Os`]
//! asks the kernel, [`Sim`] makes it all up from a seed. Nothing else in the house reads a
//! clock, draws a random number or opens a socket, and so the same program runs on both.
//!
//! [`Os`]: crate::Os
//! [`Sim`]: crate::Sim

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tidemill_stdx::keyed::Secret;

use crate::slab::Key;
use crate::{Sim, Time};

/// A port, listener or stream that the host holds: watched like a descriptor.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint(pub(crate) Key);

/// Where a datagram came from; small, and good for answering without looking up a name.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Address {
    /// An IPv4 or IPv6 address and port.
    Inet(SocketAddr),
    /// A node of a simulation, numbered in the order its name was first used.
    Sim(u32),
    /// A process of this host at the other end of a local stream, as the kernel vouches for it.
    Local(Peer),
}

/// Who opened the other end of a local stream.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Peer {
    /// The user that it ran as then.
    pub uid: u32,
    /// The process; 0 if it cannot be named here.
    pub pid: u32,
}

/// What can be watched: a descriptor the caller owns, or an endpoint of the host.
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

/// What to be told of. Errors are always told.
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

/// One source that has something to say.
#[derive(Debug)]
pub struct Ready {
    /// The token it was registered with.
    pub token: u64,
    /// It can be read.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
    /// It failed.
    pub trouble: Option<Trouble>,
}

/// A source that failed.
#[derive(Debug)]
pub enum Trouble {
    /// An error that reading it has cleared; the source lives on.
    Passing(io::Error),
    /// An error that stays: the descriptor is closed, or its other side is. The host has
    /// deregistered it, for it would be reported again and again.
    Lasting(io::Error),
}

/// How long [`Host::wait`] may wait.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Not at all.
    Poll,
    /// Until this deadline.
    Until(Time),
    /// Until something happens.
    Forever,
}

/// Why [`Host::wait`] came back.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Something is ready, or the deadline has come, or a [`Waker`] called.
    Ready,
    /// A signal handler ran.
    Interrupted,
}

/// How long a turn may run before others get theirs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Slice {
    /// Measured by the clock.
    Span(Duration),
    /// Measured in closures and checkpoints, so that runs repeat.
    Steps(u64),
}

/// What a host has done so far.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct HostStats {
    /// System calls made; clocks are read without.
    pub syscalls: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Bytes in them.
    pub sent_bytes: u64,
    /// Datagrams received.
    pub received: u64,
    /// Bytes in them.
    pub received_bytes: u64,
    /// Datagrams dropped because the kernel's or the host's queue was full.
    pub dropped_full: u64,
    /// Datagrams that the kernel dropped before they were taken, as what it keeps for a port was
    /// full.
    pub dropped_kernel: u64,
    /// Datagrams the kernel refused for another reason.
    pub send_errors: u64,
    /// Datagrams dropped because their name has no address.
    pub dropped_unresolved: u64,
    /// Datagrams dropped on receipt because they were longer than the buffer.
    pub dropped_truncated: u64,
    /// Look-ups of names handed to the resolver.
    pub lookups: u64,
    /// Descriptors found closed while still watched.
    pub bad_descriptors: u64,
}

/// Wakes a host that waits, from another thread.
pub trait Waker: Send + Sync {
    /// Ends the current wait, or the next one at once.
    fn wake(&self);
}

/// Where time, randomness and readiness come from.
pub trait Host: Transport + Streams {
    /// Monotonic time; no system call.
    fn now(&mut self) -> Time;

    /// Nanoseconds since the Unix epoch; no system call. A simulation starts at 0.
    fn wall_ns(&mut self) -> i64;

    /// The next random number of the program's stream.
    fn random(&mut self) -> u64;

    /// Fills `bytes` with random bytes that keys can be made of; nobody can guess them. A
    /// simulation has a stream of its own for them, which follows from its seed and leaves
    /// [`Host::random`] as it is.
    ///
    /// # Errors
    /// What the system reports; `bytes` must not be used then.
    fn fill_entropy(&mut self, bytes: &mut [u8]) -> io::Result<()>;

    /// What tables hash keys with that strangers choose: one for all that runs here, which nobody
    /// can guess. A simulation has a fixed one. Nothing whose order shows may follow it.
    ///
    /// # Errors
    /// What the system reports.
    fn hash_secret(&mut self) -> io::Result<Secret>;

    /// The slice of a turn here.
    fn slice(&self) -> Slice;

    /// Told before each wait how many steps were run since the last: a simulation lets its clock
    /// move after very many, so that a program that is never idle still sees its timers fire.
    fn spent(&mut self, steps: u64) {
        let _ = steps;
    }

    /// Starts to report `source` under `token`.
    fn register(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()>;

    /// Changes what is reported. Fails if `source` is not registered under `token`.
    fn modify(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()>;

    /// Ends the reports; never fails, for there is nothing left to do about it.
    fn deregister(&mut self, source: Source, token: u64);

    /// Waits for readiness and appends at most a few hundred reports to `ready`, the others
    /// come first next time. An error means that waiting itself is broken.
    fn wait(&mut self, wait: Wait, ready: &mut Vec<Ready>) -> io::Result<Wake>;

    /// Whether nothing is registered or under way, so that waiting without a deadline would
    /// last for ever. Wakers do not count.
    fn is_idle(&self) -> bool;

    /// A handle that wakes this host from another thread.
    ///
    /// # Errors
    /// `Unsupported` where other threads would make runs differ.
    fn waker(&mut self) -> io::Result<Arc<dyn Waker>>;

    /// What the host has done.
    fn stats(&self) -> HostStats;

    /// The simulation, to change its network and read its counters; nothing elsewhere.
    fn sim(&mut self) -> Option<&mut Sim> {
        None
    }
}

/// Datagrams between named nodes.
///
/// A node *is* the text `host:port`; the text is resolved for sending and nothing else. In a
/// simulation any text names a node.
pub trait Transport {
    /// Opens a port for datagrams. Port 0 lets the system choose: see [`Transport::local_addr`].
    fn bind(&mut self, addr: &str) -> io::Result<Endpoint>;

    /// The endpoint's own name: as it was bound, with the port it really has.
    fn local_addr(&self, endpoint: Endpoint) -> io::Result<String>;

    /// Sends one datagram, best effort. A name that must be looked up first does not block:
    /// the datagram waits in a bounded queue for the answer.
    ///
    /// # Errors
    /// `WouldBlock` when the queues are full (the datagram is dropped and counted),
    /// `InvalidInput` for what is no `host:port`, and what the system reports.
    fn send(&mut self, endpoint: Endpoint, to: &str, bytes: &[u8]) -> io::Result<()>;

    /// As [`Transport::send`], to where a datagram came from.
    fn send_to(&mut self, endpoint: Endpoint, to: Address, bytes: &[u8]) -> io::Result<()>;

    /// Takes one datagram: its length and sender, or nothing if none is there. One that does not
    /// fit the buffer is dropped and counted.
    fn recv(&mut self, endpoint: Endpoint, buf: &mut [u8]) -> io::Result<Option<(usize, Address)>>;

    /// The name of an address: the one it was sent to or bound under, else the literal.
    fn name_of(&self, address: Address) -> Cow<'_, str>;

    /// Closes an endpoint of any kind, after it was unwatched.
    fn close(&mut self, endpoint: Endpoint);
}

/// Byte streams: TCP, and local ones to processes of this host. Nothing here waits: `None` means
/// "not now", and readiness tells when.
pub trait Streams {
    /// Opens a listener; it is readable when a connection waits.
    fn listen(&mut self, addr: &str) -> io::Result<Endpoint>;

    /// Takes one waiting connection.
    fn accept(&mut self, listener: Endpoint) -> io::Result<Option<(Endpoint, Address)>>;

    /// Starts to connect; the endpoint becomes writable when connected and fails when not.
    fn connect(&mut self, to: &str) -> io::Result<Endpoint>;

    /// Opens a listener for local streams: a socket in the file system that only its owner may
    /// connect to (mode 0600). What has the path already is not replaced; the path stays when the
    /// listener is closed.
    ///
    /// # Errors
    /// `Unsupported` where there is no file system, else what the system reports.
    fn listen_local(&mut self, path: &Path) -> io::Result<Endpoint> {
        let _ = path;
        Err(unsupported("local streams are not simulated"))
    }

    /// Connects to a local listener, and says who opened it.
    ///
    /// # Errors
    /// As [`Streams::listen_local`]; `WouldBlock` if too many wait to be accepted there.
    fn connect_local(&mut self, path: &Path) -> io::Result<(Endpoint, Peer)> {
        let _ = path;
        Err(unsupported("local streams are not simulated"))
    }

    /// Reads what is there; 0 at the end of the stream.
    fn read(&mut self, stream: Endpoint, buf: &mut [u8]) -> io::Result<Option<usize>>;

    /// Writes as much as fits.
    fn write(&mut self, stream: Endpoint, bytes: &[u8]) -> io::Result<Option<usize>>;
}

/// The error for what a host does not offer.
pub(crate) fn unsupported(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// The error for an endpoint that is closed, or of the wrong kind.
pub(crate) fn no_such_endpoint() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "no such endpoint")
}
