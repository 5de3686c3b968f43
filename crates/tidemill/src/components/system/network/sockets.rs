//! The sockets opened by clients.

use std::collections::VecDeque;

use tidemill_event::{Endpoint, Interest, WatchId};
use tidemill_proc::Communication;
use tidemill_stdx::ordered::OrderedMap;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketKind {
    Listener,
    /// A connection that is being established.
    Connecting,
    Stream,
    Datagrams,
}

/// A socket opened by a client.
pub(super) struct Socket {
    pub(super) kind: SocketKind,
    pub(super) endpoint: Endpoint,
    /// The client waits for a connection, for bytes, or for a datagram.
    pub(super) is_asking: bool,
    pub(super) watch: Option<(WatchId, Interest)>,
    /// The address of the peer, for the answer once it is connected.
    pub(super) peer: String,
    pub(super) unsent: VecDeque<u8>,
    pub(super) is_held_off: bool,
    pub(super) is_broken: bool,
    /// The client has ended; unsent data is still sent.
    pub(super) is_closing: bool,
}

/// All open sockets.
#[derive(Default)]
pub(in crate::components::system) struct Network {
    pub(super) sockets: OrderedMap<Communication, Socket>,
    pub(super) accepted: OrderedMap<i64, (Endpoint, String)>,
    pub(super) last_accepted: i64,
}

impl Network {
    pub(in crate::components::system) fn has_unsent(&self) -> bool {
        self.sockets.values().any(|socket| socket.is_closing)
    }
}

impl Socket {
    pub(super) fn new(kind: SocketKind, endpoint: Endpoint, peer: String) -> Socket {
        Socket {
            kind,
            endpoint,
            is_asking: false,
            watch: None,
            peer,
            unsent: VecDeque::new(),
            is_held_off: false,
            is_broken: false,
            is_closing: false,
        }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        if self.kind != SocketKind::Stream || self.is_broken {
            return;
        }
        self.unsent.extend(bytes);
    }

    /// The events that the loop watches for.
    pub(super) fn interest(&self) -> Interest {
        let asks = self.is_asking && !matches!(self.kind, SocketKind::Connecting);
        let sends = self.kind == SocketKind::Connecting || !self.unsent.is_empty();
        match (asks, sends) {
            (true, true) => Interest::ReadWrite,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::None,
        }
    }
}
