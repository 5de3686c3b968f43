//! The connections of a node whose tuples travel by TCP.
//!
//! ```text
//! mail -> [outgoing] one connection to each peer, made when something waits -> written only
//!         [incoming] from whoever connects to the port                      -> read only -> mail
//! ```
//! So two nodes that talk both ways have two connections, and neither has to be agreed upon. One
//! that breaks is made again, after a while, as long as something waits for it. Whatever a peer
//! can make grow has a limit: connections, frames that wait, frames of which a part has come.

mod incoming;
mod outgoing;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use tidemill_event::{Endpoint, Loop, WatchId};

use super::{NodeId, World};
use incoming::Incoming;
use outgoing::Peer;
use tidemill_fabric::counters::{Count, Counters};
use tidemill_fabric::greeting::greeting;
use tidemill_fabric::stream::write_frame;

pub(super) use incoming::resume;
pub(super) use outgoing::pump;

/// Connections that a node makes, and as many that it takes.
const CONNECTIONS_MAX: usize = 4096;

/// A connection, or the port for them, and who hears of it.
#[derive(Clone, Copy)]
struct Link {
    endpoint: Endpoint,
    watch: WatchId,
}

impl Link {
    fn close<W: World>(self, events: &mut Loop<W>) {
        events.unwatch(self.watch);
        events.host().close(self.endpoint);
    }
}

/// The connections of one node; see the module.
pub(super) struct Streams {
    /// Where others connect to.
    port: Link,
    /// What each connection begins with, a frame.
    greeting: Arc<[u8]>,
    peers: BTreeMap<Arc<str>, Peer>,
    /// Peers for which something new waits.
    touched: BTreeSet<Arc<str>>,
    /// Connections that had to go for others.
    evicted: Vec<Link>,
    incoming: BTreeMap<u64, Incoming>,
    /// Connections taken so far: the next one's number.
    accepted: u64,
    /// Bytes of frames of which a part has come, over all connections.
    held: usize,
    /// Nothing is read meanwhile, for the node has too much to do.
    is_paused: bool,
}

impl Streams {
    /// Takes connections from `port`, a listener. `address` is what the node is called.
    ///
    /// # Errors
    /// What the host says about watching the port; it is closed then.
    pub(super) fn open<W: World>(
        events: &mut Loop<W>,
        port: Endpoint,
        (id, life): (NodeId, u32),
        address: &str,
    ) -> io::Result<Streams> {
        let mut frame = Vec::new();
        let written = write_frame(&mut frame, &greeting(address));
        let watched = match written {
            Ok(()) => incoming::watch(events, port, id, life),
            Err(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "an address without end")),
        };
        let watch = watched.inspect_err(|_| events.host().close(port))?;
        Ok(Streams {
            port: Link { endpoint: port, watch },
            greeting: frame.into(),
            peers: BTreeMap::new(),
            touched: BTreeSet::new(),
            evicted: Vec::new(),
            incoming: BTreeMap::new(),
            accepted: 0,
            held: 0,
            is_paused: false,
        })
    }

    /// Ends all connections at once; what waits goes with them.
    pub(super) fn close<W: World>(self, events: &mut Loop<W>) {
        let taken = self.incoming.values().map(|incoming| incoming.link);
        let made = self.peers.values().filter_map(|peer| peer.link());
        for link in taken.chain(made).chain(self.evicted).chain([self.port]) {
            link.close(events);
        }
    }

    /// Queues an envelope for a peer; [`pump`] sends it.
    pub(super) fn send(&mut self, to: &str, envelope: &[u8], now_ns: u64, counters: &mut Counters) {
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

    /// True if nothing waits for a connection.
    pub(super) fn has_written_all(&self) -> bool {
        self.peers.values().all(Peer::is_idle)
    }

    /// Forgets the peer for which nothing waits and that was written to least lately.
    fn evict(&mut self, counters: &mut Counters) -> bool {
        let idle = self.peers.iter().filter(|(_, peer)| peer.is_idle());
        let Some((address, _)) = idle.min_by_key(|(_, peer)| peer.well_ns()) else { return false };
        let address = address.clone();
        if let Some(link) = self.peers.remove(&address).and_then(|peer| peer.link()) {
            counters.count(Count::ConnectionEvicted);
            self.evicted.push(link);
        }
        true
    }
}
