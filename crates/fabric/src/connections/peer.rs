//! One peer: its send queue, and the connection that is made to it.
//!
//! ```text
//!             something waits            it can be written
//!   Resting ------------------> Connecting ------------> Connected
//!                                  ^    | fails             | breaks
//!                    time is over  |    v                   v
//!                                  +-- Waiting <------------+
//!                                        | nothing waits, or for too long
//!                                        v
//!                                     forgotten
//! ```

use std::sync::Arc;

use super::ConnectionId;
use super::outgoing::{BACKOFF_MAX_NS, Full, Outgoing};
use crate::reliable::LEASE_NS;

/// One peer; see the module.
pub(super) struct Peer {
    pub(super) queue: Outgoing,
    pub(super) state: LinkState,
    /// When this state times out.
    pub(super) until_ns: Option<u64>,
    /// When something was last written, or began to wait.
    pub(super) well_ns: u64,
    /// When the connection was made.
    pub(super) connected_ns: u64,
    /// When its timer is set.
    pub(super) timer: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LinkState {
    /// No connection was begun yet.
    Resting,
    /// Backing off before the next one.
    Waiting,
    /// It is being made.
    Connecting(ConnectionId),
    /// It is established.
    Connected(ConnectionId),
}

impl Peer {
    pub(super) fn new(greeting: Arc<[u8]>) -> Peer {
        Peer {
            queue: Outgoing::new(greeting),
            state: LinkState::Resting,
            until_ns: None,
            well_ns: 0,
            connected_ns: 0,
            timer: None,
        }
    }

    pub(super) fn push(&mut self, envelope: &[u8], now_ns: u64) -> Result<(), Full> {
        if self.is_idle() {
            self.well_ns = now_ns;
        }
        self.queue.push(envelope)
    }

    /// The connection that was made to it.
    pub(super) fn link(&self) -> Option<ConnectionId> {
        match self.state {
            LinkState::Connecting(id) | LinkState::Connected(id) => Some(id),
            LinkState::Resting | LinkState::Waiting => None,
        }
    }

    /// True if nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.waiting() == 0
    }

    /// Whether nothing of its queue was written for too long.
    pub(super) fn is_lost(&self, now_ns: u64) -> bool {
        !self.is_idle() && now_ns.saturating_sub(self.well_ns) >= LEASE_NS
    }

    pub(super) fn enter(&mut self, state: LinkState, until_ns: Option<u64>) {
        self.state = state;
        self.until_ns = until_ns;
    }

    /// Its connection is gone, or could not be made: backs off.
    pub(super) fn fail(&mut self, now_ns: u64) {
        // A connection that is closed as soon as it is made must back off, too.
        let lasted = now_ns.saturating_sub(self.connected_ns) >= BACKOFF_MAX_NS;
        if lasted && matches!(self.state, LinkState::Connected(_)) {
            self.queue.calm();
        }
        self.queue.rewind();
        let until_ns = now_ns.saturating_add(self.queue.back_off());
        self.enter(LinkState::Waiting, Some(until_ns));
    }
}
