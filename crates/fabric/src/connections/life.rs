//! The life of connections: made, accepted, broken, given up.

use std::sync::Arc;

use super::connection::{Connection, Origin, RemoteEnd};
use super::peer::{LinkState, Peer};
use super::{
    Action, CONNECT_NS, CONNECTIONS_MAX, ConnectionId, Connections, Context, Ended, UNPROVEN_NS,
    route, sealed,
};
use crate::counters::{Count, Counters};
use crate::reliable::LEASE_NS;

impl Connections {
    /// Accepts a connection that the other side made.
    pub fn accept(&mut self, from: String, cx: &mut Context<'_>) -> ConnectionId {
        cx.counters.count(Count::Accepted);
        let id = self.draw();
        let mut connection = Connection::new(Origin::Taken, RemoteEnd::Unknown(from), cx.now_ns);
        if self.guard.is_some() {
            connection.reader.set_bytes_max(sealed::UNPROVEN_BYTES_MAX);
            self.make_room_for_unproven(cx.counters);
            self.unproven.push_back((cx.now_ns.saturating_add(UNPROVEN_NS), id));
        } else if self.taken >= CONNECTIONS_MAX {
            let taken = self.all.iter().filter(|(_, one)| one.origin == Origin::Taken);
            let oldest = taken.min_by_key(|(_, one)| one.received_ns).map(|(&id, _)| id);
            oldest.into_iter().for_each(|old| self.evict_connection(old, cx.counters));
        }
        self.taken += 1;
        self.all.insert(id, connection);
        if self.guard.is_none() {
            self.watch_idle(id);
        }
        id
    }

    pub(super) fn draw(&mut self) -> ConnectionId {
        let id = ConnectionId(self.next);
        self.next += 1;
        id
    }

    pub(super) fn evict_connection(&mut self, id: ConnectionId, counters: &mut Counters) {
        counters.count(Count::ConnectionEvicted);
        self.remove(id);
        self.actions.push_back(Action::Close(id));
    }

    /// Evicts the least recently written peer for which nothing waits.
    pub(super) fn evict(&mut self, counters: &mut Counters) -> bool {
        let idle = self.peers.iter().filter(|(_, peer)| peer.is_idle());
        let Some((address, _)) = idle.min_by_key(|(_, peer)| peer.well_ns) else { return false };
        let address = address.clone();
        self.forget(&address, counters);
        true
    }

    /// Forgets a peer and the connection that was made to it.
    pub(super) fn forget(&mut self, name: &Arc<str>, counters: &mut Counters) -> Option<Peer> {
        let peer = self.peers.remove(name)?;
        peer.timer.map(|at| self.timers.remove(&(at, name.clone())));
        peer.link().into_iter().for_each(|id| self.evict_connection(id, counters));
        Some(peer)
    }

    pub(super) fn connect(&mut self, name: &Arc<str>, now_ns: u64) {
        let id = self.draw();
        let Some(peer) = self.peers.get_mut(name) else { return };
        peer.enter(LinkState::Connecting(id), Some(now_ns.saturating_add(CONNECT_NS)));
        let connection = Connection::new(Origin::Made, RemoteEnd::Node(name.to_string()), now_ns);
        self.all.insert(id, Connection { peer: Some(name.clone()), ..connection });
        self.actions.push_back(Action::Connect(id, name.clone()));
    }

    /// Whether a connection is being made.
    pub fn is_connecting(&self, id: ConnectionId) -> bool {
        let peer = self.all.get(&id).and_then(|one| self.peers.get(one.peer.as_ref()?));
        peer.is_some_and(|peer| peer.state == LinkState::Connecting(id))
    }

    /// A connection is established.
    pub fn connected(&mut self, id: ConnectionId, cx: &mut Context<'_>) {
        let Some(name) = self.all.get(&id).and_then(|one| one.peer.clone()) else { return };
        let Some(peer) = self.peers.get_mut(&name) else { return };
        cx.counters.count(Count::Connected);
        peer.connected_ns = cx.now_ns;
        let until_ns = self.guard.as_ref().map(|_| cx.now_ns.saturating_add(UNPROVEN_NS));
        peer.enter(LinkState::Connected(id), until_ns);
        match self.guard {
            None => self.actions.push_back(Action::Write(id)),
            // Both sides have connected at once.
            Some(_) if self.current(&name).is_some() => self.drop_made(&name, None),
            Some(_) => self.guarded(cx, |guard, cx| guard.connect(&name, &route(id), cx)),
        }
        self.set_timer(&name);
    }

    /// The other side has closed a connection.
    pub fn closed(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Option<Ended> {
        let connection = self.all.get(&id)?;
        if connection.origin == Origin::Taken && connection.reader.held() == 0 {
            self.end(id, cx)
        } else {
            self.broken(id, cx)
        }
    }

    /// A connection is gone, or could not be made.
    pub fn broken(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Option<Ended> {
        if self.all.get(&id)?.origin == Origin::Taken {
            cx.counters.count(Count::ConnectionBroken);
        }
        self.end(id, cx)
    }

    /// Ends a connection after [`Step::Bad`], or that the other side has ended in order.
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

    /// Hands over a connection that a tool began: where it comes from, and the bytes not yet
    /// consumed.
    pub fn release(&mut self, id: ConnectionId) -> Option<(String, Vec<u8>)> {
        let connection = self.remove(id)?;
        Some((connection.from.name().to_owned(), connection.reader.into_rest()))
    }

    /// Ends the connection that was made to a peer, which does not count as a failure.
    pub(super) fn drop_made(&mut self, name: &Arc<str>, except: Option<ConnectionId>) {
        let Some(peer) = self.peers.get_mut(name) else { return };
        let Some(id) = peer.link().filter(|&id| Some(id) != except) else { return };
        peer.queue.rewind();
        peer.enter(LinkState::Resting, None);
        self.remove(id);
        self.actions.push_back(Action::Close(id));
    }

    /// Removes a connection from all tables, but not from its peer's state.
    pub(super) fn remove(&mut self, id: ConnectionId) -> Option<Connection> {
        let connection = self.all.remove(&id)?;
        self.held -= connection.held;
        self.taken -= usize::from(connection.origin == Origin::Taken);
        connection.idle_ns.map(|at| self.idle.remove(&(at, id)));
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
        let idle = self.idle.first().map(|&(at, _)| at);
        let guard = self.guard.as_ref().and_then(|guard| guard.next_timeout());
        [peers, unproven, idle, guard].into_iter().flatten().min()
    }

    /// Handles what is due.
    pub fn on_time(&mut self, cx: &mut Context<'_>) {
        self.end_unproven(cx);
        self.end_idle(cx);
        if self.guard.is_some() {
            self.guarded(cx, |guard, cx| guard.on_time(cx));
            self.end_silent(cx);
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

    /// Handles a peer whose timer has expired.
    pub(super) fn look(&mut self, name: &Arc<str>, cx: &mut Context<'_>) {
        if self.close_idle(name, cx) {
            return;
        }
        let current = self.current(name);
        let Some(peer) = self.peers.get_mut(name) else { return };
        let is_lost = peer.is_lost(cx.now_ns);
        let is_over = peer.until_ns.is_some_and(|at| at <= cx.now_ns);
        match (peer.state, current) {
            (LinkState::Waiting, None) if is_over && (is_lost || peer.is_idle()) => {
                self.lose(name, cx);
            }
            (LinkState::Waiting, None) if is_over => self.connect(name, cx.now_ns),
            (LinkState::Waiting, Some(_)) if is_over => peer.enter(LinkState::Resting, None),
            (LinkState::Connecting(id) | LinkState::Connected(id), _) if is_over => {
                drop(self.broken(id, cx));
            }
            (LinkState::Connected(id), None) if is_lost => drop(self.broken(id, cx)),
            // Nothing was written for too long.
            (_, Some(id)) if is_lost => drop(self.broken(id, cx)),
            (LinkState::Resting, None) if is_lost => self.lose(name, cx),
            _ => {}
        }
    }

    /// Drops a peer and what has waited for it for too long.
    pub(super) fn lose(&mut self, name: &Arc<str>, cx: &mut Context<'_>) {
        let Some(peer) = self.forget(name, cx.counters) else { return };
        let dropped = peer.queue.waiting();
        if dropped > 0 {
            let reason = if self.guard.is_some() { Count::NoSession } else { Count::PeerLost };
            cx.counters.add(reason, dropped as u64);
            self.actions.push_back(Action::Lost(name.clone(), dropped));
        }
    }

    pub(super) fn set_timer(&mut self, name: &Arc<str>) {
        let idle = self.made_idle_ns(name);
        let Some(peer) = self.peers.get_mut(name) else { return };
        let lost = (!peer.is_idle()).then(|| peer.well_ns.saturating_add(LEASE_NS));
        let next = match peer.state {
            LinkState::Waiting | LinkState::Connecting(_) => peer.until_ns,
            LinkState::Resting | LinkState::Connected(_) => {
                [peer.until_ns, lost, idle].into_iter().flatten().min()
            }
        };
        if peer.timer != next {
            peer.timer.map(|at| self.timers.remove(&(at, name.clone())));
            next.map(|at| self.timers.insert((at, name.clone())));
            peer.timer = next;
        }
    }
}
