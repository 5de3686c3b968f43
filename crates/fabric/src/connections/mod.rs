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
//! reports their events. `life` makes and ends connections, `idle` ends those of no use, `receive`
//! takes what comes over them, and `sealed` has what a key changes.
//!
//! Without a key a connection is written by the side that made it and read by the other, so that
//! two nodes that talk both ways have two of them. With a key frames are those of
//! [`seal`](crate::seal), each preceded by its length, and go both ways. The side that connects
//! begins with a handshake; a session belongs to the connection that it was made on, and its
//! frames come there in order and without gaps, or the connection ends; each begins with how many
//! contents the sessions before it have brought. What waits for a peer is sealed just before it is
//! written, so that it outlives a connection that breaks.
//!
//! Resources that strangers can occupy, with a key: [`UNPROVEN_MAX`] connections for
//! [`UNPROVEN_NS`] each, with no more bytes than an initiation has. Only the oldest of these make
//! room for others, never a connection that has proven its name, nor one with a handshake under
//! way, of which the guard limits the number.

mod connection;
mod greeting;
mod idle;
mod life;
mod load;
mod outgoing;
mod peer;
mod receive;
mod sealed;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use tidemill_stdx::ordered::{OrderedMap, OrderedSet};

use crate::counters::{Count, Counters};
use crate::reliable::LEASE_NS;
use crate::seal::{Guard, NoEntropy};
use crate::stream::{TooLong, write_frame};
use connection::{Connection, Origin};
use greeting::greeting;
pub use idle::{MADE_IDLE_NS, TAKEN_IDLE_NS};
pub use load::Load;
use outgoing::BACKOFF_MAX_NS;
pub use outgoing::QUEUE_BYTES_MAX;
use peer::{LinkState, Peer};

/// The most connections that a node makes; also the most that it takes.
pub const CONNECTIONS_MAX: usize = 4096;

/// With a key: the most connections that have begun no handshake.
pub const UNPROVEN_MAX: usize = 256;

/// With a key: how long a connection may take to prove its name.
pub const UNPROVEN_NS: u64 = 10_000_000_000;

/// The most bytes of partial frames, over all connections of a node.
pub const HELD_BYTES_MAX: usize = 64 << 20;

/// The time limit for making a connection.
const CONNECT_NS: u64 = 5_000_000_000;

/// The prefix of connections among the routes of a guard; no address begins with it.
const ROUTE: char = '#';

/// A connection, made or taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(u64);

/// An action for the owner of the sockets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Connect to a node, and report [`Connections::connected`] or [`Connections::broken`].
    Connect(ConnectionId, Arc<str>),
    /// There is something to write.
    Write(ConnectionId),
    /// Close the connection: it is forgotten here.
    Close(ConnectionId),
    /// Log that a number of frames for a peer that cannot be reached were dropped.
    Lost(Arc<str>, usize),
}

/// The environment of each call.
pub struct Context<'a> {
    /// The time.
    pub now_ns: u64,
    /// Fills a buffer with unpredictable random bytes.
    pub entropy: &'a mut dyn FnMut(&mut [u8]) -> Result<(), NoEntropy>,
    /// The counters of drops.
    pub counters: &'a mut Counters,
}

/// The result of reading the next frame of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// There is no complete frame.
    Quiet,
    /// A frame without content for this node; what was dropped was counted.
    Taken {
        /// The peer of the connection, as far as it is known.
        from: &'a str,
        /// Bytes of the frame.
        bytes: usize,
    },
    /// The connection has given the name of its node.
    Named {
        /// Its origin.
        from: &'a str,
        /// The name of the node.
        name: &'a str,
    },
    /// An envelope.
    Content {
        /// The sender.
        from: &'a str,
        /// The envelope.
        bytes: &'a [u8],
    },
    /// A tool, not a node, begins the connection with this frame. It is to be handed over
    /// ([`Connections::release`]).
    Tool(Vec<u8>),
    /// The connection has to end ([`Connections::end`]); the reason was counted.
    Bad(Count),
}

/// Why a connection ends, and what is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The peer.
    pub name: String,
    /// Frames that wait for that peer, if anything was sent to it.
    pub waiting: Option<usize>,
}

/// The connections of a node; see the module.
pub struct Connections {
    /// The frame that begins each connection without a key.
    greeting: Arc<[u8]>,
    guard: Option<Box<Guard>>,
    peers: OrderedMap<Arc<str>, Peer>,
    all: OrderedMap<ConnectionId, Connection>,
    /// With a key: the proven connection of each name.
    proven: OrderedMap<Arc<str>, ConnectionId>,
    /// With a key: accepted connections and the deadline to prove their name; some are gone or have
    /// proven it.
    unproven: VecDeque<(u64, ConnectionId)>,
    /// Peers for which something new waits.
    touched: OrderedSet<Arc<str>>,
    timers: OrderedSet<(u64, Arc<str>)>,
    /// Without a key: when the connections that were taken may be idle.
    idle: OrderedSet<(u64, ConnectionId)>,
    actions: VecDeque<Action>,
    /// The number of the next connection.
    next: u64,
    /// Connections that other nodes made.
    taken: usize,
    /// Bytes of partial frames, over all connections.
    held: usize,
    /// The frame that was opened last.
    frame: Vec<u8>,
    /// Its sender.
    from: String,
}

impl Connections {
    /// Without connections, for a node of this address; with a guard for
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
            peers: OrderedMap::new(),
            all: OrderedMap::new(),
            proven: OrderedMap::new(),
            unproven: VecDeque::new(),
            touched: OrderedSet::new(),
            timers: OrderedSet::new(),
            idle: OrderedSet::new(),
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

    /// Sends what waits over existing connections; begins those that are missing.
    pub fn pump(&mut self, cx: &mut Context<'_>) {
        for name in std::mem::take(&mut self.touched) {
            let Some(peer) = self.peers.get(&name) else { continue };
            let state = peer.state;
            match (self.current(&name), state) {
                (Some(id), _) => self.fill(id, cx),
                (None, LinkState::Resting) => self.connect(&name, cx.now_ns),
                (None, LinkState::Connected(id)) if self.guard.is_none() => {
                    self.actions.push_back(Action::Write(id));
                }
                // A timer or the owner resumes it.
                (None, LinkState::Connected(_) | LinkState::Waiting | LinkState::Connecting(_)) => {
                }
            }
            self.set_timer(&name);
        }
    }

    /// The next action for the owner.
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

    /// The bytes to write next; empty if there are none.
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

    /// Notes that `count` bytes of [`Connections::unwritten`] were written.
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

    /// With a key: the connection by which content can go to a peer now.
    fn current(&self, name: &Arc<str>) -> Option<ConnectionId> {
        self.guard.as_ref()?;
        self.proven.get(name).copied()
    }
}

/// The route of a connection in a guard.
fn route(id: ConnectionId) -> String {
    format!("{ROUTE}{}", id.0)
}

/// The connection of a route of a guard.
fn connection_of(route: &str) -> Option<ConnectionId> {
    route.strip_prefix(ROUTE)?.parse().ok().map(ConnectionId)
}

const _: () = assert!(BACKOFF_MAX_NS < LEASE_NS);
