//! The connections of one node: what to do with bytes that come, what to write, when to connect.
//!
//! ```text
//! send(name, envelope) -> [queue]  what waits for a peer   -> unwritten(connection), advance(..)
//!                         [sealed] with a key: sealed just before it is written
//! push(connection, bytes), step(connection) -> a content with the name it comes from
//! next_action()        -> connect, write, close
//! on_time(), next_timeout()
//! ```
//! It holds no socket and no clock: a connection is a number here. Its owner has the sockets, and
//! reports what becomes of them.
//!
//! Without a key a connection is written by the side that made it and read by the other, so that
//! two nodes that talk both ways have two of them. With a key frames are those of
//! [`seal`](crate::seal), each behind its length, and go both ways. The side that connects begins
//! with a handshake; a session belongs to the connection that it was made on, and its frames come
//! there in order and without gaps, or the connection ends. What waits for a peer is sealed just
//! before it is written, so that it outlives a connection that breaks.
//!
//! What strangers can hold, with a key: [`UNPROVEN_MAX`] connections for [`UNPROVEN_NS`] each, with
//! no more bytes than an initiation has. Only the oldest of these make room for others, never a
//! connection that has shown whose it is, nor one with a handshake under way, of which the guard
//! allows only so many.

mod connection;
mod greeting;
mod outgoing;
mod peer;
mod sealed;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::counters::{Count, Counters};
use crate::head::Head;
use crate::reliable::LEASE_NS;
use crate::seal::{Guard, NoEntropy};
use crate::stream::{TooLong, write_frame};
use crate::token::is_hello;
use connection::{Connection, Origin, Sender};
use greeting::{greeter, greeting};
use outgoing::BACKOFF_MAX_NS;
use peer::{Peer, State};

/// Connections that a node makes, and as many that it takes.
pub const CONNECTIONS_MAX: usize = 4096;

/// With a key: connections that have begun no handshake.
pub const UNPROVEN_MAX: usize = 256;

/// With a key: how long a connection may take to show whose it is.
pub const UNPROVEN_NS: u64 = 10_000_000_000;

/// Bytes of frames of which a part has come, over all connections of a node.
pub const HELD_BYTES_MAX: usize = 64 << 20;

/// How long making a connection may take.
const CONNECT_NS: u64 = 5_000_000_000;

/// How names of connections begin among the routes of a guard; no address begins so.
const ROUTE: char = '#';

/// A connection, made or taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(u64);

/// What the owner of the sockets has to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Connect to a node, and report [`Connections::connected`] or [`Connections::broken`].
    Connect(ConnectionId, Arc<str>),
    /// There is something to write.
    Write(ConnectionId),
    /// Close the connection: it is forgotten here.
    Close(ConnectionId),
    /// Nothing; to be logged: so many frames for a peer that cannot be reached were dropped.
    Lost(Arc<str>, usize),
}

/// What each call needs.
pub struct Context<'a> {
    /// The time.
    pub now_ns: u64,
    /// Fills bytes with random ones that nobody can guess.
    pub entropy: &'a mut dyn FnMut(&mut [u8]) -> Result<(), NoEntropy>,
    /// Where drops are counted.
    pub counters: &'a mut Counters,
}

/// What came of the next frame of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// There is no whole frame.
    Quiet,
    /// A frame without content for this node; what was dropped was counted.
    Taken {
        /// Whom the connection is from, as far as it is known.
        from: &'a str,
        /// Bytes of the frame.
        bytes: usize,
    },
    /// The connection has said whose it is.
    Named {
        /// Where it comes from.
        from: &'a str,
        /// The name of the node.
        name: &'a str,
    },
    /// An envelope.
    Content {
        /// Whom it is from.
        from: &'a str,
        /// The envelope.
        bytes: &'a [u8],
    },
    /// It is not of a node: a tool begins it with this frame. It is to be given away
    /// ([`Connections::release`]).
    Tool(Vec<u8>),
    /// It has to end ([`Connections::end`]); why was counted.
    Bad(Count),
}

/// Why a connection ends, and what is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Whom it was from or to.
    pub name: String,
    /// Frames that wait for that peer, if anything was sent to it.
    pub waiting: Option<usize>,
}

/// The connections of a node; see the module.
pub struct Connections {
    /// What each connection without a key begins with, a frame.
    greeting: Arc<[u8]>,
    guard: Option<Box<Guard>>,
    peers: BTreeMap<Arc<str>, Peer>,
    all: BTreeMap<ConnectionId, Connection>,
    /// With a key: the connection of each name that has shown that it is its own.
    proven: BTreeMap<Arc<str>, ConnectionId>,
    /// With a key: connections taken and when they must have shown whose they are; some are gone or
    /// have.
    unproven: VecDeque<(u64, ConnectionId)>,
    /// Peers for which something new waits.
    touched: BTreeSet<Arc<str>>,
    timers: BTreeSet<(u64, Arc<str>)>,
    actions: VecDeque<Action>,
    /// The number of the next connection.
    next: u64,
    /// Connections that others made.
    taken: usize,
    /// Bytes of frames of which a part has come, over all connections.
    held: usize,
    /// The frame that was opened last.
    frame: Vec<u8>,
    /// Whom it was from.
    from: String,
}

impl Connections {
    /// No connection yet, for a node of that address; with a guard for
    /// [connections](crate::seal::Carrier::Connections), if it has a key.
    ///
    /// # Errors
    /// The address is too long for a frame.
    pub fn new(address: &str, guard: Option<Box<Guard>>) -> Result<Connections, TooLong> {
        let mut frame = Vec::new();
        if guard.is_none() {
            write_frame(&mut frame, &greeting(address))?;
        }
        Ok(Connections {
            greeting: frame.into(),
            guard,
            peers: BTreeMap::new(),
            all: BTreeMap::new(),
            proven: BTreeMap::new(),
            unproven: VecDeque::new(),
            touched: BTreeSet::new(),
            timers: BTreeSet::new(),
            actions: VecDeque::new(),
            next: 0,
            taken: 0,
            held: 0,
            frame: Vec::new(),
            from: String::new(),
        })
    }

    /// Queues an envelope for a peer; [`Connections::pump`] has it sent.
    pub fn send(&mut self, to: &str, envelope: &[u8], now_ns: u64, counters: &mut Counters) {
        if self.guard.as_ref().is_some_and(|guard| !guard.may_know(to)) {
            return counters.count(Count::WrongIdentity);
        }
        let known = self.peers.get_key_value(to).map(|(address, _)| address.clone());
        let address = match known {
            Some(address) => address,
            None if self.peers.len() < CONNECTIONS_MAX || self.evict(counters) => to.into(),
            None => return counters.count(Count::TooManyPeers),
        };
        let greeting = &self.greeting;
        let peer = self.peers.entry(address.clone()).or_insert_with(|| Peer::new(greeting.clone()));
        match peer.push(envelope, now_ns) {
            Ok(()) => drop(self.touched.insert(address)),
            Err(_) => counters.count(Count::QueueFull),
        }
    }

    /// Has what waits go, as far as there are connections for it; others are begun.
    pub fn pump(&mut self, cx: &mut Context<'_>) {
        for name in std::mem::take(&mut self.touched) {
            let Some(peer) = self.peers.get(&name) else { continue };
            let state = peer.state;
            match (self.current(&name), state) {
                (Some(id), _) => self.fill(id, cx),
                (None, State::Resting) => self.connect(&name, cx.now_ns),
                (None, State::Connected(id)) if self.guard.is_none() => {
                    self.actions.push_back(Action::Write(id));
                }
                // A time or the owner says when to go on.
                (None, State::Connected(_) | State::Waiting | State::Connecting(_)) => {}
            }
            self.set_timer(&name);
        }
    }

    /// What the owner has to do next.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// True if nothing waits for a connection.
    pub fn has_written_all(&self) -> bool {
        self.peers.values().all(Peer::is_idle)
    }

    /// The guard, if the node has a key.
    pub fn guard(&self) -> Option<&Guard> {
        self.guard.as_deref()
    }

    /// A connection that someone else made.
    pub fn accept(&mut self, from: String, cx: &mut Context<'_>) -> ConnectionId {
        cx.counters.count(Count::Accepted);
        let id = self.draw();
        let mut connection = Connection::new(Origin::Taken, Sender::Unknown(from), cx.now_ns);
        if self.guard.is_some() {
            connection.reader.set_bytes_max(sealed::UNPROVEN_BYTES_MAX);
            self.make_room_for_unproven(cx.counters);
            self.unproven.push_back((cx.now_ns.saturating_add(UNPROVEN_NS), id));
        } else if self.taken >= CONNECTIONS_MAX {
            let taken = self.all.iter().filter(|(_, one)| one.origin == Origin::Taken);
            let oldest = taken.min_by_key(|(_, one)| one.heard_ns).map(|(&id, _)| id);
            oldest.into_iter().for_each(|old| self.evict_connection(old, cx.counters));
        }
        self.taken += 1;
        self.all.insert(id, connection);
        id
    }

    fn draw(&mut self) -> ConnectionId {
        let id = ConnectionId(self.next);
        self.next += 1;
        id
    }

    fn evict_connection(&mut self, id: ConnectionId, counters: &mut Counters) {
        counters.count(Count::ConnectionEvicted);
        self.remove(id);
        self.actions.push_back(Action::Close(id));
    }

    /// Forgets the peer for which nothing waits and that was written to least lately.
    fn evict(&mut self, counters: &mut Counters) -> bool {
        let idle = self.peers.iter().filter(|(_, peer)| peer.is_idle());
        let Some((address, _)) = idle.min_by_key(|(_, peer)| peer.well_ns) else { return false };
        let address = address.clone();
        self.forget(&address, counters);
        true
    }

    /// Forgets a peer and the connection that was made to it.
    fn forget(&mut self, name: &Arc<str>, counters: &mut Counters) -> Option<Peer> {
        let peer = self.peers.remove(name)?;
        peer.timer.map(|at| self.timers.remove(&(at, name.clone())));
        peer.link().into_iter().for_each(|id| self.evict_connection(id, counters));
        Some(peer)
    }

    fn connect(&mut self, name: &Arc<str>, now_ns: u64) {
        let id = self.draw();
        let Some(peer) = self.peers.get_mut(name) else { return };
        peer.enter(State::Connecting(id), Some(now_ns.saturating_add(CONNECT_NS)));
        let connection = Connection::new(Origin::Made, Sender::Node(name.to_string()), now_ns);
        self.all.insert(id, Connection { peer: Some(name.clone()), ..connection });
        self.actions.push_back(Action::Connect(id, name.clone()));
    }

    /// Whether a connection is being made.
    pub fn is_connecting(&self, id: ConnectionId) -> bool {
        let peer = self.all.get(&id).and_then(|one| self.peers.get(one.peer.as_ref()?));
        peer.is_some_and(|peer| peer.state == State::Connecting(id))
    }

    /// Whether anything but its end is expected from a connection.
    pub fn reads(&self, id: ConnectionId) -> bool {
        self.guard.is_some() || self.all.get(&id).is_some_and(|one| one.origin == Origin::Taken)
    }

    /// A connection that was being made is there.
    pub fn connected(&mut self, id: ConnectionId, cx: &mut Context<'_>) {
        let Some(name) = self.all.get(&id).and_then(|one| one.peer.clone()) else { return };
        let Some(peer) = self.peers.get_mut(&name) else { return };
        cx.counters.count(Count::Connected);
        peer.connected_ns = cx.now_ns;
        let until_ns = self.guard.as_ref().map(|_| cx.now_ns.saturating_add(UNPROVEN_NS));
        peer.enter(State::Connected(id), until_ns);
        match self.guard {
            None => self.actions.push_back(Action::Write(id)),
            // Both sides have connected at once.
            Some(_) if self.current(&name).is_some() => self.drop_made(&name, None),
            Some(_) => self.guarded(cx, |guard, cx| guard.connect(&name, &route(id), cx)),
        }
        self.set_timer(&name);
    }

    /// What to write next; empty if there is nothing.
    pub fn unwritten(&self, id: ConnectionId) -> &[u8] {
        let Some(connection) = self.all.get(&id) else { return &[] };
        match (&self.guard, connection.origin) {
            (Some(_), _) => connection.out.unwritten(),
            (None, Origin::Taken) => &[],
            (None, Origin::Made) => {
                let peer = connection.peer.as_ref().and_then(|name| self.peers.get(name));
                peer.map_or(&[], |peer| peer.queue.unwritten())
            }
        }
    }

    /// Notes that so many bytes of [`Connections::unwritten`] were written.
    pub fn advance(&mut self, id: ConnectionId, count: usize, cx: &mut Context<'_>) {
        let Some(connection) = self.all.get_mut(&id) else { return };
        let Some(name) = connection.peer.clone() else {
            connection.out.advance(count);
            return;
        };
        if self.guard.is_none() {
            let Some(peer) = self.peers.get_mut(&name) else { return };
            peer.queue.advance(count);
            peer.well_ns = cx.now_ns;
        } else {
            let contents = connection.out.advance(count);
            if let Some(peer) = self.peers.get_mut(&name).filter(|_| contents > 0) {
                (0..contents).for_each(|_| peer.queue.written());
                peer.well_ns = cx.now_ns;
            }
            self.fill(id, cx);
        }
        self.set_timer(&name);
    }

    /// Takes bytes that came over a connection; [`Connections::step`] gives what is in them.
    pub fn push(&mut self, id: ConnectionId, bytes: &[u8], now_ns: u64) {
        let Some(connection) = self.all.get_mut(&id) else { return };
        connection.heard_ns = now_ns;
        connection.reader.push(bytes);
        self.held += connection.settle_held();
    }

    /// Takes the next frame of a connection.
    pub fn step(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Step<'_> {
        let Some(connection) = self.all.get_mut(&id) else { return Step::Quiet };
        if self.guard.is_none() && connection.origin == Origin::Made {
            if connection.reader.held() == 0 {
                return Step::Quiet;
            }
            cx.counters.count(Count::Malformed);
            return Step::Bad(Count::Malformed);
        }
        let before = connection.reader.held();
        self.frame.clear();
        match connection.reader.next_frame() {
            Ok(Some(frame)) => self.frame.extend_from_slice(frame),
            Ok(None) if self.held > HELD_BYTES_MAX => {
                cx.counters.count(Count::FrameFull);
                return Step::Bad(Count::FrameFull);
            }
            Ok(None) => {
                if self.guard.is_some() && connection.peer.is_none() {
                    connection.reader.shrink();
                }
                return Step::Quiet;
            }
            Err(_) => {
                cx.counters.count(Count::FrameTooLong);
                return Step::Bad(Count::FrameTooLong);
            }
        }
        let after = connection.reader.held();
        self.held -= before - after;
        connection.held = after;
        if let Sender::Unknown(_) = connection.from
            && is_hello(&self.frame)
        {
            return Step::Tool(std::mem::take(&mut self.frame));
        }
        match self.guard {
            Some(_) => self.step_sealed(id, cx),
            None => self.step_open(id, cx),
        }
    }

    fn step_open(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Step<'_> {
        let (frame, Some(one)) = (&self.frame, self.all.get_mut(&id)) else { return Step::Quiet };
        if let Sender::Unknown(from) = &mut one.from {
            self.from = std::mem::take(from);
            match greeter(frame) {
                Some(address) => {
                    one.from = Sender::Node(address.to_owned());
                    return Step::Named { from: &self.from, name: one.from.name() };
                }
                None => one.from = Sender::Nameless(self.from.clone()),
            }
        }
        let from = one.from.name();
        // Acknowledgements go to the sender's address.
        let wants_answer = || Head::decode(frame).is_ok_and(|head| head.ack.is_some());
        if matches!(one.from, Sender::Nameless(_)) && wants_answer() {
            cx.counters.count(Count::BadAck);
            return Step::Taken { from, bytes: frame.len() };
        }
        Step::Content { from, bytes: frame }
    }

    /// Whom a connection is from or to, as far as it is known.
    pub fn name(&self, id: ConnectionId) -> &str {
        self.all.get(&id).map_or("", |one| one.from.name())
    }

    /// The other side has closed a connection.
    pub fn closed(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Option<Ended> {
        let connection = self.all.get(&id)?;
        match connection.origin == Origin::Taken && connection.reader.held() == 0 {
            true => self.end(id, cx),
            false => self.broken(id, cx),
        }
    }

    /// A connection is gone, or could not be made.
    pub fn broken(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Option<Ended> {
        if self.all.get(&id)?.origin == Origin::Taken {
            cx.counters.count(Count::ConnectionBroken);
        }
        self.end(id, cx)
    }

    /// Ends a connection whose last step was bad, or that the other side has ended in order.
    pub fn end(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Option<Ended> {
        let connection = self.remove(id)?;
        self.actions.push_back(Action::Close(id));
        if connection.origin == Origin::Made {
            cx.counters.count(Count::ConnectionBroken);
        }
        let name = connection.from.name().to_owned();
        let Some(peer) = connection.peer else { return Some(Ended { name, waiting: None }) };
        let waiting = self.peers.get_mut(&peer).map(|peer| {
            if peer.link() == Some(id) {
                peer.fail(cx.now_ns);
            }
            peer.queue.waiting()
        });
        if waiting.is_some_and(|frames| frames > 0) {
            self.touched.insert(peer.clone());
        }
        self.set_timer(&peer);
        Some(Ended { name, waiting })
    }

    /// Gives up a connection that a tool began: where it comes from, and the bytes that were not
    /// taken from it.
    pub fn release(&mut self, id: ConnectionId) -> Option<(String, Vec<u8>)> {
        let connection = self.remove(id)?;
        Some((connection.from.name().to_owned(), connection.reader.into_rest()))
    }

    /// Ends the connection that was made to a peer without fault of it.
    fn drop_made(&mut self, name: &Arc<str>, except: Option<ConnectionId>) {
        let Some(peer) = self.peers.get_mut(name) else { return };
        let Some(id) = peer.link().filter(|&id| Some(id) != except) else { return };
        peer.queue.rewind();
        peer.enter(State::Resting, None);
        self.remove(id);
        self.actions.push_back(Action::Close(id));
    }

    /// Takes a connection out of all that knows it, but not out of its peer's state.
    fn remove(&mut self, id: ConnectionId) -> Option<Connection> {
        let connection = self.all.remove(&id)?;
        self.held -= connection.held;
        self.taken -= usize::from(connection.origin == Origin::Taken);
        if let Some(name) = &connection.peer {
            if self.proven.get(name) == Some(&id) {
                self.proven.remove(name);
                self.peers.get_mut(name).into_iter().for_each(|peer| peer.queue.rewind());
            }
            if let Some(guard) = &mut self.guard {
                guard.disconnect(name, &route(id));
            }
        }
        Some(connection)
    }

    /// When [`Connections::on_time`] has something to do, if nothing comes before.
    pub fn next_timeout(&self) -> Option<u64> {
        let peers = self.timers.first().map(|&(at, _)| at);
        let unproven = self.unproven.front().map(|&(at, _)| at);
        let guard = self.guard.as_ref().and_then(|guard| guard.next_timeout());
        [peers, unproven, guard].into_iter().flatten().min()
    }

    /// Does what the time asks for.
    pub fn on_time(&mut self, cx: &mut Context<'_>) {
        self.end_unproven(cx);
        if self.guard.is_some() {
            self.guarded(cx, |guard, cx| guard.on_time(cx));
        }
        while let Some((at, name)) = self.timers.first().filter(|(at, _)| *at <= cx.now_ns) {
            let (at, name) = (*at, name.clone());
            self.timers.remove(&(at, name.clone()));
            if let Some(peer) = self.peers.get_mut(&name) {
                peer.timer = None;
            }
            self.look(&name, cx);
            self.set_timer(&name);
        }
        self.pump(cx);
    }

    /// The time given to a peer's state is over.
    fn look(&mut self, name: &Arc<str>, cx: &mut Context<'_>) {
        let current = self.current(name);
        let Some(peer) = self.peers.get_mut(name) else { return };
        let is_lost = peer.is_lost(cx.now_ns);
        let is_over = peer.until_ns.is_some_and(|at| at <= cx.now_ns);
        match (peer.state, current) {
            (State::Waiting, None) if is_over && (is_lost || peer.is_idle()) => {
                self.lose(name, cx);
            }
            (State::Waiting, None) if is_over => self.connect(name, cx.now_ns),
            (State::Waiting, Some(_)) if is_over => peer.enter(State::Resting, None),
            (State::Connecting(id) | State::Connected(id), _) if is_over => {
                drop(self.broken(id, cx));
            }
            (State::Connected(id), None) if is_lost => drop(self.broken(id, cx)),
            // It does not move.
            (_, Some(id)) if is_lost => drop(self.broken(id, cx)),
            (State::Resting, None) if is_lost => self.lose(name, cx),
            _ => {}
        }
    }

    /// Drops a peer and what has waited for it for too long.
    fn lose(&mut self, name: &Arc<str>, cx: &mut Context<'_>) {
        let Some(peer) = self.forget(name, cx.counters) else { return };
        let dropped = peer.queue.waiting();
        if dropped > 0 {
            let reason = if self.guard.is_some() { Count::NoSession } else { Count::PeerLost };
            cx.counters.add(reason, dropped as u64);
            self.actions.push_back(Action::Lost(name.clone(), dropped));
        }
    }

    fn set_timer(&mut self, name: &Arc<str>) {
        let Some(peer) = self.peers.get_mut(name) else { return };
        let lost = (!peer.is_idle()).then(|| peer.well_ns.saturating_add(LEASE_NS));
        let next = match peer.state {
            State::Waiting | State::Connecting(_) => peer.until_ns,
            State::Resting | State::Connected(_) => {
                [peer.until_ns, lost].into_iter().flatten().min()
            }
        };
        if peer.timer != next {
            peer.timer.map(|at| self.timers.remove(&(at, name.clone())));
            next.map(|at| self.timers.insert((at, name.clone())));
            peer.timer = next;
        }
    }

    /// With a key: the connection by which content can go to a peer now.
    fn current(&self, name: &Arc<str>) -> Option<ConnectionId> {
        self.guard.as_ref()?;
        self.proven.get(name).copied()
    }
}

/// What a guard calls a connection.
fn route(id: ConnectionId) -> String {
    format!("{ROUTE}{}", id.0)
}

/// The connection that a guard calls so.
fn connection_of(route: &str) -> Option<ConnectionId> {
    route.strip_prefix(ROUTE)?.parse().ok().map(ConnectionId)
}

const _: () = assert!(BACKOFF_MAX_NS < LEASE_NS);
