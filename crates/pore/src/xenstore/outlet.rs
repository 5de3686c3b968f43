//! The traditional driver: all native, one outstanding request, and busy while the ring is full or
//! empty. What pores are measured against; with the same requests as the driver over a pore.
//!
//! It signals the store after every update of an index, as the protocol requires.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::page;
use super::wire::{HEADER_BYTES, Header, PAYLOAD_BYTES_MAX, Type, put_message};
use crate::memfd::Memfd;
use crate::{Error, Pore};

/// Checks of the ring between two readings of the clock and the lifeline.
const SPINS: u32 = 1 << 14;
/// How long a store may take for anything.
const PATIENCE: Duration = Duration::from_secs(5);
/// Watch events that wait to be taken; the oldest go.
const EVENTS_MAX: usize = 1 << 12;

/// Why a request failed.
#[derive(Debug)]
pub enum Failure {
    /// An error of the store: its name.
    Store(String),
    /// There is no store any more, or none that keeps to the protocol.
    Transport(Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Store(name) => f.write_str(name),
            Failure::Transport(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Transport(error)
    }
}

/// Path and token.
pub type WatchEvent = (Vec<u8>, Vec<u8>);

enum Transport {
    Page(Memfd),
    Stream(UnixStream),
}

/// A connection to a store.
pub struct Outlet {
    transport: Transport,
    last: u32,
    events: VecDeque<WatchEvent>,
}

impl Outlet {
    /// Connects to the socket that gives pages, and waits for one.
    ///
    /// # Errors
    /// Nothing listens, or what arrives is no page.
    pub fn page(socket: UnixStream) -> Result<Outlet, Error> {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        match page::accept_from(socket)? {
            Ok(page) => Ok(Outlet::over(Transport::Page(page))),
            Err(_) => Err(Error::PeerGone),
        }
    }

    /// Connects to a daemon over its socket.
    ///
    /// # Errors
    /// The error of the system.
    pub fn stream(socket: UnixStream) -> Result<Outlet, Error> {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Outlet::over(Transport::Stream(socket)))
    }

    fn over(transport: Transport) -> Outlet {
        Outlet { transport, last: 0, events: VecDeque::new() }
    }

    /// Sends a request, and waits for the answer.
    ///
    /// # Errors
    /// The store's, or that of the transport.
    pub fn request(
        &mut self,
        kind: Type,
        transaction: u32,
        payload: &[u8],
    ) -> Result<Vec<u8>, Failure> {
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(Failure::Store("E2BIG".to_owned()));
        }
        self.last = self.last.wrapping_add(1);
        let request = self.last;
        let mut message = Vec::with_capacity(HEADER_BYTES + payload.len());
        put_message(&mut message, kind, request, transaction, payload);
        self.transport.send(&message)?;
        loop {
            let (header, payload) = self.receive()?;
            match Type::of(header.kind) {
                Some(Type::WatchEvent) => self.note(&payload),
                _ if header.request != request => {
                    return Err(Error::BadOffer("an answer to nothing that was asked").into());
                }
                Some(Type::Error) => {
                    let name = payload.strip_suffix(b"\0").unwrap_or(&payload);
                    return Err(Failure::Store(String::from_utf8_lossy(name).into_owned()));
                }
                _ => return Ok(payload),
            }
        }
    }

    /// The next event of a watch, path and token, if one has arrived.
    ///
    /// # Errors
    /// That of the transport.
    pub fn next_event(&mut self) -> Result<Option<WatchEvent>, Failure> {
        while self.events.is_empty() && self.transport.has_something()? {
            let (header, payload) = self.receive()?;
            if Type::of(header.kind) != Some(Type::WatchEvent) {
                return Err(Error::BadOffer("an answer to nothing that was asked").into());
            }
            self.note(&payload);
        }
        if self.events.is_empty()
            && let Transport::Page(page) = &mut self.transport
        {
            page.drain_doorbell();
        }
        Ok(self.events.pop_front())
    }

    /// What can be watched for events.
    pub fn descriptor(&self) -> RawFd {
        match &self.transport {
            Transport::Page(page) => page.bell().raw(),
            Transport::Stream(stream) => stream.as_raw_fd(),
        }
    }

    fn note(&mut self, payload: &[u8]) {
        let mut parts = payload.split(|&byte| byte == 0);
        let mut part = || parts.next().unwrap_or_default().to_vec();
        let event = (part(), part());
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn receive(&mut self) -> Result<(Header, Vec<u8>), Error> {
        let mut head = Vec::with_capacity(HEADER_BYTES);
        self.transport.receive(HEADER_BYTES, &mut head)?;
        let header = Header::decode(head.try_into().unwrap_or_default());
        let length = header.length as usize;
        if length > PAYLOAD_BYTES_MAX {
            return Err(Error::BadLength(header.length));
        }
        let mut payload = Vec::with_capacity(length);
        self.transport.receive(length, &mut payload)?;
        Ok((header, payload))
    }
}

impl Transport {
    /// Sends all of it, however long that takes.
    fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        let page = match self {
            Transport::Page(page) => page,
            Transport::Stream(stream) => return Ok(stream.write_all(message)?),
        };
        let mut rest = message;
        let mut watch = Watch::new();
        while !rest.is_empty() {
            let sent = page.write(rest)?;
            if sent == 0 {
                watch.turn(page)?;
            } else {
                page.ring()?;
                rest = &rest[sent..];
            }
        }
        Ok(())
    }

    /// Takes exactly `length` bytes, however long that takes.
    fn receive(&mut self, length: usize, into: &mut Vec<u8>) -> Result<(), Error> {
        let page = match self {
            Transport::Page(page) => page,
            Transport::Stream(stream) => {
                into.resize(length, 0);
                return Ok(stream.read_exact(into)?);
            }
        };
        let mut watch = Watch::new();
        while into.len() < length {
            if page.read(length - into.len(), into)? == 0 {
                watch.turn(page)?;
            } else {
                page.ring()?;
            }
        }
        Ok(())
    }

    fn has_something(&mut self) -> Result<bool, Error> {
        match self {
            Transport::Page(page) => Ok(page.avail()?.readable > 0),
            Transport::Stream(stream) => {
                let mut one = [rustix::event::PollFd::new(stream, rustix::event::PollFlags::IN)];
                let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
                Ok(rustix::event::poll(&mut one, Some(&now))? > 0)
            }
        }
    }
}

/// Busy waiting that does not last for ever.
struct Watch {
    turns: u32,
    since: Option<Instant>,
}

impl Watch {
    fn new() -> Watch {
        Watch { turns: 0, since: None }
    }

    fn turn(&mut self, page: &Memfd) -> Result<(), Error> {
        self.turns += 1;
        if !self.turns.is_multiple_of(SPINS) {
            std::hint::spin_loop();
            return Ok(());
        }
        // The store may need this very processor.
        std::thread::yield_now();
        let since = *self.since.get_or_insert_with(Instant::now);
        let is_gone = !page.is_peer_alive().unwrap_or(false);
        if is_gone || since.elapsed() > PATIENCE { Err(Error::PeerGone) } else { Ok(()) }
    }
}
