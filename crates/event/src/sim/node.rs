//! Nodes of the simulated network, messages under way, and what is counted of both.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::Time;
use crate::source::{Endpoint, Interest};

/// The counters of the network.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct NetStats {
    /// Messages sent.
    pub sent: u64,
    /// Bytes in them.
    pub sent_bytes: u64,
    /// Messages taken by their receivers.
    pub received: u64,
    /// Bytes in them.
    pub received_bytes: u64,
    /// Messages lost by chance.
    pub lost: u64,
    /// Messages delivered twice by chance.
    pub duplicated: u64,
    /// Messages held up so that others overtake them.
    pub reordered: u64,
    /// Messages dropped between two sides of a partition.
    pub dropped_partitioned: u64,
    /// Messages dropped because their sender or receiver is crashed.
    pub dropped_crashed: u64,
    /// Messages dropped because their address is not bound.
    pub dropped_unbound: u64,
    /// Messages dropped because too many were under way or waiting.
    pub dropped_full: u64,
    /// Messages dropped because the receiver's buffer was too small.
    pub dropped_truncated: u64,
}

/// The counters of one node.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeStats {
    /// Messages sent.
    pub sent: u64,
    /// Bytes in them.
    pub sent_bytes: u64,
    /// Messages received.
    pub received: u64,
    /// Bytes in them.
    pub received_bytes: u64,
    /// Messages to it that were dropped, for any reason.
    pub dropped: u64,
}

pub(super) struct Node {
    pub(super) name: String,
    pub(super) endpoint: Option<Endpoint>,
    /// The part of the simulation that it is run in, if that is another one.
    pub(super) elsewhere: Option<u16>,
    pub(super) crashed: bool,
    /// The side of a partition it is on.
    pub(super) group: Option<usize>,
    /// It neither sends nor reads: what it has sent and what has come meanwhile.
    pub(super) frozen: Option<Frozen>,
    pub(super) inbox: VecDeque<(u32, Box<[u8]>)>,
    pub(super) watch: Option<(u64, Interest)>,
    /// Whether it stands in the ring of nodes with something to report.
    pub(super) in_ring: bool,
    pub(super) stats: NodeStats,
}

/// The work deferred while a node was frozen.
#[derive(Default)]
pub(super) struct Frozen {
    /// Messages that it has not sent, each with its receiver.
    pub(super) unsent: Vec<(u32, Box<[u8]>)>,
    /// Messages that have come.
    pub(super) unread: Vec<Flight>,
}

impl Node {
    /// A node that appears for the first time.
    pub(super) fn new(name: &str) -> Node {
        Node {
            name: name.into(),
            endpoint: None,
            elsewhere: None,
            crashed: false,
            group: None,
            frozen: None,
            inbox: VecDeque::new(),
            watch: None,
            in_ring: false,
            stats: NodeStats::default(),
        }
    }

    pub(super) fn readable(&self) -> bool {
        !self.inbox.is_empty()
            && self.frozen.is_none()
            && self.watch.is_some_and(|(_, interest)| interest.reads())
    }

    pub(super) fn writable(&self) -> bool {
        self.watch.is_some_and(|(_, interest)| interest.writes())
    }
}

/// A message under way.
pub(super) struct Flight {
    pub(super) at: Time,
    pub(super) from: u32,
    /// The number of messages that its sender had sent before. Messages of one instant arrive in
    /// the order of their senders, and those of one sender in the order they were sent.
    pub(super) number: u64,
    /// It is the double of another.
    pub(super) is_double: bool,
    pub(super) to: u32,
    pub(super) bytes: Box<[u8]>,
}

/// A message to a node of another part of the simulation.
pub struct Departure {
    pub(super) part: u16,
    pub(super) flight: Flight,
}

impl Departure {
    /// The number of that part.
    pub fn part(&self) -> u16 {
        self.part
    }

    /// When it arrives there.
    pub fn arrival(&self) -> Time {
        self.flight.at
    }
}

impl Flight {
    fn order(&self) -> (Time, u32, u64, bool) {
        (self.at, self.from, self.number, self.is_double)
    }
}

impl PartialEq for Flight {
    fn eq(&self, other: &Flight) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Flight {}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Flight) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Flight {
    fn cmp(&self, other: &Flight) -> Ordering {
        self.order().cmp(&other.order())
    }
}
