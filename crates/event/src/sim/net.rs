//! The simulated network: nodes, their inboxes, and what is under way between them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io;

use crate::Time;
use crate::slab::Slab;
use crate::source::{Address, Endpoint, Interest, Ready, no_such_endpoint};

use super::conditions::{Conditions, Draws, Fate, Sequence};
use super::node::{Departure, Flight, NetStats, Node, NodeStats};
use super::orders::{Act, Order, Sent};

/// Ports given out for port 0.
const PORTS: std::ops::Range<u32> = 49152..65536;
/// Links whose last arrival is remembered, before those without anything under way are forgotten.
const LINKS: usize = 1 << 20;

pub(super) struct Net {
    seed: u64,
    pub(super) conditions: Conditions,
    nodes: Vec<Node>,
    /// Read by name only, never in order.
    names: HashMap<String, u32>,
    endpoints: Slab<u32>,
    flights: BinaryHeap<Reverse<Flight>>,
    /// The latest arrival between two nodes that keeps its place. Never read in order.
    links: HashMap<(u32, u32), Time>,
    ring: VecDeque<u32>,
    departures: Vec<Departure>,
    /// A partition stops only what earlier groups send to later ones.
    is_one_way: bool,
    /// Acts ordered for single messages, oldest first.
    orders: Vec<Order>,
    /// Messages wait until an order delivers them; those that wait, in the order they were sent.
    waiting: Option<Vec<Flight>>,
    /// The fates of messages, if recorded.
    record: Option<Vec<Sent>>,
    pub(super) stats: NetStats,
}

impl Net {
    pub(super) fn new(seed: u64, conditions: Conditions) -> Net {
        Net {
            seed,
            conditions,
            nodes: Vec::new(),
            names: HashMap::new(),
            endpoints: Slab::new(),
            flights: BinaryHeap::new(),
            links: HashMap::new(),
            ring: VecDeque::new(),
            departures: Vec::new(),
            is_one_way: false,
            orders: Vec::new(),
            waiting: None,
            record: None,
            stats: NetStats::default(),
        }
    }

    /// Draws the fates of messages from another seed from now on.
    pub(super) fn reseed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// The number of the node of this name, given now if it is new.
    pub(super) fn node(&mut self, name: &str) -> u32 {
        if let Some(&index) = self.names.get(name) {
            return index;
        }
        let index = self.nodes.len() as u32;
        self.names.insert(name.into(), index);
        self.nodes.push(Node::new(name));
        index
    }

    pub(super) fn name(&self, index: u32) -> &str {
        self.nodes.get(index as usize).map_or("", |node| &node.name)
    }

    pub(super) fn name_at(&self, endpoint: Endpoint) -> io::Result<&str> {
        self.index_at(endpoint).map(|index| self.name(index))
    }

    pub(super) fn node_stats(&self, name: &str) -> Option<&NodeStats> {
        self.names.get(name).map(|&index| &self.nodes[index as usize].stats)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Whether nothing is under way and nothing waits to be read.
    pub(super) fn is_idle(&self) -> bool {
        self.flights.is_empty()
            && !self.ring.iter().any(|&index| {
                let node = &self.nodes[index as usize];
                node.readable() || node.writable()
            })
    }

    pub(super) fn next_arrival(&self) -> Option<Time> {
        self.flights.peek().map(|flight| flight.0.at)
    }

    pub(super) fn bind(&mut self, addr: &str) -> io::Result<Endpoint> {
        let addr = self.with_port(addr)?;
        let index = self.node(&addr);
        if self.nodes[index as usize].endpoint.is_some() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let endpoint = Endpoint(self.endpoints.insert(index));
        self.nodes[index as usize].endpoint = Some(endpoint);
        Ok(endpoint)
    }

    /// The address itself, or with the first free port for port 0.
    fn with_port(&self, addr: &str) -> io::Result<String> {
        let Some(host) = addr.strip_suffix(":0") else { return Ok(addr.into()) };
        PORTS
            .map(|port| format!("{host}:{port}"))
            .find(|name| !self.names.contains_key(name))
            .ok_or_else(|| io::ErrorKind::AddrInUse.into())
    }

    pub(super) fn close(&mut self, endpoint: Endpoint) {
        let Some(index) = self.endpoints.remove(endpoint.0) else { return };
        let node = &mut self.nodes[index as usize];
        node.endpoint = None;
        node.watch = None;
        let left = node.inbox.len() as u64;
        node.inbox.clear();
        node.frozen = None;
        node.stats.dropped += left;
        self.stats.dropped_unbound += left;
    }

    pub(super) fn register(
        &mut self,
        endpoint: Endpoint,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let index = self.index_at(endpoint)?;
        let node = &mut self.nodes[index as usize];
        if node.watch.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        node.watch = Some((token, interest));
        self.enter_ring(index);
        Ok(())
    }

    pub(super) fn modify(
        &mut self,
        endpoint: Endpoint,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let index = self.index_at(endpoint)?;
        let node = &mut self.nodes[index as usize];
        if node.watch.is_none_or(|(registered, _)| registered != token) {
            return Err(io::ErrorKind::NotFound.into());
        }
        node.watch = Some((token, interest));
        self.enter_ring(index);
        Ok(())
    }

    pub(super) fn deregister(&mut self, endpoint: Endpoint, token: u64) {
        let Ok(index) = self.index_at(endpoint) else { return };
        let node = &mut self.nodes[index as usize];
        if node.watch.is_some_and(|(registered, _)| registered == token) {
            node.watch = None;
        }
    }

    pub(super) fn send(
        &mut self,
        now: Time,
        from: Endpoint,
        to: u32,
        bytes: &[u8],
    ) -> io::Result<()> {
        let from = self.index_at(from)?;
        if to as usize >= self.nodes.len() {
            return Err(no_such_endpoint());
        }
        let sender = &mut self.nodes[from as usize];
        if let Some(frozen) = &mut sender.frozen {
            frozen.unsent.push((to, bytes.into()));
            return Ok(());
        }
        self.send_now(now, from, to, bytes);
        Ok(())
    }

    fn send_now(&mut self, now: Time, from: u32, to: u32, bytes: &[u8]) {
        let sender = &mut self.nodes[from as usize];
        let number = sender.stats.sent;
        let draws = Draws::new(self.seed, from, number);
        sender.stats.sent += 1;
        sender.stats.sent_bytes += bytes.len() as u64;
        self.stats.sent += 1;
        self.stats.sent_bytes += bytes.len() as u64;
        if self.nodes[from as usize].crashed {
            self.stats.dropped_crashed += 1;
            return;
        }
        if self.is_blocked(from, to) {
            return;
        }
        let mut fate = self.conditions.fate(now, &draws);
        if !self.orders.is_empty() {
            self.apply_order(now, (from, to), bytes, &mut fate);
        }
        if let Some((at, Sequence::Kept)) = &mut fate.arrival {
            *at = self.after_the_others(now, from, to, *at);
        }
        if self.record.is_some() {
            self.note(now, (from, to), bytes, &fate);
        }
        match fate.arrival {
            None => {
                self.stats.lost += 1;
                self.nodes[to as usize].stats.dropped += 1;
            }
            Some((at, Sequence::Overtaken)) => {
                self.stats.reordered += 1;
                self.launch(at, (from, number, false), to, bytes);
            }
            Some((at, Sequence::Kept)) => self.launch(at, (from, number, false), to, bytes),
        }
        if let Some(at) = fate.double {
            self.stats.duplicated += 1;
            self.launch(at, (from, number, true), to, bytes);
        }
    }

    /// Applies the first order for a message to its fate.
    fn apply_order(&mut self, now: Time, link: (u32, u32), bytes: &[u8], fate: &mut Fate) {
        let is_meant = |order: &Order| order.act != Act::Deliver && order.means(link, bytes);
        let Some(at) = self.orders.iter().position(is_meant) else { return };
        match self.orders.remove(at).act {
            Act::Drop => (fate.arrival, fate.double) = (None, None),
            Act::Duplicate { after } => fate.double = Some(now + after),
            Act::Delay { after } => fate.arrival = Some((now + after, Sequence::Overtaken)),
            Act::Deliver => {}
        }
    }

    fn note(&mut self, now: Time, (from, to): (u32, u32), bytes: &[u8], fate: &Fate) {
        let [from, to] = [from, to].map(|node| self.name(node).to_owned());
        let sent = Sent {
            at: now,
            from,
            to,
            bytes: bytes.into(),
            arrival: fate.arrival.map(|(at, _)| at),
            is_overtaken: matches!(fate.arrival, Some((_, Sequence::Overtaken))),
            double: fate.double,
        };
        self.record.iter_mut().for_each(|record| record.push(sent.clone()));
    }

    /// Records the fate of messages from now on.
    pub(super) fn record(&mut self) {
        self.record.get_or_insert_default();
    }

    pub(super) fn recorded(&mut self) -> Vec<Sent> {
        self.record.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Holds messages until an order delivers them.
    pub(super) fn hold_messages(&mut self) {
        self.waiting.get_or_insert_default();
    }

    /// Applies an order to the first message that waits and is meant, or else keeps it for the next
    /// that is sent; returns whether one waited.
    pub(super) fn order(&mut self, now: Time, order: Order) -> bool {
        let waits = |flight: &Flight| order.means((flight.from, flight.to), &flight.bytes);
        let found = self.waiting.as_ref().and_then(|waiting| waiting.iter().position(waits));
        let (Some(at), Some(waiting)) = (found, &mut self.waiting) else {
            if order.act != Act::Deliver {
                self.orders.push(order);
            }
            return false;
        };
        match order.act {
            Act::Drop => {
                let flight = waiting.remove(at);
                self.stats.lost += 1;
                self.nodes[flight.to as usize].stats.dropped += 1;
            }
            Act::Deliver => {
                let mut flight = waiting.remove(at);
                flight.at = now;
                self.take_off(flight);
            }
            Act::Delay { after } => {
                let mut flight = waiting.remove(at);
                flight.at = now + after;
                self.take_off(flight);
            }
            Act::Duplicate { after } => {
                let Flight { from, number, to, .. } = waiting[at];
                let bytes = waiting[at].bytes.clone();
                self.stats.duplicated += 1;
                self.take_off(Flight { at: now + after, from, number, is_double: true, to, bytes });
            }
        }
        true
    }

    /// Freezes a node: it neither reads nor sends until it is thawed.
    pub(super) fn freeze(&mut self, name: &str) {
        let index = self.node(name);
        self.nodes[index as usize].frozen.get_or_insert_default();
    }

    /// Resumes a node: what it would have sent leaves now.
    pub(super) fn thaw(&mut self, now: Time, name: &str) {
        let index = self.node(name);
        let Some(frozen) = self.nodes[index as usize].frozen.take() else { return };
        for (to, bytes) in frozen.unsent {
            self.send_now(now, index, to, &bytes);
        }
        for flight in frozen.unread {
            self.take_off(Flight { at: now, ..flight });
        }
        self.enter_ring(index);
    }

    /// Brings what has arrived by `now` to the inboxes; whether there was anything.
    pub(super) fn deliver(&mut self, now: Time) -> bool {
        let before = self.flights.len();
        while self.next_arrival().is_some_and(|at| at <= now) {
            let Some(Reverse(flight)) = self.flights.pop() else { break };
            if self.is_blocked(flight.from, flight.to) {
                continue;
            }
            let limit = self.conditions.inbox_limit;
            let node = &mut self.nodes[flight.to as usize];
            if node.endpoint.is_none() {
                self.stats.dropped_unbound += 1;
                node.stats.dropped += 1;
            } else if node.inbox.len() >= limit {
                self.stats.dropped_full += 1;
                node.stats.dropped += 1;
            } else if let Some(frozen) = &mut node.frozen {
                if frozen.unread.len() < limit {
                    frozen.unread.push(flight)
                } else {
                    self.stats.dropped_full += 1;
                    node.stats.dropped += 1;
                }
            } else {
                node.inbox.push_back((flight.from, flight.bytes));
                self.enter_ring(flight.to);
            }
        }
        self.flights.len() < before
    }

    /// Appends the nodes with something to report, each once.
    pub(super) fn report(&mut self, ready: &mut Vec<Ready>) {
        for _ in 0..self.ring.len() {
            let Some(index) = self.ring.pop_front() else { break };
            let node = &mut self.nodes[index as usize];
            let (readable, writable) = (node.readable(), node.writable());
            match node.watch {
                Some((token, _)) if readable || writable => {
                    ready.push(Ready { token, readable, writable, error: None });
                    self.ring.push_back(index);
                }
                _ => node.in_ring = false,
            }
        }
    }

    pub(super) fn recv(
        &mut self,
        endpoint: Endpoint,
        buf: &mut [u8],
    ) -> io::Result<Option<(usize, Address)>> {
        let index = self.index_at(endpoint)?;
        let node = &mut self.nodes[index as usize];
        while let Some((from, bytes)) = node.inbox.pop_front() {
            let Some(room) = buf.get_mut(..bytes.len()) else {
                self.stats.dropped_truncated += 1;
                node.stats.dropped += 1;
                continue;
            };
            room.copy_from_slice(&bytes);
            node.stats.received += 1;
            node.stats.received_bytes += bytes.len() as u64;
            self.stats.received += 1;
            self.stats.received_bytes += bytes.len() as u64;
            return Ok(Some((bytes.len(), Address::Sim(from))));
        }
        Ok(None)
    }

    pub(super) fn crash(&mut self, name: &str) {
        let index = self.node(name);
        let node = &mut self.nodes[index as usize];
        node.crashed = true;
        let left = node.inbox.len() as u64;
        node.inbox.clear();
        node.stats.dropped += left;
        self.stats.dropped_crashed += left;
    }

    pub(super) fn restart(&mut self, name: &str) {
        let index = self.node(name);
        self.nodes[index as usize].crashed = false;
    }

    pub(super) fn is_alive(&self, name: &str) -> bool {
        self.names.get(name).is_none_or(|&index| !self.nodes[index as usize].crashed)
    }

    pub(super) fn partition(&mut self, groups: &[&[&str]], is_one_way: bool) {
        self.heal();
        self.is_one_way = is_one_way;
        for (group, names) in groups.iter().enumerate() {
            for name in *names {
                let index = self.node(name);
                self.nodes[index as usize].group = Some(group);
            }
        }
    }

    pub(super) fn heal(&mut self) {
        for node in &mut self.nodes {
            node.group = None;
        }
    }

    fn index_at(&self, endpoint: Endpoint) -> io::Result<u32> {
        self.endpoints.get(endpoint.0).copied().ok_or_else(no_such_endpoint)
    }

    /// Whether a message is stopped by a crash or a partition; it is counted then.
    fn is_blocked(&mut self, from: u32, to: u32) -> bool {
        let (sender, receiver) = (&self.nodes[from as usize], &self.nodes[to as usize]);
        let cut = match (sender.group, receiver.group) {
            (Some(a), Some(b)) if self.is_one_way => a < b,
            (Some(a), Some(b)) => a != b,
            _ => false,
        };
        // Messages sent by a crashed node before the crash are in flight and arrive.
        if receiver.crashed {
            self.stats.dropped_crashed += 1;
        } else if cut {
            self.stats.dropped_partitioned += 1;
        } else {
            return false;
        }
        self.nodes[to as usize].stats.dropped += 1;
        true
    }

    /// The arrival of a message that does not overtake those sent before it on its link.
    fn after_the_others(&mut self, now: Time, from: u32, to: u32, at: Time) -> Time {
        if self.links.len() >= LINKS {
            self.links.retain(|_, last| *last > now);
        }
        let last = self.links.entry((from, to)).or_insert(at);
        *last = at.max(*last);
        *last
    }

    fn launch(
        &mut self,
        at: Time,
        (from, number, is_double): (u32, u64, bool),
        to: u32,
        bytes: &[u8],
    ) {
        let flight = Flight { at, from, number, is_double, to, bytes: bytes.into() };
        if let Some(waiting) = &mut self.waiting {
            return waiting.push(flight);
        }
        match self.nodes[to as usize].elsewhere {
            Some(part) => self.departures.push(Departure { part, flight }),
            None => self.take_off(flight),
        }
    }

    fn take_off(&mut self, flight: Flight) {
        if self.flights.len() >= self.conditions.in_flight_limit {
            self.stats.dropped_full += 1;
            self.nodes[flight.to as usize].stats.dropped += 1;
            return;
        }
        self.flights.push(Reverse(flight));
    }

    pub(super) fn place_elsewhere(&mut self, node: &str, part: u16) {
        let index = self.node(node);
        self.nodes[index as usize].elsewhere = Some(part);
    }

    pub(super) fn departures(&mut self) -> Vec<Departure> {
        std::mem::take(&mut self.departures)
    }

    pub(super) fn arrive(&mut self, messages: impl IntoIterator<Item = Departure>) {
        for Departure { flight, .. } in messages {
            // All parts have the same numbers for all nodes that send or receive.
            if (flight.to as usize) < self.nodes.len() {
                self.take_off(flight);
            }
        }
    }

    /// Puts a node in the ring if it has something to report.
    fn enter_ring(&mut self, index: u32) {
        let node = &mut self.nodes[index as usize];
        if !node.in_ring && (node.readable() || node.writable()) {
            node.in_ring = true;
            self.ring.push_back(index);
        }
    }
}
