//! Connections without a key over which nothing goes end. (Those with a key have signs of life.)
//!
//! The side that writes a connection closes it first: it knows that nothing is under way. The side
//! that reads waits longer, and then ends what another host has left open.

use std::sync::Arc;

use super::connection::Origin;
use super::peer::LinkState;
use super::{ConnectionId, Connections, Context};
use crate::counters::Count;

/// How long nothing was written over a connection that this node made.
pub const MADE_IDLE_NS: u64 = 120_000_000_000;

/// How long nothing came over a connection that this node accepted.
pub const TAKEN_IDLE_NS: u64 = 300_000_000_000;

impl Connections {
    /// Has a connection that was accepted end when it is idle.
    pub(super) fn watch_idle(&mut self, id: ConnectionId) {
        let Some(connection) = self.all.get_mut(&id) else { return };
        let at = connection.received_ns.saturating_add(TAKEN_IDLE_NS);
        connection.idle_ns = Some(at);
        self.idle.insert((at, id));
    }

    /// Ends the accepted connections that are idle.
    pub(super) fn end_idle(&mut self, cx: &mut Context<'_>) {
        while let Some(&(at, id)) = self.idle.first().filter(|(at, _)| *at <= cx.now_ns) {
            self.idle.remove(&(at, id));
            let received_ns = self.all.get(&id).map(|one| one.received_ns);
            if received_ns.is_some_and(|then| then.saturating_add(TAKEN_IDLE_NS) > cx.now_ns) {
                self.watch_idle(id);
            } else if received_ns.is_some() {
                cx.counters.count(Count::ConnectionIdle);
                self.end(id, cx);
            }
        }
    }

    /// When the connection that was made to a peer is idle, if nothing is written before.
    pub(super) fn made_idle_ns(&self, name: &Arc<str>) -> Option<u64> {
        let peer = self.peers.get(name).filter(|peer| self.guard.is_none() && peer.is_idle())?;
        let LinkState::Connected(id) = peer.state else { return None };
        let is_made = self.all.get(&id).is_some_and(|one| one.origin == Origin::Made);
        is_made.then(|| peer.well_ns.max(peer.connected_ns).saturating_add(MADE_IDLE_NS))
    }

    /// Closes the connection that was made to a peer, if it is idle.
    pub(super) fn close_idle(&mut self, name: &Arc<str>, cx: &mut Context<'_>) -> bool {
        let is_idle = self.made_idle_ns(name).is_some_and(|at| at <= cx.now_ns);
        if is_idle {
            cx.counters.count(Count::ConnectionIdle);
            self.drop_made(name, None);
        }
        is_idle
    }
}
