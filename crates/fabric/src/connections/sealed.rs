//! Connections of a node that has a key: a guard's frames, each preceded by its length, both ways.
//!
//! ```text
//! made ---- connected: handshake ---+             proven: a frame of a session has come
//! taken --- unproven: short frames, +------------> all frames, contents both ways
//!           few of them, not for long
//! ```
//! A connection is a route of the guard, named by its number. An invalid frame ends it: nothing on
//! a connection is changed, lost or reordered by accident.

use std::iter;
use std::sync::Arc;

use super::connection::{FrameKind, Origin, RemoteEnd};
use super::{
    Action, CONNECTIONS_MAX, ConnectionId, Connections, Context, Step, UNPROVEN_MAX, connection_of,
    route,
};
use crate::counters::{Count, Counters};
use crate::seal::keys::{FleetKeys, KnownPeers};
use crate::seal::{self, DATA_HEAD_BYTES, Guard, INITIATION_BYTES, NoEntropy, Port};
use crate::stream::FRAME_BYTES_MAX;

/// The most bytes of a frame of an unproven connection: the first message of a handshake is the
/// longest.
pub(super) const UNPROVEN_BYTES_MAX: usize = INITIATION_BYTES;

/// Bytes of sealed content that may wait to be written: content beyond that waits unsealed.
const AHEAD_BYTES: usize = 64 << 10;

/// Other frames that may wait beside it, 512 bytes at most each. A peer that makes this node answer
/// without reading the answers loses its connection, proven or not.
const UPKEEP_MAX: usize = 256;
const UNPROVEN_UPKEEP_MAX: usize = 8;

/// Collects the frames that a guard sends to its routes.
struct Outbox<'a> {
    frames: Vec<(ConnectionId, Vec<u8>)>,
    entropy: &'a mut dyn FnMut(&mut [u8]) -> Result<(), NoEntropy>,
}

impl Port for Outbox<'_> {
    fn send(&mut self, route: &str, frame: &[u8]) {
        // A route without a connection belonged to one that is gone.
        self.frames.extend(connection_of(route).map(|id| (id, frame.to_vec())));
    }

    fn fill_entropy(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        (self.entropy)(bytes)
    }
}

impl Connections {
    /// Replaces the keys of the fleet and the list of known peers. Connections of peers that are no
    /// longer in the list end.
    pub fn replace_keys(
        &mut self,
        keys: FleetKeys,
        known: Option<KnownPeers>,
        cx: &mut Context<'_>,
    ) {
        let Some(guard) = &mut self.guard else { return };
        guard.set_keys(keys);
        guard.set_known(known, cx.counters);
        let is_unwelcome = |name: &str| !guard.may_know(name) || !guard.knows(name);
        let proven = self.proven.iter().filter(|(name, _)| is_unwelcome(name));
        let unwelcome: Vec<_> = proven.map(|(_, &id)| id).collect();
        let peers = self.peers.keys().filter(|name| !guard.may_know(name));
        let peers: Vec<_> = peers.cloned().collect();
        unwelcome.into_iter().for_each(|id| drop(self.broken(id, cx)));
        peers.iter().for_each(|name| self.lose(name, cx));
    }

    /// Notes from now on which peers may have changed, for [`Connections::take_changed_peer`]; only
    /// with a key.
    pub fn watch_peers(&mut self) {
        self.guard.iter_mut().for_each(|guard| guard.watch_peers());
    }

    /// The name of a peer that may have begun, ended or changed since it was last given.
    pub fn take_changed_peer(&mut self) -> Option<Box<str>> {
        self.guard.as_mut()?.take_changed()
    }

    /// Runs `work` on the guard and queues the frames that it sends on their connections.
    pub(super) fn guarded(
        &mut self,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut Guard, &mut seal::Context<'_>),
    ) {
        let Some(guard) = &mut self.guard else { return };
        let mut outbox = Outbox { frames: Vec::new(), entropy: cx.entropy };
        let (now_ns, counters) = (cx.now_ns, &mut *cx.counters);
        f(guard, &mut seal::Context { now_ns, port: &mut outbox, counters });
        let frames = outbox.frames;
        frames.iter().for_each(|(id, frame)| self.put_out(*id, frame, FrameKind::Upkeep, cx));
    }

    fn put_out(&mut self, id: ConnectionId, frame: &[u8], kind: FrameKind, cx: &mut Context<'_>) {
        let Some(connection) = self.all.get_mut(&id) else { return };
        let was_empty = connection.out.unwritten().is_empty();
        let is_written = connection.out.push(frame, kind);
        debug_assert!(is_written, "a guard seals what fits into a frame");
        let upkeep_max = match connection.peer {
            Some(_) => UPKEEP_MAX,
            None => UNPROVEN_UPKEEP_MAX,
        };
        if connection.out.upkeep() > upkeep_max {
            cx.counters.count(Count::QueueFull);
            self.broken(id, cx);
        } else if was_empty {
            self.actions.push_back(Action::Write(id));
        }
    }

    /// Seals envelopes of a connection's peer, up to [`AHEAD_BYTES`].
    pub(super) fn fill(&mut self, id: ConnectionId, cx: &mut Context<'_>) {
        let Some(name) = self.all.get(&id).and_then(|one| one.peer.clone()) else { return };
        let Some(guard) = &mut self.guard else { return };
        let Some(peer) = self.peers.get_mut(&name).filter(|peer| peer.queue.has_more()) else {
            return;
        };
        if self.proven.get(&name) != Some(&id) {
            return;
        }
        if guard.open_route(&name, cx.now_ns) != Some(&route(id)) {
            // The session has ended, the connection has not.
            return self.guarded(cx, |guard, cx| guard.connect(&name, &route(id), cx));
        }
        let mut outbox = Outbox { frames: Vec::new(), entropy: cx.entropy };
        let mut sealed = Vec::new();
        let mut bytes = self.all.get(&id).map_or(0, |one| one.out.unwritten().len());
        while bytes < AHEAD_BYTES
            && let Some(envelope) = peer.queue.take()
        {
            let (now_ns, counters) = (cx.now_ns, &mut *cx.counters);
            let mut context = seal::Context { now_ns, port: &mut outbox, counters };
            guard.send(&name, envelope, &mut context);
            // The content comes first; a message of a handshake may follow.
            let kinds = iter::once(FrameKind::Content).chain(iter::repeat(FrameKind::Upkeep));
            let frames = outbox.frames.drain(..).map(|(_, frame)| frame);
            let before = sealed.len();
            sealed.extend(frames.zip(kinds));
            // An envelope that cannot be sealed was counted and dropped.
            let Some((frame, _)) = sealed.get(before) else { break };
            bytes += frame.len();
        }
        sealed.iter().for_each(|(frame, kind)| self.put_out(id, frame, *kind, cx));
    }

    pub(super) fn step_sealed(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Step<'_> {
        let (drops, length) = (cx.counters.drops(), self.frame.len());
        let Some(guard) = &mut self.guard else { return Step::Quiet };
        let mut outbox = Outbox { frames: Vec::new(), entropy: cx.entropy };
        let (now_ns, counters) = (cx.now_ns, &mut *cx.counters);
        let mut context = seal::Context { now_ns, port: &mut outbox, counters };
        let before = guard.half_open();
        let opened = guard.open(&route(id), &mut self.frame, &mut context);
        let opened = opened.map(|opened| (opened.name.to_owned(), opened.content.map(<[u8]>::len)));
        let has_begun = guard.half_open() > before;
        self.all.get_mut(&id).into_iter().for_each(|one| one.has_begun |= has_begun);
        let frames = outbox.frames;
        frames.iter().for_each(|(id, frame)| self.put_out(*id, frame, FrameKind::Upkeep, cx));
        if let Some((name, content)) = opened {
            if !self.prove(id, name, cx) {
                cx.counters.count(Count::WrongName);
                return Step::Bad(Count::WrongName);
            }
            let Some(one) = self.all.get(&id) else { return Step::Quiet };
            let from = one.from.name();
            let start = DATA_HEAD_BYTES + 1;
            let content = content.and_then(|length| self.frame.get(start..start + length));
            return match content {
                Some(bytes) => Step::Content { from, bytes },
                None => Step::Taken { from, bytes: length },
            };
        }
        let Some(one) = self.all.get(&id) else { return Step::Quiet };
        let is_proven = one.peer.is_some();
        match cx.counters.dropped_since(drops) {
            Some(reason) if ends(reason, is_proven) => Step::Bad(reason),
            _ => Step::Taken { from: one.from.name(), bytes: length },
        }
    }

    /// A frame of a session with a node of that name has come over a connection: the connection is
    /// proven to be that node's, unless it is another's already.
    fn prove(&mut self, id: ConnectionId, name: String, cx: &mut Context<'_>) -> bool {
        if self.proven.get(&*name) == Some(&id) {
            return true;
        }
        let Some(connection) = self.all.get_mut(&id) else { return true };
        if connection.peer.as_deref().is_some_and(|peer| *peer != *name) {
            return false;
        }
        let name: Arc<str> = name.into();
        connection.from = RemoteEnd::Node(name.to_string());
        connection.peer = Some(name.clone());
        connection.reader.set_bytes_max(FRAME_BYTES_MAX);
        if connection.origin == Origin::Taken {
            self.make_room_for_proven(id, cx.counters);
        }
        // Of two connections with a node the later one is used.
        if let Some(old) = self.proven.insert(name.clone(), id) {
            self.peers.get_mut(&name).into_iter().for_each(|peer| peer.queue.rewind());
            self.remove(old);
            self.actions.push_back(Action::Close(old));
        }
        self.drop_made(&name, Some(id));
        if let Some(peer) = self.peers.get_mut(&name) {
            peer.until_ns = peer.until_ns.filter(|_| peer.link() != Some(id));
            self.set_timer(&name);
            self.touched.insert(name);
        }
        true
    }

    /// Ends the connections whose time to prove their name is over.
    pub(super) fn end_unproven(&mut self, cx: &mut Context<'_>) {
        while let Some((_, id)) = self.unproven.pop_front_if(|(at, _)| *at <= cx.now_ns) {
            if self.all.get(&id).is_some_and(|one| one.peer.is_none()) {
                cx.counters.count(Count::HandshakeTimeout);
                self.broken(id, cx);
            }
        }
    }

    /// Ends the connections without answers: the other host may be gone, or waits for the rest of a
    /// corrupt frame.
    pub(super) fn end_silent(&mut self, cx: &mut Context<'_>) {
        let silent = self.guard.as_mut().map(|guard| guard.take_silent()).unwrap_or_default();
        for id in silent.iter().filter_map(|route| connection_of(route)) {
            self.broken(id, cx);
        }
    }

    /// Ends the oldest of the connections that have begun no handshake, if these are too many. A
    /// node of the fleet begins as soon as it is connected; the guard limits the handshakes under
    /// way.
    pub(super) fn make_room_for_unproven(&mut self, counters: &mut Counters) {
        if self.unproven.len() < UNPROVEN_MAX {
            return;
        }
        let all = &self.all;
        self.unproven.retain(|(_, id)| all.get(id).is_some_and(|one| one.peer.is_none()));
        let has_begun = |id: &ConnectionId| all.get(id).is_some_and(|one| one.has_begun);
        let silent = || self.unproven.iter().filter(|(_, id)| !has_begun(id));
        let surplus = (silent().count() + 1).saturating_sub(UNPROVEN_MAX);
        let oldest: Vec<ConnectionId> = silent().take(surplus).map(|&(_, id)| id).collect();
        oldest.into_iter().for_each(|id| self.evict_connection(id, counters));
    }

    /// Ends the connection of the node that was silent longest, if there are too many.
    fn make_room_for_proven(&mut self, id: ConnectionId, counters: &mut Counters) {
        if self.proven.len() < CONNECTIONS_MAX {
            return;
        }
        let proven = self.proven.values().filter(|&&one| one != id);
        let received_ns = |id: &&ConnectionId| self.all.get(id).map_or(0, |one| one.received_ns);
        let oldest = proven.min_by_key(received_ns).copied();
        oldest.into_iter().for_each(|old| self.evict_connection(old, counters));
    }
}

/// Whether a dropped frame ends its connection. Late frames of an ended session are tolerated on a
/// proven connection; an unproven one has a single try.
fn ends(reason: Count, is_proven: bool) -> bool {
    use Count::{
        BadCookie, BadMac, BadSeal, HalfOpenFull, HandshakeFailed, Malformed, OutOfOrder, Replayed,
        TooManyPeers, UnknownSession, Unsealed, WrongIdentity, WrongName,
    };
    match reason {
        Unsealed | Malformed | BadMac | HandshakeFailed | WrongName | WrongIdentity | BadSeal
        | Replayed | OutOfOrder => true,
        UnknownSession | BadCookie | HalfOpenFull | TooManyPeers => !is_proven,
        _ => false,
    }
}
