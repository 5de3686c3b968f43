//! The sockets of connections, and their watches.

use std::io;

use tidemill_stdx::ordered::OrderedMap;

use tidemill_event::{Endpoint, Host, Interest, Loop, WatchId};
use tidemill_fabric::connections::{ConnectionId, Connections, Context};
use tidemill_fabric::counters::Counters;
use tidemill_fabric::seal::NoEntropy;

/// A connection, or the port for them, with its watch.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub(super) endpoint: Endpoint,
    pub(super) watch: WatchId,
    pub(super) interest: Interest,
}

impl Link {
    pub(super) fn close<W: 'static>(self, events: &mut Loop<W>) {
        events.unwatch(self.watch);
        events.host().close(self.endpoint);
    }
}

/// The connections of one node; see [`streams`](super::streams).
pub(super) struct Streams {
    /// The listener.
    pub(super) port: Link,
    pub(super) links: OrderedMap<ConnectionId, Link>,
    pub(super) connections: Connections,
    /// Reading is paused, as the node has too much to do.
    pub(super) is_paused: bool,
}

impl Streams {
    /// Ends all connections; what waits is dropped.
    pub(super) fn close<W: 'static>(self, events: &mut Loop<W>) {
        self.links.into_values().chain([self.port]).for_each(|link| link.close(events));
    }

    /// Queues an envelope for a peer; [`pump`](super::streams::pump) sends it.
    pub(super) fn send(&mut self, to: &str, envelope: &[u8], now_ns: u64, counters: &mut Counters) {
        self.connections.send(to, envelope, now_ns, counters);
    }

    /// The state machine of the connections.
    pub(super) fn connections(&self) -> &Connections {
        &self.connections
    }

    pub(super) fn connections_mut(&mut self) -> &mut Connections {
        &mut self.connections
    }

    /// Whether the node has a key.
    pub(super) fn is_sealed(&self) -> bool {
        self.connections.guard().is_some()
    }

    /// Runs `work` on the connections.
    pub(super) fn with<T>(
        &mut self,
        host: &mut dyn Host,
        now_ns: u64,
        counters: &mut Counters,
        f: impl FnOnce(&mut Connections, &mut Context<'_>) -> T,
    ) -> T {
        let mut entropy = |bytes: &mut [u8]| host.fill_entropy(bytes).map_err(|_| NoEntropy);
        f(&mut self.connections, &mut Context { now_ns, entropy: &mut entropy, counters })
    }

    /// The interest in an established connection.
    pub(super) fn interest(&self, id: ConnectionId) -> Interest {
        let is_read = !self.is_paused || !self.connections.reads(id);
        match (is_read, !self.connections.unwritten(id).is_empty()) {
            (true, true) => Interest::ReadWrite,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::None,
        }
    }

    /// Updates the watch of a connection to its present interest.
    pub(super) fn rewatch<W: 'static>(
        &mut self,
        events: &mut Loop<W>,
        id: ConnectionId,
    ) -> io::Result<()> {
        let interest = self.interest(id);
        let Some(link) = self.links.get_mut(&id) else { return Ok(()) };
        if link.interest != interest {
            link.interest = interest;
            events.modify(link.watch, interest)?;
        }
        Ok(())
    }

    pub(super) fn rewatch_all<W: 'static>(&mut self, events: &mut Loop<W>) {
        let ids: Vec<ConnectionId> = self.links.keys().copied().collect();
        for id in ids {
            if !self.connections.is_connecting(id) {
                // A watch that has ended reports it to its connection.
                let _ = self.rewatch(events, id);
            }
        }
    }
}
