//! All peers of one node: what to do with a datagram from a route at a time, what to send, when.
//!
//! ```text
//! send(name, content)     -> sealed and sent, or kept until there is a session
//! receive(route, bytes)   -> a content with the name it comes from, or nothing
//! on_time(), next_timeout()
//! ```
//! It holds no socket, clock or source of randomness: see [`Port`] and [`Context`].

use std::collections::{BTreeMap, BTreeSet};

use tidemill_stdx::ordered::OrderedSet;

use super::cookie::{self, Cookies};
use super::frame::{
    self, CookieReply, DATA_HEAD_BYTES, Data, Finish, Frame, Initiation, NONCE_BYTES, Response,
};
use super::half_open::{COOKIE_FROM, HALF_OPEN_MAX, HalfOpen, HalfOpens};
use super::handshake::Handshake;
use super::keys::{FleetKeys, Identity, KEY_BYTES, KnownPeers, PublicKey};

use super::peer::{
    Attempt, CHALLENGE_NS, Challenge, KEEPALIVE_NS, PING_NS, Peer, RESEND_MIN_NS, Stage,
    UNANSWERED_NS,
};
use super::session::{OpenError, SEAL_BYTES, Session};
use super::{DATAGRAM_BYTES_MAX, Port};
use crate::counters::{Count, Counters};
use crate::noise::Ephemeral;
use crate::stream::FRAME_BYTES_MAX;

/// Kinds of sealed content.
const CONTENT: u8 = 0;
/// Requests a sign of life.
const PING: u8 = 1;
/// A sign of life.
const ALIVE: u8 = 2;

/// For how long the lower of two addresses insists on the handshake that it began.
const INSIST_NS: u64 = 1_000_000_000;

/// Attempts to find a free index.
const INDEX_TRIES: usize = 8;

/// The carrier of the frames of a guard.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Carrier {
    /// Datagrams: a route is an address, which may change, and frames may be lost, doubled and
    /// reordered.
    #[default]
    Datagrams,
    /// Connections: a route is one connection. A session belongs to the one that it was made on,
    /// and its frames come there without gaps and in order.
    Connections,
}

impl Carrier {
    /// Bytes of content that fit into a frame.
    fn content_bytes_max(self) -> usize {
        match self {
            Carrier::Datagrams => DATAGRAM_BYTES_MAX - SEAL_BYTES,
            Carrier::Connections => FRAME_BYTES_MAX - SEAL_BYTES,
        }
    }

    /// The route that a session is bound to.
    fn binds(self, route: &str) -> Option<Box<str>> {
        match self {
            Carrier::Datagrams => None,
            Carrier::Connections => Some(route.into()),
        }
    }
}

/// The identity of a node and the peers that it accepts.
#[derive(Clone, Debug)]
pub struct Config {
    /// The carrier of the frames.
    pub carrier: Carrier,
    /// The node's name.
    pub name: Box<str>,
    /// The keys of its fleet.
    pub keys: FleetKeys,
    /// The node's identity.
    pub identity: Identity,
    /// The peers that are let in; if there is no list, all that have a fleet key.
    pub known: Option<KnownPeers>,
    /// Peers kept at a time.
    pub peers_max: usize,
}

/// The environment of each call.
pub struct Context<'a> {
    /// The time.
    pub now_ns: u64,
    /// The socket and randomness.
    pub port: &'a mut dyn Port,
    /// The counters of refusals.
    pub counters: &'a mut Counters,
}

/// Content that came through a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content<'a> {
    /// The sender.
    pub name: &'a str,
    /// The content.
    pub bytes: &'a [u8],
}

/// A frame of a session that was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opened<'a> {
    /// The sender.
    pub name: &'a str,
    /// The content, unless the frame only showed that the peer lives.
    pub content: Option<&'a [u8]>,
}

/// The state of a peer, for display.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerInfo<'a> {
    /// Its name.
    pub name: &'a str,
    /// The source of its datagrams.
    pub route: &'a str,
    /// The identity of its session, if there is one.
    pub identity: Option<PublicKey>,
    /// Since when that identity has the name, or none has.
    pub since_ns: u64,
    /// Its state.
    pub state: PeerState,
}

/// The state of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerState {
    /// A handshake is under way, and no session.
    Handshake,
    /// There is a session.
    Session,
    /// Neither: the handshake failed, or the session ended.
    Lost,
}

/// The guard of one node; see the module.
pub struct Guard {
    config: Config,
    peers: BTreeMap<u32, Peer>,
    by_name: BTreeMap<Box<str>, u32>,
    /// The number of the next peer.
    next_peer: u32,
    /// The peer of each index of a session or handshake.
    by_index: BTreeMap<u32, u32>,
    half_open: HalfOpens,
    cookies: Cookies,
    timers: BTreeSet<(u64, u32)>,
    /// Connections without answers.
    silent: Vec<Box<str>>,
    sealed: Vec<u8>,
    /// Names of peers that may have changed, if that is watched.
    changed: Option<OrderedSet<Box<str>>>,
}

impl Guard {
    /// A guard without peers.
    pub fn new(config: Config) -> Guard {
        Guard {
            config,
            peers: BTreeMap::new(),
            by_name: BTreeMap::new(),
            next_peer: 0,
            by_index: BTreeMap::new(),
            half_open: HalfOpens::default(),
            cookies: Cookies::default(),
            timers: BTreeSet::new(),
            silent: Vec::new(),
            sealed: Vec::new(),
            changed: None,
        }
    }

    /// Replaces the fleet's keys: handshakes from now on use these, sessions go on until they are
    /// replaced.
    pub fn set_keys(&mut self, keys: FleetKeys) {
        self.config.keys = keys;
    }

    /// Replaces the list of known peers. A peer that is no longer in it, or has another identity
    /// there, is forgotten at once; what waits for it counts as [`Count::NoSession`].
    pub fn set_known(&mut self, known: Option<KnownPeers>, counters: &mut Counters) {
        self.config.known = known;
        let config = &self.config;
        let is_unwelcome = |peer: &Peer| match (peer.identity, &config.known) {
            (Some(identity), _) => !lets_in(config, &peer.name, identity),
            (None, Some(known)) => known.get(&peer.name).is_none(),
            (None, None) => false,
        };
        let unwelcome = self.peers.iter().filter(|(_, peer)| is_unwelcome(peer));
        let unwelcome: Vec<_> = unwelcome.map(|(&id, _)| id).collect();
        for id in unwelcome {
            let waiting = self.forget(id).map_or(0, |peer| peer.waiting());
            counters.add(Count::NoSession, waiting as u64);
        }
    }

    /// The public half of this node's identity.
    pub fn identity(&self) -> PublicKey {
        self.config.identity.public()
    }

    /// The state of peers, by name.
    pub fn peers(&self, now_ns: u64) -> impl Iterator<Item = PeerInfo<'_>> {
        self.by_name.keys().filter_map(move |name| self.peer_of(name, now_ns))
    }

    /// The state of the peer of that name.
    pub fn peer_of(&self, name: &str, now_ns: u64) -> Option<PeerInfo<'_>> {
        let peer = self.peers.get(self.by_name.get(name)?)?;
        let is_alive = |session: &Session| session.is_alive(now_ns);
        let state = match &peer.current {
            Some(session) if is_alive(session) => PeerState::Session,
            _ if peer.attempt.is_some() => PeerState::Handshake,
            _ => PeerState::Lost,
        };
        let (identity, since_ns) = (peer.identity, peer.since_ns);
        Some(PeerInfo { name: &peer.name, route: &peer.route, identity, since_ns, state })
    }

    /// Notes from now on which peers may have changed, for [`Guard::take_changed`].
    pub fn watch_peers(&mut self) {
        self.changed = Some(self.by_name.keys().cloned().collect());
    }

    /// The name of a peer that may have begun, ended or changed since it was last given.
    pub fn take_changed(&mut self) -> Option<Box<str>> {
        self.changed.as_mut()?.pop_first()
    }

    fn note(&mut self, id: u32) {
        if let (Some(changed), Some(peer)) = (&mut self.changed, self.peers.get(&id)) {
            changed.insert(peer.name.clone());
        }
    }

    /// Handshakes that others began and have not finished.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// True if nothing is under way but what keeps sessions up.
    pub fn only_upkeep(&self) -> bool {
        self.half_open.len() == 0 && self.peers.values().all(Peer::is_quiet)
    }

    /// True if nothing waits for a session.
    pub fn has_sent_all(&self) -> bool {
        self.peers.values().all(Peer::is_quiet)
    }

    /// When [`Guard::on_time`] has something to do, if nothing comes before.
    pub fn next_timeout(&self) -> Option<u64> {
        let peers = self.timers.first().map(|&(at, _)| at);
        [peers, self.half_open.next_end()].into_iter().flatten().min()
    }

    /// Sends content to a peer, or keeps it until there is a session with it.
    pub fn send(&mut self, name: &str, content: &[u8], cx: &mut Context<'_>) {
        if content.len() > self.config.carrier.content_bytes_max() {
            return cx.counters.count(Count::Unsendable);
        }
        if !self.may_know(name) {
            return cx.counters.count(Count::WrongIdentity);
        }
        let Some(id) = self.peer(name, cx) else { return };
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let begins = match peer.session(cx.now_ns) {
            Some(_) => {
                Guard::seal(peer, CONTENT, content, &mut self.sealed, cx);
                let since_ns = *peer.unanswered_ns.get_or_insert(cx.now_ns);
                let is_unanswered = cx.now_ns.saturating_sub(since_ns) >= UNANSWERED_NS;
                let is_old = |session: &mut Session| session.is_old(cx.now_ns);
                is_unanswered || peer.session(cx.now_ns).is_none_or(is_old)
            }
            None => {
                if !peer.wait(content, cx.now_ns) {
                    cx.counters.count(Count::NoSession);
                }
                true
            }
        };
        if begins {
            self.begin(id, cx);
        }
        self.set_timer(id);
    }

    /// Whether a node of that name may be a peer at all.
    pub fn may_know(&self, name: &str) -> bool {
        self.config.known.as_ref().is_none_or(|known| known.get(name).is_some())
    }

    /// Whether there is a peer of that name.
    pub fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The route by which content can be sealed for a peer now.
    pub fn open_route(&self, name: &str, now_ns: u64) -> Option<&str> {
        let peer = self.peers.get(self.by_name.get(name)?)?;
        peer.has_session(now_ns).then_some(&peer.route)
    }

    /// A route to a peer exists: makes a session on it, unless that is in progress.
    pub fn connect(&mut self, name: &str, route: &str, cx: &mut Context<'_>) {
        let Some(id) = self.peer(name, cx) else { return };
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if *peer.route != *route {
            peer.route = route.into();
            peer.attempt.take().map(|attempt| self.by_index.remove(&attempt.index));
        }
        self.begin(id, cx);
        self.set_timer(id);
    }

    /// A route to a peer is gone for ever, and with it what was under way there. Its session is not
    /// used any more, and the peer's name stays its own as before.
    pub fn disconnect(&mut self, name: &str, route: &str) {
        let Some(&id) = self.by_name.get(name) else { return };
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.end_connection(route);
        if let Some(challenge) = peer.challenge.take_if(|challenge| *challenge.route == *route) {
            self.by_index.remove(&challenge.session.local);
        }
        if *peer.route == *route {
            peer.route = peer.name.clone();
            peer.keepalive_at_ns = None;
            peer.attempt.take().map(|attempt| self.by_index.remove(&attempt.index));
        }
        self.set_timer(id);
    }

    /// Takes the routes of connections on which neither a handshake nor what was sent before it had
    /// an answer: nothing shows that written frames arrive.
    pub fn take_silent(&mut self) -> Vec<Box<str>> {
        std::mem::take(&mut self.silent)
    }

    /// Takes a datagram; the content in it, if it is one of a peer. It is opened where it lies.
    pub fn receive<'a>(
        &'a mut self,
        route: &str,
        bytes: &'a mut [u8],
        cx: &mut Context<'_>,
    ) -> Option<Content<'a>> {
        let Opened { name, content } = self.open(route, bytes, cx)?;
        content.map(|bytes| Content { name, bytes })
    }

    /// As [`Guard::receive`], and reports frames without content, too.
    pub fn open<'a>(
        &'a mut self,
        route: &str,
        bytes: &'a mut [u8],
        cx: &mut Context<'_>,
    ) -> Option<Opened<'a>> {
        match Frame::parse(bytes) {
            Some(Frame::Data(data)) => return self.on_data(route, data, bytes, cx),
            Some(Frame::Initiation(initiation)) => self.on_initiation(route, &initiation, cx),
            Some(Frame::Response(response)) => self.on_response(route, &response, cx),
            Some(Frame::Finish(finish)) => self.on_finish(route, &finish, cx),
            Some(Frame::Cookie(reply)) => self.on_cookie(&reply, cx),
            None if frame::is_sealed(bytes) => cx.counters.count(Count::Malformed),
            None => cx.counters.count(Count::Unsealed),
        }
        None
    }

    /// Handles what is due.
    pub fn on_time(&mut self, cx: &mut Context<'_>) {
        cx.counters.add(Count::HandshakeTimeout, self.half_open.expire(cx.now_ns));
        while let Some(&(at, id)) = self.timers.first().filter(|&&(at, _)| at <= cx.now_ns) {
            self.timers.remove(&(at, id));
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.timer = None;
            }
            self.tick(id, cx);
            self.set_timer(id);
            self.note(id);
        }
    }

    fn tick(&mut self, id: u32, cx: &mut Context<'_>) {
        let now_ns = cx.now_ns;
        let Some(peer) = self.peers.get_mut(&id) else { return };
        for index in peer.expire_sessions(now_ns) {
            self.by_index.remove(&index);
        }
        peer.expire_waiting(now_ns, cx.counters);
        if let Some(attempt) = peer.attempt.take_if(|attempt| attempt.ends_ns() <= now_ns) {
            self.by_index.remove(&attempt.index);
            cx.counters.count(Count::HandshakeTimeout);
            match self.config.carrier {
                // Its address may have changed since the last time; its name is the address to try.
                Carrier::Datagrams => peer.route = peer.name.clone(),
                Carrier::Connections if !peer.is_answered(now_ns) => {
                    self.silent.push(peer.route.clone());
                }
                Carrier::Connections => {}
            }
        }
        if let Some(attempt) = &mut peer.attempt
            && attempt.takes_resend(now_ns)
        {
            cx.port.send(&peer.route, &attempt.message);
        }
        if peer.keepalive_at_ns.is_some_and(|at| at <= now_ns) {
            Guard::seal(peer, ALIVE, &[], &mut self.sealed, cx);
        }
        match &mut peer.challenge {
            Some(challenge) if challenge.until_ns <= now_ns => self.lose_name(id, cx),
            Some(challenge) if challenge.ping_at_ns <= now_ns => {
                challenge.ping_at_ns = now_ns.saturating_add(PING_NS);
                Guard::seal(peer, PING, &[], &mut self.sealed, cx);
            }
            _ => {}
        }
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if peer.is_waiting() && peer.session(now_ns).is_none() {
            self.begin(id, cx);
        }
    }

    /// Begins a handshake with a peer, unless one is under way.
    fn begin(&mut self, id: u32, cx: &mut Context<'_>) {
        let is_busy = |peer: &Peer| peer.attempt.is_some() || peer.challenge.is_some();
        if self.peers.get(&id).is_none_or(is_busy) {
            return;
        }
        let Some((index, ephemeral)) = self.draw(cx) else { return };
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let (config, key) = (&self.config, self.config.keys.first());
        let names = [&*peer.name, &*config.name];
        let Ok((handshake, noise)) = Handshake::initiate(key, &config.identity, ephemeral, names)
        else {
            return cx.counters.count(Count::HandshakeFailed);
        };
        let message = frame::initiation(index, &noise, key);
        let Some(Frame::Initiation(Initiation { hash, .. })) = Frame::parse(&message) else {
            return;
        };
        cx.port.send(&peer.route, &message);
        self.by_index.insert(index, id);
        let first = (message, hash);
        peer.attempt = Some(Attempt::new(index, key.clone(), handshake, first, cx.now_ns));
        self.note(id);
    }

    /// A free index and an ephemeral key.
    fn draw(&mut self, cx: &mut Context<'_>) -> Option<(u32, Ephemeral)> {
        for _ in 0..INDEX_TRIES {
            let mut drawn = [0; KEY_BYTES + 4];
            if cx.port.fill_entropy(&mut drawn).is_err() {
                break;
            }
            let (ephemeral, index) = drawn.split_last_chunk()?;
            let index = u32::from_le_bytes(*index);
            if !self.by_index.contains_key(&index) && !self.half_open.has(index) {
                return Some((index, ephemeral.try_into().ok()?));
            }
        }
        cx.counters.count(Count::NoEntropy);
        None
    }

    fn on_initiation(&mut self, route: &str, initiation: &Initiation<'_>, cx: &mut Context<'_>) {
        let now_ns = cx.now_ns;
        let Some(key) = self.config.keys.iter().find(|key| initiation.is_by(key)).cloned() else {
            return cx.counters.count(Count::BadMac);
        };
        cx.counters.add(Count::HandshakeTimeout, self.half_open.expire(now_ns));
        if self.half_open.len() >= COOKIE_FROM {
            let Initiation { proved, proof, .. } = *initiation;
            if !initiation.has_proof() || !self.cookies.verify(route, proved, proof, now_ns) {
                if initiation.has_proof() {
                    cx.counters.count(Count::BadCookie);
                }
                return self.ask_for_proof(route, initiation, &key, cx);
            }
        }
        if let Some(half_open) = self.half_open.find(&initiation.hash) {
            cx.counters.count(Count::Duplicate);
            return cx.port.send(route, &half_open.response);
        }
        if self.half_open.len() >= HALF_OPEN_MAX {
            return cx.counters.count(Count::HalfOpenFull);
        }
        let Some((index, ephemeral)) = self.draw(cx) else { return };
        let identity = &self.config.identity;
        let begun = Handshake::respond(&key, identity, ephemeral, initiation.noise);
        let Ok((mut handshake, [asked, name])) = begun else {
            return cx.counters.count(Count::HandshakeFailed);
        };
        if asked != self.config.name || name == self.config.name {
            return cx.counters.count(Count::WrongName);
        }
        if self.config.known.as_ref().is_some_and(|known| known.get(&name).is_none()) {
            return cx.counters.count(Count::WrongIdentity);
        }
        if self.insists(&name, now_ns) {
            return;
        }
        let Ok(noise) = handshake.answer(&self.config.name) else {
            return cx.counters.count(Count::HandshakeFailed);
        };
        let response = frame::response(initiation.sender, index, &noise, &key);
        cx.port.send(route, &response);
        let (remote, first) = (initiation.sender, initiation.hash);
        let half_open = HalfOpen { handshake, key, name, remote, first, response };
        self.half_open.insert(index, half_open, now_ns);
    }

    /// Answers a first message with a cookie.
    fn ask_for_proof(
        &mut self,
        route: &str,
        initiation: &Initiation<'_>,
        key: &super::keys::FleetKey,
        cx: &mut Context<'_>,
    ) {
        let mut drawn = [0; NONCE_BYTES + 32];
        if cx.port.fill_entropy(&mut drawn).is_err() {
            return cx.counters.count(Count::NoEntropy);
        }
        let (nonce, secret) = drawn.split_at(NONCE_BYTES);
        let (Ok(nonce), Ok(secret)) = (nonce.try_into(), secret.try_into()) else { return };
        if self.cookies.needs_secret(cx.now_ns) {
            self.cookies.renew(secret, cx.now_ns);
        }
        let Some(cookie) = self.cookies.make(route) else { return };
        let Some(sealed) = cookie::seal(&cookie, key, nonce, &initiation.hash) else { return };
        let reply = CookieReply { receiver: initiation.sender, nonce: &nonce, sealed: &sealed };
        cx.counters.count(Count::CookieSent);
        cx.port.send(route, &frame::cookie_reply(&reply));
    }

    /// Whether this side goes on with the handshake that it has just begun, or just completed, with
    /// that peer. If not, its own waits for the other's.
    fn insists(&mut self, name: &str, now_ns: u64) -> bool {
        let is_lower = *self.config.name < *name;
        let Some(peer) = self.by_name.get(name).and_then(|id| self.peers.get_mut(id)) else {
            return false;
        };
        let is_recent = |since_ns: u64| now_ns.saturating_sub(since_ns) < INSIST_NS;
        let Some(attempt) = &mut peer.attempt else {
            let session = peer.current.as_ref().filter(|session| session.is_initiator);
            return is_lower && session.is_some_and(|session| is_recent(session.since_ns));
        };
        if !is_lower && matches!(attempt.stage, Stage::Asked(_)) {
            attempt.resend_at_ns = attempt.resend_at_ns.max(now_ns.saturating_add(INSIST_NS));
        }
        is_lower && is_recent(attempt.begun_ns) && !matches!(attempt.stage, Stage::Over)
    }

    fn on_cookie(&mut self, reply: &CookieReply<'_>, cx: &mut Context<'_>) {
        let id = self.by_index.get(&reply.receiver);
        let Some(peer) = id.and_then(|id| self.peers.get_mut(id)) else {
            return cx.counters.count(Count::UnknownSession);
        };
        let is_asked = |attempt: &&mut Attempt| matches!(attempt.stage, Stage::Asked(_));
        let Some(attempt) = peer.attempt.as_mut().filter(is_asked) else {
            return cx.counters.count(Count::UnknownSession);
        };
        match cookie::open(reply, &attempt.key, &attempt.first) {
            None => cx.counters.count(Count::BadCookie),
            // A repeated cookie must not cause a retransmission.
            Some(cookie) if attempt.cookie == Some(cookie) => {
                cx.counters.count(Count::Duplicate);
            }
            Some(cookie) => {
                attempt.cookie = Some(cookie);
                let (proved, proof) = frame::proof_of(&mut attempt.message);
                proof.copy_from_slice(&cookie::prove(&cookie, proved));
                cx.port.send(&peer.route, &attempt.message);
            }
        }
    }

    fn on_response(&mut self, route: &str, response: &Response<'_>, cx: &mut Context<'_>) {
        let now_ns = cx.now_ns;
        let id = self.by_index.get(&response.receiver).copied();
        let Some((id, peer)) = id.and_then(|id| Some((id, self.peers.get_mut(&id)?))) else {
            return cx.counters.count(Count::UnknownSession);
        };
        let Some(attempt) = peer.attempt.as_mut().filter(|one| one.index == response.receiver)
        else {
            return cx.counters.count(Count::UnknownSession);
        };
        if !response.is_by(&attempt.key) {
            return cx.counters.count(Count::BadMac);
        }
        let Stage::Asked(handshake) = &mut attempt.stage else {
            return cx.counters.count(Count::Duplicate);
        };
        let Ok((name, identity)) = handshake.receive(response.noise) else {
            return cx.counters.count(Count::HandshakeFailed);
        };
        let Stage::Asked(handshake) = std::mem::replace(&mut attempt.stage, Stage::Over) else {
            return;
        };
        if name != peer.name {
            return cx.counters.count(Count::WrongName);
        }
        if !lets_in(&self.config, &name, identity) {
            return cx.counters.count(Count::WrongIdentity);
        }
        let Ok((message, session)) = conclude(handshake, response, attempt, &self.config, now_ns)
        else {
            return cx.counters.count(Count::HandshakeFailed);
        };
        if peer.is_held_against(identity, now_ns) {
            return self.challenge(id, session, identity, (route, Some(message)), cx);
        }
        peer.route = route.into();
        cx.port.send(route, &message);
        let session = session.bind(self.config.carrier.binds(route));
        if let Some(attempt) = &mut peer.attempt {
            attempt.finish(message, Stage::Finished(Box::new(session), identity), now_ns);
        }
        self.set_timer(id);
    }

    fn on_finish(&mut self, route: &str, finish: &Finish<'_>, cx: &mut Context<'_>) {
        let now_ns = cx.now_ns;
        let Some(half_open) = self.half_open.get(finish.receiver) else {
            return self.on_finish_again(finish, cx);
        };
        if !finish.is_by(&half_open.key) {
            return cx.counters.count(Count::BadMac);
        }
        let received = half_open.handshake.receive(finish.noise);
        // A message with a valid hash that cannot be read is from a faulty member.
        let Some(half_open) = self.half_open.remove(finish.receiver) else { return };
        let Ok((name, identity)) = received else {
            return cx.counters.count(Count::HandshakeFailed);
        };
        if name != half_open.name {
            return cx.counters.count(Count::WrongName);
        }
        if !lets_in(&self.config, &name, identity) {
            return cx.counters.count(Count::WrongIdentity);
        }
        let Some(id) = self.peer(&name, cx) else { return };
        let finished = half_open.handshake.finish(finish.receiver, half_open.remote, now_ns);
        let Ok(mut session) = finished else {
            return cx.counters.count(Count::HandshakeFailed);
        };
        session.finish = Some(finish.hash);
        self.by_index.insert(session.local, id);
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if peer.is_held_against(identity, now_ns) {
            return self.challenge(id, session, identity, (route, None), cx);
        }
        self.install(id, session, identity, route, cx);
    }

    /// A third message that has come before: its sender has not received the confirmation.
    fn on_finish_again(&mut self, finish: &Finish<'_>, cx: &mut Context<'_>) {
        let id = self.by_index.get(&finish.receiver);
        let Some(peer) = id.and_then(|id| self.peers.get_mut(id)) else {
            return cx.counters.count(Count::UnknownSession);
        };
        cx.counters.count(Count::Duplicate);
        let is_same = |session: &Session| session.finish == Some(finish.hash);
        if peer.current.as_ref().is_some_and(is_same) {
            Guard::seal(peer, ALIVE, &[], &mut self.sealed, cx);
        }
    }

    fn on_data<'a>(
        &'a mut self,
        route: &str,
        data: Data,
        bytes: &'a mut [u8],
        cx: &mut Context<'_>,
    ) -> Option<Opened<'a>> {
        let carrier = self.config.carrier;
        let id = self.by_index.get(&data.receiver).copied();
        let Some((id, peer)) = id.and_then(|id| Some((id, self.peers.get_mut(&id)?))) else {
            cx.counters.count(Count::UnknownSession);
            return None;
        };
        let found = find_session(peer, data.receiver);
        let usable = |session: &Session| session.is_alive(cx.now_ns) && session.is_bound_to(route);
        let Some((session, place)) = found.filter(|(session, _)| usable(session)) else {
            cx.counters.count(Count::UnknownSession);
            return None;
        };
        let is_newest = session.is_newest(data.counter);
        let sealed = bytes.get_mut(DATA_HEAD_BYTES..)?;
        let (kind, bytes) = match session.open(data.counter, sealed) {
            Ok(opened) => opened,
            Err(error) => {
                cx.counters.count(match error {
                    OpenError::Replayed => Count::Replayed,
                    OpenError::OutOfOrder => Count::OutOfOrder,
                    OpenError::Forged => Count::BadSeal,
                });
                return None;
            }
        };
        // The other side has keys: the third message need not come again.
        session.finish = None;
        if carrier == Carrier::Connections {
            let received = peer.counts(route).map_or(0, |counts| counts.received);
            // A session begins with how many contents came before it.
            if data.counter == 0 && (kind, bytes) != (ALIVE, &received.to_le_bytes()[..]) {
                cx.counters.count(Count::OutOfOrder);
                return None;
            }
        }
        match place {
            Generation::Attempt => self.confirm(id, route, cx),
            Generation::Current
                if is_newest && *peer.route != *route && carrier == Carrier::Datagrams =>
            {
                peer.route = route.into();
                cx.counters.count(Count::RouteMoved);
            }
            Generation::Current | Generation::Previous => {}
        }
        self.note_alive(id, kind, cx);
        let peer = self.peers.get_mut(&id)?;
        if let Some(counts) = peer.counts(route).filter(|_| kind == CONTENT) {
            counts.received += 1;
        }
        let content = (kind == CONTENT).then_some(bytes);
        Some(Opened { name: &peer.name, content })
    }

    /// A peer has shown that it lives.
    fn note_alive(&mut self, id: u32, kind: u8, cx: &mut Context<'_>) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.received_ns = cx.now_ns;
        peer.unanswered_ns = None;
        if let Some(challenge) = peer.challenge.take() {
            self.by_index.remove(&challenge.session.local);
        }
        match kind {
            PING => Guard::seal(peer, ALIVE, &[], &mut self.sealed, cx),
            CONTENT => {
                let at_ns = cx.now_ns.saturating_add(KEEPALIVE_NS);
                peer.keepalive_at_ns.get_or_insert(at_ns);
            }
            _ => {}
        }
        self.set_timer(id);
    }

    /// The other side has the session that this side began.
    fn confirm(&mut self, id: u32, route: &str, cx: &mut Context<'_>) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let Some(Attempt { stage: Stage::Finished(session, identity), .. }) = peer.attempt.take()
        else {
            return;
        };
        self.install(id, *session, identity, route, cx);
    }

    /// Installs a session, and sends what has waited for it, or else a sign of life.
    fn install(
        &mut self,
        id: u32,
        session: Session,
        identity: PublicKey,
        route: &str,
        cx: &mut Context<'_>,
    ) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let is_initiator = session.is_initiator;
        let session = session.bind(self.config.carrier.binds(route));
        let mut freed = peer.install(session, identity, cx.now_ns);
        let is_asked = |attempt: &mut Attempt| !matches!(attempt.stage, Stage::Finished(..));
        freed.extend(peer.attempt.take_if(is_asked).map(|attempt| attempt.index));
        freed.iter().for_each(|index| _ = self.by_index.remove(index));
        peer.route = route.into();
        peer.received_ns = cx.now_ns;
        cx.counters.count(Count::Handshakes);
        if self.config.carrier == Carrier::Connections {
            // What comes first over a connection is short, so that the other side knows whom it is
            // from before it holds more.
            peer.begin_connection(route);
            let sent = peer.counts(route).map_or(0, |counts| counts.sent);
            Guard::seal(peer, ALIVE, &sent.to_le_bytes(), &mut self.sealed, cx);
        }
        while let Some(content) = peer.take_waiting() {
            Guard::seal(peer, CONTENT, &content, &mut self.sealed, cx);
            peer.unanswered_ns.get_or_insert(cx.now_ns);
        }
        let is_unused = peer.current.as_ref().is_some_and(Session::is_unused);
        if is_unused && !is_initiator {
            Guard::seal(peer, ALIVE, &[], &mut self.sealed, cx);
        }
        self.set_timer(id);
        self.note(id);
    }

    /// Another identity claims a name that is held: the holder gets [`CHALLENGE_NS`] to show that
    /// it lives.
    fn challenge(
        &mut self,
        id: u32,
        session: Session,
        identity: PublicKey,
        (route, finish): (&str, Option<Vec<u8>>),
        cx: &mut Context<'_>,
    ) {
        cx.counters.count(Count::NameTaken);
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if peer.challenge.is_some() {
            self.by_index.remove(&session.local);
            return;
        }
        // An attempt waits as long as the challenge.
        peer.attempt.iter_mut().for_each(|attempt| attempt.begun_ns = cx.now_ns);
        let until_ns = cx.now_ns.saturating_add(CHALLENGE_NS);
        let (route, ping_at_ns) = (route.into(), cx.now_ns);
        let challenge = Challenge { session, identity, route, finish, until_ns, ping_at_ns };
        peer.challenge = Some(challenge);
        self.tick(id, cx);
        self.set_timer(id);
    }

    /// The holder of a name was silent: the challenger gets it.
    fn lose_name(&mut self, id: u32, cx: &mut Context<'_>) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let Some(challenge) = peer.challenge.take() else { return };
        let Challenge { session, identity, route, finish, .. } = challenge;
        let Some(message) = finish else {
            return self.install(id, session, identity, &route, cx);
        };
        let sessions = [peer.current.take(), peer.previous.take()];
        for old in sessions.into_iter().flatten() {
            self.by_index.remove(&old.local);
        }
        peer.identity = None;
        peer.since_ns = cx.now_ns;
        let Some(attempt) = &mut peer.attempt else {
            self.by_index.remove(&session.local);
            return;
        };
        let session = session.bind(self.config.carrier.binds(&route));
        peer.route = route;
        cx.port.send(&peer.route, &message);
        attempt.finish(message, Stage::Finished(Box::new(session), identity), cx.now_ns);
    }

    /// Seals something by the peer's session and sends it.
    fn seal(peer: &mut Peer, kind: u8, content: &[u8], out: &mut Vec<u8>, cx: &mut Context<'_>) {
        peer.keepalive_at_ns = None;
        let Some(session) = peer.session(cx.now_ns) else { return };
        match session.seal(kind, content, out) {
            Ok(()) => cx.port.send(&peer.route, out),
            Err(_) => return cx.counters.count(Count::Unsendable),
        }
        if kind == CONTENT {
            peer.note_sent();
        }
    }

    fn set_timer(&mut self, id: u32) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let next = peer.next_timeout();
        if peer.timer != next {
            peer.timer.map(|at| self.timers.remove(&(at, id)));
            next.map(|at| self.timers.insert((at, id)));
            peer.timer = next;
        }
    }

    /// The peer of that name, made if it is new; `None`, counted, if there are too many.
    fn peer(&mut self, name: &str, cx: &mut Context<'_>) -> Option<u32> {
        if let Some(&id) = self.by_name.get(name) {
            return Some(id);
        }
        if self.peers.len() >= self.config.peers_max && !self.forget_idle() {
            cx.counters.count(Count::TooManyPeers);
            return None;
        }
        let id = self.next_peer;
        self.next_peer = self.next_peer.wrapping_add(1);
        self.peers.insert(id, Peer::new(name, cx.now_ns));
        self.by_name.insert(name.into(), id);
        self.note(id);
        Some(id)
    }

    /// Evicts the longest silent peer among those without anything to lose.
    fn forget_idle(&mut self) -> bool {
        let idle = self.peers.iter().filter(|(_, peer)| peer.is_idle());
        let Some(id) = idle.min_by_key(|(_, peer)| peer.received_ns).map(|(&id, _)| id) else {
            return false;
        };
        self.forget(id).is_some()
    }

    fn forget(&mut self, id: u32) -> Option<Peer> {
        self.note(id);
        let peer = self.peers.remove(&id)?;
        peer.timer.map(|at| self.timers.remove(&(at, id)));
        peer.indices().for_each(|index| _ = self.by_index.remove(&index));
        self.by_name.remove(&peer.name);
        Some(peer)
    }

    /// Advances the counter of the session with a peer, as if datagrams had been sent.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, name: &str, counter: u64) {
        let id = self.by_name[name];
        let session = self.peers.get_mut(&id).and_then(|peer| peer.current.as_mut());
        session.expect("a session").skip_to(counter);
    }
}

/// The place of a session.
#[derive(Clone, Copy)]
enum Generation {
    Attempt,
    Current,
    Previous,
}

fn find_session(peer: &mut Peer, index: u32) -> Option<(&mut Session, Generation)> {
    let attempt = match &mut peer.attempt {
        Some(Attempt { stage: Stage::Finished(session, _), .. }) => Some(&mut **session),
        _ => None,
    };
    let places = [
        (attempt, Generation::Attempt),
        (peer.current.as_mut(), Generation::Current),
        (peer.previous.as_mut(), Generation::Previous),
    ];
    let mut found = places.into_iter().filter_map(|(session, place)| Some((session?, place)));
    found.find(|(session, _)| session.local == index)
}

fn lets_in(config: &Config, name: &str, identity: PublicKey) -> bool {
    config.known.as_ref().is_none_or(|known| known.get(name) == Some(identity))
}

/// The third message as a frame, and the session.
fn conclude(
    mut handshake: Handshake,
    response: &Response<'_>,
    attempt: &Attempt,
    config: &Config,
    now_ns: u64,
) -> Result<(Vec<u8>, Session), super::handshake::Refused> {
    let noise = handshake.answer(&config.name)?;
    let session = handshake.finish(attempt.index, response.sender, now_ns)?;
    Ok((frame::finish(response.sender, &noise, &attempt.key), session))
}

const _: () = assert!(RESEND_MIN_NS < INSIST_NS);
