//! The network of a simulation: delays, losses, doubles, overtaking, partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use tidemill_stdx::rng::Rng;

use crate::slab::Key;
use crate::time::{Time, nanos};

/// Datagrams under way at a time; more are dropped and counted.
const FLIGHT_MAX: usize = 1 << 20;

/// What the network does to datagrams. Probabilities are 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Faults {
    /// How long a datagram takes: uniform between both ends.
    pub latency: RangeInclusive<Duration>,
    /// Probability that a datagram is lost.
    pub loss: f64,
    /// Probability that a datagram comes twice.
    pub duplicate: f64,
    /// Probability that a datagram does not keep its place among those from the same node to the
    /// same node: it takes up to twice the latency, and others pass it.
    pub reorder: f64,
}

impl Default for Faults {
    fn default() -> Faults {
        let latency = Duration::ZERO..=Duration::ZERO;
        Faults { latency, loss: 0.0, duplicate: 0.0, reorder: 0.0 }
    }
}

/// What one node has sent and received.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// Datagrams sent.
    pub sent: u64,
    /// Bytes in them.
    pub sent_bytes: u64,
    /// Datagrams received.
    pub received: u64,
    /// Bytes in them.
    pub received_bytes: u64,
}

/// Datagrams dropped by the network, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SimDrops {
    /// Lost by chance.
    pub loss: u64,
    /// Between the sides of a partition.
    pub partition: u64,
    /// Nobody had the port open when the datagram came.
    pub nobody: u64,
    /// Too many waited at the receiver.
    pub inbox_full: u64,
    /// Too many were under way.
    pub flight_full: u64,
}

/// One node, known since its name was first used.
struct Node {
    name: String,
    port: Option<Key>,
    traffic: Traffic,
    /// Which side of the partition it is on.
    side: Option<usize>,
}

/// A datagram under way.
struct Flight {
    to: u32,
    from: u32,
    bytes: Vec<u8>,
}

pub(super) struct Network {
    pub(super) faults: Faults,
    pub(super) drops: SimDrops,
    nodes: Vec<Node>,
    by_name: BTreeMap<String, u32>,
    /// By time of arrival, then in the order of sending.
    flights: BTreeMap<(Time, u64), Flight>,
    sequence: u64,
    /// The last arrival from one node at another: later ones keep the order.
    last: BTreeMap<(u32, u32), Time>,
    sides: Vec<BTreeSet<String>>,
    latency: Rng,
    loss: Rng,
    duplicate: Rng,
    reorder: Rng,
}

impl Network {
    pub(super) fn new(seed: &Rng) -> Network {
        Network {
            faults: Faults::default(),
            drops: SimDrops::default(),
            nodes: Vec::new(),
            by_name: BTreeMap::new(),
            flights: BTreeMap::new(),
            sequence: 0,
            last: BTreeMap::new(),
            sides: Vec::new(),
            latency: seed.fork(1),
            loss: seed.fork(2),
            duplicate: seed.fork(3),
            reorder: seed.fork(4),
        }
    }

    /// The number of the node with this name.
    pub(super) fn node(&mut self, name: &str) -> u32 {
        if let Some(&node) = self.by_name.get(name) {
            return node;
        }
        let node = self.nodes.len() as u32;
        let side = side_of(&self.sides, name);
        let name = name.to_owned();
        self.by_name.insert(name.clone(), node);
        self.nodes.push(Node { name, port: None, traffic: Traffic::default(), side });
        node
    }

    pub(super) fn name(&self, node: u32) -> &str {
        self.nodes.get(node as usize).map_or("", |node| &node.name)
    }

    pub(super) fn port_of(&self, node: u32) -> Option<Key> {
        self.nodes.get(node as usize)?.port
    }

    pub(super) fn open(&mut self, node: u32, port: Key) {
        self.nodes[node as usize].port = Some(port);
    }

    pub(super) fn close(&mut self, node: u32) {
        self.nodes[node as usize].port = None;
    }

    pub(super) fn traffic(&self, node: &str) -> Traffic {
        let node = self.by_name.get(node);
        node.map_or(Traffic::default(), |&node| self.nodes[node as usize].traffic)
    }

    pub(super) fn count_received(&mut self, node: u32, bytes: usize) {
        let traffic = &mut self.nodes[node as usize].traffic;
        traffic.received += 1;
        traffic.received_bytes += bytes as u64;
    }

    pub(super) fn partition(&mut self, groups: &[Vec<String>]) {
        self.sides = groups.iter().map(|group| group.iter().cloned().collect()).collect();
        for node in &mut self.nodes {
            node.side = side_of(&self.sides, &node.name);
        }
    }

    pub(super) fn send(&mut self, now: Time, from: u32, to: u32, bytes: &[u8]) {
        let traffic = &mut self.nodes[from as usize].traffic;
        traffic.sent += 1;
        traffic.sent_bytes += bytes.len() as u64;
        let sides = (self.nodes[from as usize].side, self.nodes[to as usize].side);
        // Every draw is made for every datagram, so that changing one fault leaves the luck of
        // the others as it was.
        let lost = self.loss.chance(self.faults.loss);
        let copies = 1 + u64::from(self.duplicate.chance(self.faults.duplicate));
        if let (Some(a), Some(b)) = sides
            && a != b
        {
            self.drops.partition += 1;
        } else if lost {
            self.drops.loss += 1;
        } else {
            for _ in 0..copies {
                self.fly(now, from, to, bytes);
            }
        }
    }

    fn fly(&mut self, now: Time, from: u32, to: u32, bytes: &[u8]) {
        if self.flights.len() >= FLIGHT_MAX {
            self.drops.flight_full += 1;
            return;
        }
        let (least, most) =
            (nanos(*self.faults.latency.start()), nanos(*self.faults.latency.end()));
        let delay = self.latency.range(least..=most.max(least));
        let mut at = now + Duration::from_nanos(delay);
        if self.reorder.chance(self.faults.reorder) {
            at += Duration::from_nanos(self.reorder.range(0..=most.max(1_000_000)));
        } else {
            let last = self.last.entry((from, to)).or_insert(at);
            at = at.max(*last);
            *last = at;
        }
        self.sequence += 1;
        let flight = Flight { to, from, bytes: bytes.to_vec() };
        self.flights.insert((at, self.sequence), flight);
    }

    /// When the next datagram arrives.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.flights.first_key_value().map(|(&(at, _), _)| at)
    }

    /// A datagram that has arrived by `now`: to, from, bytes.
    pub(super) fn take_due(&mut self, now: Time) -> Option<(u32, u32, Vec<u8>)> {
        let entry = self.flights.first_entry().filter(|entry| entry.key().0 <= now)?;
        let Flight { to, from, bytes } = entry.remove();
        Some((to, from, bytes))
    }
}

fn side_of(sides: &[BTreeSet<String>], name: &str) -> Option<usize> {
    sides.iter().position(|side| side.contains(name))
}
