//! One peer by its name: sessions, handshakes, and content that waits.
//!
//! ```text
//!            asked: the first message has gone        finished: the third has
//! attempt    ------------------------------> answer ------------------------> confirmed by data
//!                                                                                   |
//! challenge  another identity claims the name: the holder is pinged                 v
//! sessions   previous <---------------- replaced ---------------------------- current
//! waiting    content without a session, in order
//! ```

use std::collections::VecDeque;

use super::cookie::Cookie;
use super::handshake::Handshake;
use super::keys::{FleetKey, PublicKey};
use super::mac::Tag;
use super::session::{OVERLAP_NS, Session};
use crate::counters::{Count, Counters};

/// The time that content waits for a session.
pub const WAIT_NS: u64 = 10_000_000_000;

/// Bytes of content that wait for one peer.
pub const WAIT_BYTES_MAX: usize = 64 << 10;

/// The time limit of a handshake that this side began; then another begins, if it is needed.
pub(super) const ATTEMPT_NS: u64 = 5_000_000_000;

/// When a message of a handshake is first retransmitted; then after twice the time, ...
pub(super) const RESEND_MIN_NS: u64 = 250_000_000;
const RESEND_MAX_NS: u64 = 2_000_000_000;

/// The time in which the holder of a name must show that it is alive.
pub(super) const CHALLENGE_NS: u64 = 3_000_000_000;

/// The interval of the pings meanwhile.
pub(super) const PING_NS: u64 = 750_000_000;

/// When a side that has only received sends a sign of life.
pub(super) const KEEPALIVE_NS: u64 = 2_000_000_000;

/// After this time of sending without any answer new keys are made: the other side may have lost
/// the old ones.
pub(super) const UNANSWERED_NS: u64 = 5_000_000_000;

/// Connections of a peer whose contents are counted. Each that ends is forgotten, and of two with a
/// peer the later one is used.
const CONNECTIONS_MAX: usize = 4;

/// A handshake that this side has begun.
pub(super) struct Attempt {
    pub(super) index: u32,
    pub(super) key: FleetKey,
    pub(super) begun_ns: u64,
    pub(super) resend_at_ns: u64,
    wait_ns: u64,
    /// The message to retransmit.
    pub(super) message: Vec<u8>,
    /// The hash of the first message.
    pub(super) first: Tag,
    pub(super) cookie: Option<Cookie>,
    pub(super) stage: Stage,
}

/// Its state.
pub(super) enum Stage {
    /// The first message was sent.
    Asked(Handshake),
    /// The third was sent, and is not confirmed yet.
    Finished(Box<Session>, PublicKey),
    /// It failed; the next one begins when its time is over.
    Over,
}

impl Attempt {
    pub(super) fn new(
        index: u32,
        key: FleetKey,
        handshake: Handshake,
        (message, first): (Vec<u8>, Tag),
        now_ns: u64,
    ) -> Attempt {
        let stage = Stage::Asked(handshake);
        let resend_at_ns = now_ns.saturating_add(RESEND_MIN_NS);
        let (begun_ns, wait_ns, cookie) = (now_ns, RESEND_MIN_NS, None);
        Attempt { index, key, begun_ns, resend_at_ns, wait_ns, message, first, cookie, stage }
    }

    /// Sends the third message.
    pub(super) fn finish(&mut self, message: Vec<u8>, stage: Stage, now_ns: u64) {
        self.message = message;
        self.stage = stage;
        self.begun_ns = now_ns;
        self.wait_ns = RESEND_MIN_NS;
        self.resend_at_ns = now_ns.saturating_add(RESEND_MIN_NS);
    }

    /// Whether its message is retransmitted now.
    pub(super) fn takes_resend(&mut self, now_ns: u64) -> bool {
        if now_ns < self.resend_at_ns || matches!(self.stage, Stage::Over) {
            return false;
        }
        self.wait_ns = (self.wait_ns * 2).min(RESEND_MAX_NS);
        self.resend_at_ns = now_ns.saturating_add(self.wait_ns);
        true
    }

    pub(super) fn ends_ns(&self) -> u64 {
        self.begun_ns.saturating_add(ATTEMPT_NS)
    }

    fn next_ns(&self) -> u64 {
        match self.stage {
            Stage::Over => self.ends_ns(),
            Stage::Asked(_) | Stage::Finished(..) => self.resend_at_ns.min(self.ends_ns()),
        }
    }
}

/// A session by another identity than the one that has the name.
pub(super) struct Challenge {
    pub(super) session: Session,
    pub(super) identity: PublicKey,
    pub(super) route: Box<str>,
    /// The third message, where this side has begun: it goes if the holder is silent.
    pub(super) finish: Option<Vec<u8>>,
    pub(super) until_ns: u64,
    pub(super) ping_at_ns: u64,
}

/// Contents that went over one connection, by all sessions that were made on it. Each session
/// begins with how many there were before it, so that none can be cut out between two sessions,
/// nor come after its session.
pub(super) struct ConnectionCounts {
    route: Box<str>,
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// One name; see the module.
pub(super) struct Peer {
    pub(super) name: Box<str>,
    pub(super) route: Box<str>,
    /// Whose sessions there are.
    pub(super) identity: Option<PublicKey>,
    /// When its identity last changed.
    pub(super) since_ns: u64,
    pub(super) current: Option<Session>,
    pub(super) previous: Option<Session>,
    pub(super) attempt: Option<Attempt>,
    pub(super) challenge: Option<Challenge>,
    /// Of its connections, the latest last.
    connections: VecDeque<ConnectionCounts>,
    waiting: VecDeque<(u64, Vec<u8>)>,
    waiting_bytes: usize,
    pub(super) received_ns: u64,
    /// Since when what was sent is unanswered.
    pub(super) unanswered_ns: Option<u64>,
    pub(super) keepalive_at_ns: Option<u64>,
    /// When the peer's timer is set, as the guard has it.
    pub(super) timer: Option<u64>,
}

impl Peer {
    pub(super) fn new(name: &str, now_ns: u64) -> Peer {
        Peer {
            name: name.into(),
            route: name.into(),
            identity: None,
            since_ns: now_ns,
            current: None,
            previous: None,
            attempt: None,
            challenge: None,
            connections: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            received_ns: now_ns,
            unanswered_ns: None,
            keepalive_at_ns: None,
            timer: None,
        }
    }

    /// The session to send by.
    pub(super) fn session(&mut self, now_ns: u64) -> Option<&mut Session> {
        let route = &self.route;
        let is_usable =
            |session: &&mut Session| session.is_alive(now_ns) && session.is_bound_to(route);
        self.current.as_mut().filter(is_usable)
    }

    /// Whether there is one.
    pub(super) fn has_session(&self, now_ns: u64) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|one| one.is_alive(now_ns) && one.is_bound_to(&self.route))
    }

    /// Whether a live session has received something since the last send.
    pub(super) fn is_answered(&self, now_ns: u64) -> bool {
        self.has_session(now_ns) && self.unanswered_ns.is_none()
    }

    /// The state of that connection.
    pub(super) fn counts(&mut self, route: &str) -> Option<&mut ConnectionCounts> {
        self.connections.iter_mut().rfind(|counts| *counts.route == *route)
    }

    /// A session is made on that connection, maybe the first one.
    pub(super) fn begin_connection(&mut self, route: &str) {
        if self.counts(route).is_none() {
            self.connections.push_back(ConnectionCounts {
                route: route.into(),
                sent: 0,
                received: 0,
            });
            if self.connections.len() > CONNECTIONS_MAX {
                self.connections.pop_front();
            }
        }
    }

    /// That connection is gone.
    pub(super) fn end_connection(&mut self, route: &str) {
        self.connections.retain(|counts| *counts.route != *route);
    }

    /// A content was sealed by the session.
    pub(super) fn note_sent(&mut self) {
        let counts = self.connections.iter_mut().rfind(|counts| counts.route == self.route);
        counts.into_iter().for_each(|counts| counts.sent += 1);
    }

    /// Whether the name is held, by another identity than this.
    pub(super) fn is_held_against(&self, identity: PublicKey, now_ns: u64) -> bool {
        let sessions = [&self.current, &self.previous];
        let is_held = sessions.into_iter().flatten().any(|session| session.is_alive(now_ns));
        is_held && self.identity.is_some_and(|held| held != identity)
    }

    /// Adds content to what waits; false if there is too much.
    pub(super) fn wait(&mut self, content: &[u8], now_ns: u64) -> bool {
        if self.waiting_bytes + content.len() > WAIT_BYTES_MAX {
            return false;
        }
        self.waiting_bytes += content.len();
        self.waiting.push_back((now_ns, content.to_vec()));
        true
    }

    /// The next content that waits.
    pub(super) fn take_waiting(&mut self) -> Option<Vec<u8>> {
        let (_, content) = self.waiting.pop_front()?;
        self.waiting_bytes -= content.len();
        Some(content)
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Drops content that has waited for too long.
    pub(super) fn expire_waiting(&mut self, now_ns: u64, counters: &mut Counters) {
        while self.waiting_ends_ns().is_some_and(|at| at <= now_ns) {
            self.take_waiting();
            counters.count(Count::NoSession);
        }
    }

    fn waiting_ends_ns(&self) -> Option<u64> {
        self.waiting.front().map(|&(at, _)| at.saturating_add(WAIT_NS))
    }

    /// Installs a session; returns the indices that are free now.
    pub(super) fn install(
        &mut self,
        session: Session,
        identity: PublicKey,
        now_ns: u64,
    ) -> Vec<u32> {
        let mut freed = Vec::new();
        if self.identity != Some(identity) {
            freed.extend(self.current.take().map(|old| old.local));
            freed.extend(self.previous.take().map(|old| old.local));
            self.since_ns = now_ns;
        }
        self.identity = Some(identity);
        if let Some(mut old) = self.current.replace(session) {
            old.ends_ns = old.ends_ns.min(now_ns.saturating_add(OVERLAP_NS));
            freed.extend(self.previous.replace(old).map(|older| older.local));
        }
        self.unanswered_ns = None;
        freed
    }

    /// Drops expired sessions; returns the indices that are free now.
    pub(super) fn expire_sessions(&mut self, now_ns: u64) -> Vec<u32> {
        let mut freed = Vec::new();
        for session in [&mut self.current, &mut self.previous] {
            freed.extend(session.take_if(|session| !session.is_alive(now_ns)).map(|old| old.local));
        }
        if self.current.is_none() && self.previous.is_none() {
            if self.identity.take().is_some() {
                self.since_ns = now_ns;
            }
            self.keepalive_at_ns = None;
            self.unanswered_ns = None;
        }
        freed
    }

    /// True if evicting it would lose nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.is_quiet() && self.current.is_none() && self.previous.is_none()
    }

    /// Pieces of content that wait for a session.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// True if nothing is under way.
    pub(super) fn is_quiet(&self) -> bool {
        self.attempt.is_none() && self.challenge.is_none() && self.waiting.is_empty()
    }

    /// All indices of its sessions and handshakes.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> {
        let sessions = [&self.current, &self.previous].into_iter().flatten();
        let challenge = self.challenge.iter().map(|challenge| challenge.session.local);
        let attempt = self.attempt.iter().map(|attempt| attempt.index);
        sessions.map(|session| session.local).chain(challenge).chain(attempt)
    }

    /// When there is something to do.
    pub(super) fn next_timeout(&self) -> Option<u64> {
        let sessions = [&self.current, &self.previous].into_iter().flatten();
        let sessions = sessions.map(|session| session.ends_ns).min();
        let attempt = self.attempt.as_ref().map(Attempt::next_ns);
        let challenge = self.challenge.as_ref().map(|one| one.until_ns.min(one.ping_at_ns));
        let times = [sessions, attempt, challenge, self.waiting_ends_ns(), self.keepalive_at_ns];
        times.into_iter().flatten().min()
    }
}
