//! The seam to the outside: time, randomness, readiness, and the network.
//!
//! Everything a program learns from outside comes through one [`Host`]. There are two: [`Os`] calls
//! the kernel, [`Sim`] derives everything from a seed. Nothing else in the project reads a clock,
//! draws a random number or opens a socket, and so the same program runs on both.
//!
//! [`Os`]: crate::Os
//! [`Sim`]: crate::Sim

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tidemill_stdx::keyed::Secret;

use crate::datagrams::Datagrams;
use crate::source::{Address, Endpoint, Interest, Peer, Ready, Source, unsupported};
use crate::{Sim, Time};

/// The limit of [`Host::wait`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Not at all.
    Poll,
    /// Until this deadline.
    Until(Time),
    /// Until something happens.
    Forever,
}

/// Why [`Host::wait`] returned.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Something is ready, or the deadline has come, or a [`Waker`] called.
    Ready,
    /// A signal handler ran.
    Interrupted,
}

/// The time that a turn may run before others get theirs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Slice {
    /// Measured by the clock.
    Span(Duration),
    /// Measured in closures and checkpoints, so that runs repeat.
    Steps(u64),
}

/// The counters of a host.
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

/// The steps that a loop has run.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Spent {
    /// Steps, handlers included, since the last wait.
    pub steps: u64,
    /// The most steps of one scope, or of one owner without a scope, since the clock has advanced.
    pub of_one: u64,
}

/// Wakes a host that waits, from another thread.
pub trait Waker: Send + Sync {
    /// Ends the current wait, or the next one at once.
    fn wake(&self);
}

/// The source of time, randomness and readiness.
pub trait Host: Transport + Streams {
    /// Monotonic time; no system call.
    fn now(&mut self) -> Time;

    /// Nanoseconds since the Unix epoch; no system call. A simulation starts at 0.
    fn wall_ns(&mut self) -> i64;

    /// The next random number of the program's stream.
    fn random(&mut self) -> u64;

    /// Fills `bytes` with unpredictable random bytes, good enough for keys. A simulation has a
    /// stream of its own for them, which follows from its seed and leaves [`Host::random`] as it
    /// is.
    ///
    /// # Errors
    /// The error of the system; then `bytes` must not be used.
    fn fill_entropy(&mut self, bytes: &mut [u8]) -> io::Result<()>;

    /// The secret of hash tables whose keys strangers choose: one for the process, which cannot be
    /// guessed. A simulation has a fixed one. Nothing whose order shows may follow it.
    ///
    /// # Errors
    /// The error of the system.
    fn hash_secret(&mut self) -> io::Result<Secret>;

    /// The slice of a turn here.
    fn slice(&self) -> Slice;

    /// Takes, before each wait, the steps since the last one: a simulation advances its clock after
    /// very many, so that a program that is never idle still sees its timers fire.
    fn spent(&mut self, spent: Spent) {
        let _ = spent;
    }

    /// Starts to report `source` under `token`.
    fn register(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()>;

    /// Changes what is reported. Fails if `source` is not registered under `token`.
    fn modify(&mut self, source: Source, token: u64, interest: Interest) -> io::Result<()>;

    /// Ends the reports; never fails, as the caller could not handle it.
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

    /// The counters of the host.
    fn stats(&self) -> HostStats;

    /// The clock for measuring work, in nanoseconds: rules may read it. `None` where the time of
    /// [`Host::now`] stands still meanwhile, as in a simulation.
    fn stopwatch(&self) -> Option<fn() -> u64> {
        None
    }

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

    /// The endpoint's own name: as it was bound, with its actual port.
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

    /// Takes one datagram: its length and sender, or `None` if there is none. One that does not fit
    /// the buffer is dropped and counted.
    fn recv(&mut self, endpoint: Endpoint, buf: &mut [u8]) -> io::Result<Option<(usize, Address)>>;

    /// Takes the datagrams that are there, at most [`Datagrams::MOST`], as [`Transport::recv`]
    /// takes one; returns whether there may be more.
    ///
    /// # Errors
    /// Those of [`Transport::recv`], if it takes none.
    fn recv_all(&mut self, endpoint: Endpoint, to: &mut Datagrams) -> io::Result<bool> {
        let (mut taken, mut count) = ([None; Datagrams::MOST], 0);
        for (slot, datagram) in to.begin().zip(&mut taken) {
            match self.recv(endpoint, slot) {
                Ok(None) => break,
                Ok(some) => *datagram = some,
                Err(error) if count == 0 => return Err(error),
                Err(_) => break,
            }
            count += 1;
        }
        for (slot, (length, from)) in taken.into_iter().flatten().enumerate() {
            to.note(slot, length, from);
        }
        Ok(count == Datagrams::MOST)
    }

    /// The name of an address: the one it was sent to or bound under, else the literal.
    fn name_of(&self, address: Address) -> Cow<'_, str>;

    /// Closes an endpoint of any kind, after it was unwatched.
    fn close(&mut self, endpoint: Endpoint);
}

/// Byte streams: TCP, and local ones to processes of this host. Nothing here waits: `None` means
/// "not now", and readiness is reported.
pub trait Streams {
    /// Opens a listener; it is readable when a connection waits.
    fn listen(&mut self, addr: &str) -> io::Result<Endpoint>;

    /// Takes one waiting connection.
    fn accept(&mut self, listener: Endpoint) -> io::Result<Option<(Endpoint, Address)>>;

    /// Starts to connect; the endpoint becomes writable when connected and fails when not.
    fn connect(&mut self, to: &str) -> io::Result<Endpoint>;

    /// Opens a listener for local streams: a socket in the file system that only its owner may
    /// connect to (mode 0600). An existing file is not replaced; the path stays when the listener
    /// is closed.
    ///
    /// # Errors
    /// `Unsupported` where there is no file system, else what the system reports.
    fn listen_local(&mut self, path: &Path) -> io::Result<Endpoint> {
        let _ = path;
        Err(unsupported("local streams are not simulated"))
    }

    /// Connects to a local listener, and returns the process that opened it.
    ///
    /// # Errors
    /// As [`Streams::listen_local`]; `WouldBlock` if too many wait to be accepted there.
    fn connect_local(&mut self, path: &Path) -> io::Result<(Endpoint, Peer)> {
        let _ = path;
        Err(unsupported("local streams are not simulated"))
    }

    /// Reads the available bytes; 0 at the end of the stream.
    fn read(&mut self, stream: Endpoint, buf: &mut [u8]) -> io::Result<Option<usize>>;

    /// Writes as much as fits.
    fn write(&mut self, stream: Endpoint, bytes: &[u8]) -> io::Result<Option<usize>>;
}
