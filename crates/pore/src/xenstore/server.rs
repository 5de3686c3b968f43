//! The store as a server: pages and sockets, on a thread of its own.
//!
//! **This is a thread**: the store plays the role of another domain, which has its own processor.
//! It sleeps at its bells, its sockets and its listeners; before it does, it polls its pages for a
//! short while, as long as that pays ([`crate::adaptive_poll`]).
//!
//! A client of the socket for pages gets a page (descriptors, then nothing more); a client of the
//! socket for streams uses the protocol there, as with a daemon. A client that does not read delays
//! only itself: its events wait, up to a limit, and its requests wait with them.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::page::{self, ERROR_INDEX, ERROR_PROTOCOL};
use super::session::{Session, Store};
use super::watches::ClientId;
use super::wire::{HEADER_BYTES, Header, PAYLOAD_BYTES_MAX, Type, put_message};
use crate::adaptive_poll::AdaptivePoll;
use crate::doorbell::Doorbell;
use crate::memfd::Memfd;
use crate::{Error, Pore, Wants, wait};

/// Bytes that wait for a client before its requests are left alone, and twice that before it has
/// lost its connection.
const UNSENT_MAX: usize = 1 << 18;

/// Successful polls before the sockets are checked.
const POLLS_MAX: u32 = 64;
/// How long no client is accepted after that has failed.
const REST: Duration = Duration::from_millis(100);

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The socket that gives pages.
    pub pages: PathBuf,
    /// The socket for the protocol over streams.
    pub streams: Option<PathBuf>,
    /// Where the indexes of new pages begin.
    pub first_index: u32,
    /// The domain of the clients.
    pub domain: u32,
}

/// A running server; it ends, and its sockets go, when this is dropped.
pub struct Server {
    stop: Doorbell,
    thread: Option<JoinHandle<()>>,
    paths: Vec<PathBuf>,
}

impl Server {
    /// Starts one.
    ///
    /// # Errors
    /// The error of the system for its sockets.
    pub fn start(settings: Settings) -> Result<Server, Error> {
        let pages = listener(&settings.pages)?;
        let streams = settings.streams.as_deref().map(listener).transpose()?;
        let stop = Doorbell::new()?;
        let paths = std::iter::once(settings.pages).chain(settings.streams).collect();
        let mut state = ServerState {
            store: Store::new(),
            clients: Vec::new(),
            last: 0,
            pages,
            streams,
            stop: stop.share()?,
            first_index: settings.first_index,
            domain: settings.domain,
            policy: AdaptivePoll::default(),
            rests_until: None,
        };
        state.store.introduce(settings.domain);
        let thread = std::thread::Builder::new().name("xenstore".to_owned());
        let thread = thread.spawn(move || state.run())?;
        Ok(Server { stop, thread: Some(thread), paths })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn listener(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

enum Transport {
    Page(Memfd),
    Stream(UnixStream),
}

struct Client {
    transport: Transport,
    session: Session,
    received: Vec<u8>,
    unsent: Vec<u8>,
    is_over: bool,
}

struct ServerState {
    store: Store,
    clients: Vec<Client>,
    last: u64,
    pages: UnixListener,
    streams: Option<UnixListener>,
    stop: Doorbell,
    first_index: u32,
    domain: u32,
    policy: AdaptivePoll,
    /// Until then no client is accepted: the last attempt failed, and would again at once.
    rests_until: Option<Instant>,
}

/// What poll found, beside the clients.
struct Found {
    stop: bool,
    connects: bool,
    clients: Vec<bool>,
}

impl ServerState {
    fn run(&mut self) {
        loop {
            let began = self.poll_pages();
            let at_most = began.is_none().then_some(Timespec { tv_sec: 0, tv_nsec: 0 });
            let Ok(found) = self.sleep(at_most) else { return };
            if let Some(began) = began {
                self.policy.slept(began.elapsed());
            }
            if found.stop {
                return;
            }
            for (at, is_ready) in found.clients.into_iter().enumerate() {
                if is_ready {
                    self.clients[at].wake();
                    self.serve(at);
                }
            }
            if found.connects {
                self.connect();
            }
            let gone = self.clients.extract_if(.., |client| client.is_over);
            for client in gone {
                self.store.watches.remove_all(client.session.id());
            }
        }
    }

    /// Serves pages as long as that pays. If it is time to sleep, returns since when there was
    /// nothing to do; else it is time to check the sockets.
    fn poll_pages(&mut self) -> Option<Instant> {
        for _ in 0..POLLS_MAX {
            if !self.policy.span().is_zero() {
                self.clients.iter_mut().for_each(Client::begin_polling);
            }
            let mut policy = std::mem::take(&mut self.policy);
            let polled = wait::poll(&mut policy, || self.serve_pages());
            self.policy = policy;
            if let Err(since) = polled {
                self.clients.iter_mut().for_each(Client::end_polling);
                // What arrived before that was not signalled.
                return (!self.serve_pages()).then_some(since);
            }
        }
        None
    }

    /// Serves the pages that have something; returns whether there were any.
    fn serve_pages(&mut self) -> bool {
        let mut some = false;
        for at in 0..self.clients.len() {
            if self.clients[at].is_due() {
                self.serve(at);
                some = true;
            }
        }
        some
    }

    fn sleep(&mut self, at_most: Option<Timespec>) -> io::Result<Found> {
        let now = Instant::now();
        self.rests_until.take_if(|until| *until <= now);
        let rest = self.rests_until.map(|until| until.duration_since(now));
        let at_most = at_most.or_else(|| rest.and_then(|rest| rest.try_into().ok()));
        let mut polled = vec![PollFd::from_borrowed_fd(self.stop.fd(), PollFlags::IN)];
        if rest.is_none() {
            polled.push(PollFd::new(&self.pages, PollFlags::IN));
            polled.extend(self.streams.as_ref().map(|it| PollFd::new(it, PollFlags::IN)));
        }
        let fixed = polled.len();
        let mut ends = Vec::with_capacity(self.clients.len());
        for client in &self.clients {
            client.add_waits(&mut polled);
            ends.push(polled.len());
        }
        match poll(&mut polled, at_most.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |one: &PollFd<'_>| !one.revents().is_empty();
        let mut start = fixed;
        let clients = ends.into_iter().map(|end| {
            let own = &polled[std::mem::replace(&mut start, end)..end];
            own.iter().any(is_ready)
        });
        Ok(Found {
            clients: clients.collect(),
            stop: is_ready(&polled[0]),
            connects: polled[1..fixed].iter().any(is_ready),
        })
    }

    fn connect(&mut self) {
        if self.let_in().is_err() {
            self.rests_until = Some(Instant::now() + REST);
        }
    }

    /// Accepts all waiting clients.
    ///
    /// # Errors
    /// They cannot be taken: there are no descriptors left, for example.
    fn let_in(&mut self) -> io::Result<()> {
        while let Some(peer) = taken(self.pages.accept())? {
            if let Ok(page) = page::offer_to(peer, self.first_index) {
                self.add(Transport::Page(page));
            }
        }
        while let Some(streams) = &self.streams
            && let Some(peer) = taken(streams.accept())?
        {
            if peer.set_nonblocking(true).is_ok() {
                self.add(Transport::Stream(peer));
            }
        }
        Ok(())
    }

    fn add(&mut self, transport: Transport) {
        self.last += 1;
        let session = Session::new(ClientId(self.last), self.domain);
        let (received, unsent) = (Vec::new(), Vec::new());
        self.clients.push(Client { transport, session, received, unsent, is_over: false });
    }

    /// Takes the requests of a client, answers, and notifies watching clients.
    fn serve(&mut self, at: usize) {
        loop {
            let client = &mut self.clients[at];
            client.send();
            if client.unsent.len() > UNSENT_MAX || !client.receive() {
                break;
            }
            let mut events_due = Vec::new();
            let mut taken = 0;
            while let Some((header, end)) = client.next_message(taken) {
                let payload = &client.received[taken + HEADER_BYTES..end];
                let events =
                    client.session.handle(&mut self.store, header, payload, &mut client.unsent);
                taken = end;
                for (client_id, event) in events {
                    events_due.push((client_id, event));
                }
                // The client gets this answer while the next request is served.
                client.send_quietly();
            }
            client.received.drain(..taken);
            self.notify(events_due);
        }
        self.clients[at].signal();
    }

    fn notify(&mut self, events: Vec<(ClientId, Vec<u8>)>) {
        for (client_id, event) in events {
            // Clients are in the order of their numbers.
            let found = self.clients.binary_search_by_key(&client_id, |client| client.session.id());
            let Ok(at) = found else { continue };
            let client = &mut self.clients[at];
            put_message(&mut client.unsent, Type::WatchEvent, 0, 0, &event);
            client.is_over |= client.unsent.len() > 2 * UNSENT_MAX;
            client.send();
            client.signal();
        }
    }
}

/// The accepted connection; none if none waits.
fn taken<A>(accepted: io::Result<(UnixStream, A)>) -> io::Result<Option<UnixStream>> {
    match accepted {
        Ok((peer, _)) => Ok(Some(peer)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

impl Client {
    /// Adds what this client is waited for at.
    fn add_waits<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        match &self.transport {
            Transport::Page(page) => {
                let both = std::iter::once(page.bell().fd()).chain(page.lifelines());
                polled.extend(both.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            }
            Transport::Stream(stream) => {
                let mut wanted = PollFlags::empty();
                wanted.set(PollFlags::OUT, !self.unsent.is_empty());
                wanted.set(PollFlags::IN, self.unsent.len() <= UNSENT_MAX);
                polled.push(PollFd::from_borrowed_fd(stream.as_fd(), wanted));
            }
        }
    }

    fn begin_polling(&mut self) {
        if let Transport::Page(page) = &mut self.transport {
            page.begin_polling();
        }
    }

    fn end_polling(&mut self) {
        if let Transport::Page(page) = &mut self.transport {
            page.end_polling();
        }
    }

    /// Whether a page has something to be read, or room for what waits. A broken one has its error
    /// set, and is dropped when it is next woken.
    fn is_due(&mut self) -> bool {
        let (unsent, is_over) = (self.unsent.len(), self.is_over);
        let Transport::Page(page) = &mut self.transport else { return false };
        let wants = Wants {
            readable: usize::from(unsent <= UNSENT_MAX),
            writable: usize::from(unsent > 0),
        };
        !is_over && page.meets(wants).unwrap_or(true)
    }

    fn wake(&mut self) {
        if let Transport::Page(page) = &mut self.transport {
            page.drain_doorbell();
            self.is_over |= !page.is_peer_alive().unwrap_or(false);
        }
    }

    /// Receives available bytes; false if there were none.
    fn receive(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        match &mut self.transport {
            Transport::Page(page) => match page.read(usize::MAX, &mut self.received) {
                Ok(count) => count > 0,
                Err(_) => {
                    page::set_error(page, ERROR_INDEX);
                    self.is_over = true;
                    false
                }
            },
            Transport::Stream(stream) => {
                let mut bytes = [0; 4096];
                match stream.read(&mut bytes) {
                    Ok(count) if count > 0 => {
                        self.received.extend_from_slice(&bytes[..count]);
                        true
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
                    _ => {
                        self.is_over = true;
                        false
                    }
                }
            }
        }
    }

    /// The next whole message from `start`, and where it ends.
    fn next_message(&mut self, start: usize) -> Option<(Header, usize)> {
        let head = self.received.get(start..start + HEADER_BYTES)?;
        let header = Header::decode(head.try_into().ok()?);
        if header.length as usize > PAYLOAD_BYTES_MAX {
            if let Transport::Page(page) = &self.transport {
                page::set_error(page, ERROR_PROTOCOL);
            }
            self.is_over = true;
            return None;
        }
        let end = start + HEADER_BYTES + header.length as usize;
        (end <= self.received.len() && !self.is_over).then_some((header, end))
    }

    /// Sends on where that needs no system call.
    fn send_quietly(&mut self) {
        if matches!(self.transport, Transport::Page(_)) {
            self.send();
        }
    }

    fn send(&mut self) {
        if self.unsent.is_empty() || self.is_over {
            return;
        }
        let sent = match &mut self.transport {
            Transport::Page(page) => page.write(&self.unsent).map_err(|_| {
                page::set_error(page, ERROR_INDEX);
            }),
            Transport::Stream(stream) => match stream.write(&self.unsent) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
                other => other.map_err(drop),
            },
        };
        match sent {
            Ok(count) => drop(self.unsent.drain(..count)),
            Err(()) => self.is_over = true,
        }
    }

    /// Rings after indexes have changed.
    fn signal(&mut self) {
        if let Transport::Page(page) = &mut self.transport
            && page.is_ring_due()
        {
            let _ = page.ring();
        }
    }
}
