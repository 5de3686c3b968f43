//! The resources of a node for its connections; each figure has a limit.

use super::Connections;
use super::connection::{Connection, Origin};

/// A snapshot of what a node holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Load {
    /// Connections, also those that are being made.
    pub connections: usize,
    /// Those of them that other nodes made.
    pub taken: usize,
    /// With a key: those that other nodes made and that have not proven their name.
    pub unproven: usize,
    /// With a key: those of them that have begun no handshake.
    pub silent: usize,
    /// Nodes that something was sent to, or is to be.
    pub peers: usize,
    /// Envelopes that wait, over all peers.
    pub waiting: usize,
    /// The bytes of the longest queue of a peer.
    pub queue_bytes: usize,
    /// Bytes of partial frames, over all connections.
    pub held_bytes: usize,
}

impl Connections {
    /// The current load.
    pub fn load(&self) -> Load {
        let is_unproven = |one: &&Connection| {
            self.guard.is_some() && one.origin == Origin::Taken && one.peer.is_none()
        };
        let unproven = || self.all.values().filter(is_unproven);
        let queues = || self.peers.values().map(|peer| &peer.queue);
        Load {
            connections: self.all.len(),
            taken: self.taken,
            unproven: unproven().count(),
            silent: unproven().filter(|one| !one.has_begun).count(),
            peers: self.peers.len(),
            waiting: queues().map(|queue| queue.waiting()).sum(),
            queue_bytes: queues().map(|queue| queue.bytes()).max().unwrap_or(0),
            held_bytes: self.held,
        }
    }
}
