//! The table of peers: `sys::peer(@N, Address, Identity, Since, State)`.
//!
//! A node whose program reads the table keeps it: the loop queues changes of rows as events of
//! later turns, when a peer is added, removed or changed. Other programs cost nothing; a query for
//! the table alone is answered from the present state.

use tidemill_fabric::seal::{PeerInfo, PeerState};
use tidemill_relation::{OwnedValue, SeqBuilder, Value};

use super::clocks::Clocks;
use super::peer_table::Row;
use super::state::{Alive, INBOX_MAX};
use crate::node::Event;

fn sealed(info: &PeerInfo<'_>) -> Row {
    let identity = info.identity.map_or_else(String::new, |identity| identity.to_string());
    let state = match info.state {
        PeerState::Handshake => "handshake",
        PeerState::Session => "session",
        PeerState::Lost => "lost",
    };
    Row { identity, since_ns: info.since_ns, state }
}

fn open(since_ns: u64) -> Row {
    Row { identity: String::new(), since_ns, state: "open" }
}

fn columns(node: &str, name: &str, row: &Row, clocks: Clocks) -> Vec<OwnedValue> {
    let since = Value::Time(clocks.wall_of(row.since_ns));
    let values = [
        Value::Str(node),
        Value::Str(name),
        Value::Str(&row.identity),
        since,
        Value::Str(row.state),
    ];
    values.map(OwnedValue::new).to_vec()
}

impl Alive {
    /// Watches changes of peers from now on, if the program reads them.
    pub(super) fn watch_peers(&mut self) {
        if self.peers.is_none() {
            return;
        }
        match (&mut self.guard, self.streams.as_mut().filter(|streams| streams.is_sealed())) {
            (Some(guard), _) => guard.watch_peers(),
            (None, Some(streams)) => streams.connections_mut().watch_peers(),
            (None, None) => self.mail.endpoint_mut().watch_peers(),
        }
    }

    /// The name of a peer that may have changed since it was last given.
    fn take_changed_peer(&mut self) -> Option<Box<str>> {
        match (&mut self.guard, self.streams.as_mut().filter(|streams| streams.is_sealed())) {
            (Some(guard), _) => guard.take_changed(),
            (None, Some(streams)) => streams.connections_mut().take_changed_peer(),
            (None, None) => self.mail.endpoint_mut().take_changed(),
        }
    }

    fn row_of(&self, name: &str, now_ns: u64) -> Option<Row> {
        match self.any_guard() {
            Some(guard) => guard.peer_of(name, now_ns).as_ref().map(sealed),
            None => self.mail.endpoint().known_since(name).map(open),
        }
    }

    /// Queues changes in the node's inbox; returns the number of events. Changes that find no room
    /// are retried the next time.
    pub(super) fn note_peers(&mut self, clocks: Clocks) -> usize {
        let Some(mut peers) = self.peers.take() else { return 0 };
        let mut count = 0;
        while self.node.waiting() < INBOX_MAX {
            let Some(name) = self.take_changed_peer() else { break };
            let (old, new) = (peers.rows.get(&name), self.row_of(&name, clocks.now_ns));
            if old == new.as_ref() {
                continue;
            }
            let delete = new.is_none();
            let Some(row) = new.as_ref().or(old) else { continue };
            let node = &self.node.identity().address;
            let columns = columns(node, &name, row, clocks);
            let (relation, row) = (peers.relation, SeqBuilder::from(&columns[..]));
            self.node.enqueue(Event::Tuple { relation, row, delete, received: false });
            count += 1;
            match new {
                Some(row) => peers.rows.insert(name, row),
                None => peers.rows.remove(&name),
            };
        }
        self.peers = Some(peers);
        count
    }

    /// The rows of all peers, for a query.
    pub(super) fn peer_rows(&self, clocks: Clocks) -> Vec<Vec<OwnedValue>> {
        let node = &self.node.identity().address;
        match self.any_guard() {
            Some(guard) => {
                let peers = guard.peers(clocks.now_ns);
                peers.map(|peer| columns(node, peer.name, &sealed(&peer), clocks)).collect()
            }
            None => {
                let endpoint = self.mail.endpoint();
                let known = |name| Some((name, endpoint.known_since(name)?));
                let peers = endpoint.addresses().filter_map(known);
                peers.map(|(name, since)| columns(node, name, &open(since), clocks)).collect()
            }
        }
    }
}
