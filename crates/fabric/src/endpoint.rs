//! All peers of one node: messages in, datagrams out, and back.
//!
//! ```text
//! post(address, content) --> batch of the peer --+
//! on_time(now) ------------> timers -------------+--> flush(send) --> datagrams
//! receive(address, bytes) -> deliver(message) ---+
//!                            poll_event() -> a peer restarted, a peer is lost
//! ```
//! The owner calls `flush` after any of the others, then waits until `next_timeout`. Addresses are
//! compared as text. Peers that nothing waits for are forgotten when there are too many.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tidemill_stdx::log::Level;
use tidemill_stdx::ordered::OrderedSet;
use tidemill_stdx::say;
use tidemill_stdx::sorted::SortedSet;

use crate::counters::{Count, Counters};
use crate::fragment::{Budget, MESSAGE_BYTES_MAX};
use crate::head::Head;
use crate::peer::{Mode, Peer};
use crate::reliable::{Delivery, Limits, PeerEvent};
use crate::seal::mac::derive;

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Debug;

/// One in `RESERVED` places for peers is kept for those that this node speaks to.
const RESERVED: usize = 4;

/// Peers that are checked in the search for one to replace.
const LOOKED_AT: usize = 64;

/// Sizes and identity of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Sizes for each peer.
    pub limits: Limits,
    /// Peers kept at a time.
    pub peers_max: usize,
    /// Memory that incomplete and early messages of all peers may take, in bytes.
    pub memory_bytes: usize,
    /// The secret from which incarnations are derived: random bytes, new for each start of a node.
    pub secret: [u8; 32],
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limits: Limits::default(),
            peers_max: 4096,
            memory_bytes: 64 << 20,
            secret: [0; 32],
        }
    }
}

/// An envelope whose content is to be delivered.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The whole envelope.
    pub bytes: &'a [u8],
    /// The mode in which it came.
    pub mode: Mode,
}

/// Takes messages, and counts what it does with them.
pub type Deliver<'a> = dyn FnMut(Message<'_>, &mut Counters) + 'a;

/// Gives each conversation a secret of its own.
#[derive(Clone, Debug)]
struct Secret {
    key: [u8; 32],
    drawn: u64,
}

impl Secret {
    fn next(&mut self) -> [u8; 32] {
        self.drawn += 1;
        derive(&self.key, &[b"conversation", &self.drawn.to_le_bytes()])
    }
}

/// Why a peer is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// This node speaks to it.
    Own,
    /// A datagram has come under its address.
    Received,
}

#[derive(Clone, Debug)]
struct Entry {
    address: Box<str>,
    peer: Peer,
    /// When the peer's timer is set, as it stands in `timers`.
    timer: Option<u64>,
    since_ns: u64,
}

/// The network side of one node; see the module.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The identity of this node's program, which envelopes carry.
    program: u64,
    config: Config,
    secret: Secret,
    /// Places in `entries`; there and in `timers` as u32, as they are in those of [`crate::seal`].
    by_address: BTreeMap<Box<str>, u32>,
    entries: Vec<Entry>,
    timers: BTreeSet<(u64, u32)>,
    /// Peers that may have something to send.
    active: OrderedSet<usize>,
    events: VecDeque<(Box<str>, PeerEvent)>,
    budget: Budget,
    counters: Counters,
    /// The position of the clock hand that selects a peer to replace.
    hand: usize,
    /// The peers whose content is still taken, if limited; of others only acknowledgements are.
    members: Option<SortedSet<String>>,
    /// Addresses of peers that came or went, if that is watched.
    changed: Option<OrderedSet<Box<str>>>,
}

impl Endpoint {
    /// An endpoint without peers, for a node of that program.
    pub fn new(program: u64, config: Config) -> Endpoint {
        Endpoint {
            program,
            config,
            secret: Secret { key: config.secret, drawn: 0 },
            by_address: BTreeMap::new(),
            entries: Vec::new(),
            timers: BTreeSet::new(),
            active: OrderedSet::new(),
            events: VecDeque::new(),
            budget: Budget::new(config.memory_bytes),
            counters: Counters::new(),
            hand: 0,
            members: None,
            changed: None,
        }
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// For what the owner counts itself.
    pub fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Number of peers known.
    pub fn peers(&self) -> usize {
        self.entries.len()
    }

    /// From now on this node runs another program: see [`Peer::set_program`].
    pub fn set_program(&mut self, program: u64, now_ns: u64) {
        self.program = program;
        for (index, entry) in self.entries.iter_mut().enumerate() {
            entry.peer.set_program(program, now_ns, &mut self.counters);
            self.active.insert(index);
        }
    }

    /// Queues what `encode` gives: a field of an envelope that holds content. Its argument is
    /// whether the peer runs the same program. False if it was dropped, which is counted.
    pub fn post(
        &mut self,
        address: &str,
        mode: Mode,
        now_ns: u64,
        encode: impl FnOnce(bool) -> Option<Vec<u8>>,
    ) -> bool {
        let Some(index) = self.peer(address, Origin::Own, now_ns) else { return false };
        let secret = &mut self.secret;
        let peer = &mut self.entries[index].peer;
        let Some(content) = encode(peer.runs_same_program()) else {
            self.counters.count(Count::Unsendable);
            return false;
        };
        if mode == Mode::Reliable {
            peer.reliable(|| secret.next(), now_ns);
        }
        peer.push(mode, &content, now_ns, &mut self.counters);
        self.counters.count(Count::Queued);
        self.active.insert(index);
        true
    }

    /// Takes a datagram, or the content of a frame, and gives the messages in it.
    pub fn receive(&mut self, address: &str, bytes: &[u8], now_ns: u64, deliver: &mut Deliver<'_>) {
        self.counters.count(Count::Received);
        self.counters.add(Count::ReceivedBytes, bytes.len() as u64);
        let head = match Head::decode(bytes) {
            Ok(head) if head.fragment.is_none() || !head.has_content => head,
            _ => return self.counters.count(Count::Malformed),
        };
        let is_refused = self.members.as_ref().is_some_and(|members| !members.contains(address));
        let head = if is_refused {
            match self.without_content(head) {
                Some(head) => head,
                None => return,
            }
        } else {
            head
        };
        let Some(index) = self.peer(address, Origin::Received, now_ns) else { return };
        self.entries[index].peer.on_envelope(&head, now_ns);
        self.active.insert(index);
        match head.ack {
            Some(_) => self.receive_reliable(index, &head, bytes, now_ns, deliver),
            None => self.receive_best_effort(index, &head, bytes, now_ns, deliver),
        }
    }

    /// From now on takes content only from these peers, and acknowledges no other. Of others it
    /// takes the acknowledgements of what was sent to them.
    pub fn take_only_from(&mut self, members: SortedSet<String>) {
        self.members = Some(members);
    }

    /// Strips the content that is not taken from a datagram.
    fn without_content<'a>(&mut self, head: Head<'a>) -> Option<Head<'a>> {
        if head.ack.is_none() || head.sequence != 0 {
            self.counters.count(Count::Ending);
        }
        head.ack?;
        Some(Head { sequence: 0, has_content: false, fragment: None, ..head })
    }

    fn receive_best_effort(
        &mut self,
        index: usize,
        head: &Head<'_>,
        bytes: &[u8],
        now_ns: u64,
        deliver: &mut Deliver<'_>,
    ) {
        let mode = Mode::BestEffort;
        let Some(fragment) = &head.fragment else {
            return deliver(Message { bytes, mode }, &mut self.counters);
        };
        if self.budget.left() < MESSAGE_BYTES_MAX && self.entries[index].peer.is_known() {
            self.make_room();
        }
        let reassembler = &mut self.entries[index].peer.reassembler;
        let whole = reassembler.add(fragment, now_ns, &mut self.budget, &mut self.counters);
        if let Some(message) = whole {
            self.deliver_message(&message, mode, deliver);
        }
    }

    fn receive_reliable(
        &mut self,
        index: usize,
        head: &Head<'_>,
        bytes: &[u8],
        now_ns: u64,
        deliver: &mut Deliver<'_>,
    ) {
        let secret = &mut self.secret;
        let reliable = self.entries[index].peer.reliable(|| secret.next(), now_ns);
        let mut deliveries = Vec::new();
        let tools = (&mut self.budget, &mut self.counters);
        reliable.on_datagram(head, bytes, now_ns, tools, &mut deliveries);
        self.gather_events(index);
        let mode = Mode::Reliable;
        for delivery in deliveries {
            match delivery {
                Delivery::This => deliver(Message { bytes, mode }, &mut self.counters),
                Delivery::Message(bytes) => self.deliver_message(&bytes, mode, deliver),
            }
        }
    }

    /// Drops the incomplete messages of unknown peers.
    fn make_room(&mut self) {
        for Entry { peer, .. } in self.entries.iter_mut().filter(|entry| !entry.peer.is_known()) {
            if peer.reassembler.next_timeout().is_some() {
                peer.reassembler.clear(&mut self.budget);
                self.counters.count(Count::FragmentEvicted);
            }
        }
    }

    fn deliver_message(&mut self, bytes: &[u8], mode: Mode, deliver: &mut Deliver<'_>) {
        match Head::decode(bytes) {
            Ok(head) if head.fragment.is_some() => self.counters.count(Count::FragmentNested),
            Ok(_) => deliver(Message { bytes, mode }, &mut self.counters),
            Err(_) => self.counters.count(Count::Malformed),
        }
    }

    /// Sends all that may go now.
    pub fn flush(&mut self, now_ns: u64, send: &mut impl FnMut(&str, &[u8])) {
        while let Some(index) = self.active.pop_first() {
            let Entry { address, peer, .. } = &mut self.entries[index];
            while let Some(datagram) = peer.poll_transmit(now_ns, &mut self.counters) {
                self.counters.count(Count::Sent);
                self.counters.add(Count::SentBytes, datagram.len() as u64);
                send(address, &datagram);
            }
            self.set_timer(index);
        }
    }

    /// True if nothing waits to be sent or acknowledged.
    pub fn is_delivered(&self) -> bool {
        self.active.is_empty() && self.entries.iter().all(|entry| entry.peer.is_delivered())
    }

    /// True if nothing is under way but the upkeep of leases.
    pub fn only_upkeep(&self) -> bool {
        self.entries.iter().all(|entry| entry.peer.only_upkeep())
    }

    /// When [`Endpoint::on_time`] has something to do, if nothing comes before.
    pub fn next_timeout(&self) -> Option<u64> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// Handles what is due; `flush` sends the resulting datagrams.
    pub fn on_time(&mut self, now_ns: u64) {
        while let Some(&(at, index)) = self.timers.first().filter(|&&(at, _)| at <= now_ns) {
            self.timers.remove(&(at, index));
            let index = index as usize;
            let entry = &mut self.entries[index];
            entry.timer = None;
            entry.peer.on_time(now_ns, &mut self.budget, &mut self.counters);
            self.gather_events(index);
            self.active.insert(index);
        }
    }

    /// Events of peers, oldest first.
    pub fn poll_event(&mut self) -> Option<(Box<str>, PeerEvent)> {
        self.events.pop_front()
    }

    /// Holds a lease of a peer: something here is valid only while that peer lives. See
    /// [`crate::reliable::Reliable::hold_lease`].
    pub fn hold_lease(&mut self, address: &str, now_ns: u64) {
        if let Some(index) = self.peer(address, Origin::Own, now_ns) {
            let secret = &mut self.secret;
            let peer = &mut self.entries[index].peer;
            peer.reliable(|| secret.next(), now_ns).hold_lease(now_ns);
            self.active.insert(index);
        }
    }

    /// Releases the lease of that peer.
    pub fn release_lease(&mut self, address: &str) {
        let Some(&index) = self.by_address.get(address) else { return };
        let index = index as usize;
        if let Some(reliable) = &mut self.entries[index].peer.reliable {
            reliable.release_lease();
            self.active.insert(index);
        }
    }

    fn gather_events(&mut self, index: usize) {
        let Entry { address, peer, .. } = &mut self.entries[index];
        self.events.extend(std::iter::from_fn(|| Some((address.clone(), peer.poll_event()?))));
    }

    fn set_timer(&mut self, index: usize) {
        let entry = &mut self.entries[index];
        let next = entry.peer.next_timeout();
        if entry.timer != next {
            entry.timer.map(|at| self.timers.remove(&(at, index as u32)));
            next.map(|at| self.timers.insert((at, index as u32)));
            entry.timer = next;
        }
    }

    /// The addresses of peers, in order.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.by_address.keys().map(|address| &**address)
    }

    /// Since when a peer is known.
    pub fn known_since(&self, address: &str) -> Option<u64> {
        self.by_address.get(address).map(|&index| self.entries[index as usize].since_ns)
    }

    /// Notes from now on which peers come and go, for [`Endpoint::take_changed`].
    pub fn watch_peers(&mut self) {
        self.changed = Some(self.by_address.keys().cloned().collect());
    }

    /// The address of a peer that came or went since it was last given.
    pub fn take_changed(&mut self) -> Option<Box<str>> {
        self.changed.as_mut()?.pop_first()
    }

    /// The peer of that address, made if it is new; `None`, counted, if there are too many.
    fn peer(&mut self, address: &str, origin: Origin, now_ns: u64) -> Option<usize> {
        let index = match self.by_address.get(address) {
            Some(&index) => index as usize,
            None => self.new_peer(address, origin, now_ns)?,
        };
        if origin == Origin::Own {
            self.entries[index].peer.address();
        }
        Some(index)
    }

    fn new_peer(&mut self, address: &str, origin: Origin, now_ns: u64) -> Option<usize> {
        let peer = Peer::new(self.program, self.config.limits, now_ns);
        let entry = Entry { address: address.into(), peer, timer: None, since_ns: now_ns };
        let (peers, peers_max) = (self.entries.len(), self.config.peers_max);
        let limit = match origin {
            Origin::Own => peers_max,
            // The last places are for those that this node speaks to.
            Origin::Received => peers_max - peers_max / RESERVED,
        };
        let index = if peers < limit {
            self.entries.push(entry);
            peers
        } else {
            self.replace_idle(entry, origin)?
        };
        self.by_address.insert(address.into(), index as u32);
        self.changed.iter_mut().for_each(|changed| _ = changed.insert(address.into()));
        say!(Debug, "net", "{address} is a new peer");
        Some(index)
    }

    /// Puts a new peer in the place of one that nothing waits for. Strangers, from which this node
    /// has only received, are replaced first, and replace strangers only.
    fn replace_idle(&mut self, entry: Entry, origin: Origin) -> Option<usize> {
        let stranger = self.find_stranger(origin);
        let index = match (stranger, origin) {
            (Some(index), _) => Some(index),
            (None, Origin::Own) => self.longest_silent(),
            (None, Origin::Received) => None,
        };
        let Some(index) = index else {
            self.counters.count(Count::TooManyPeers);
            return None;
        };
        let old = std::mem::replace(&mut self.entries[index], entry);
        self.by_address.remove(&old.address);
        self.changed.iter_mut().for_each(|changed| _ = changed.insert(old.address.clone()));
        old.timer.map(|at| self.timers.remove(&(at, index as u32)));
        self.active.remove(&index);
        old.peer.close(&mut self.budget, &mut self.counters);
        Some(index)
    }

    /// A peer that is not known and that nothing waits for: the next one from where the last was
    /// found. A datagram must not cost a look at all peers, so for one that has come few are
    /// looked at.
    fn find_stranger(&mut self, origin: Origin) -> Option<usize> {
        let count = self.entries.len();
        let tries = match origin {
            Origin::Own => count,
            Origin::Received => count.min(LOOKED_AT),
        };
        for _ in 0..tries {
            self.hand = (self.hand + 1) % count;
            let peer = &self.entries[self.hand].peer;
            if !peer.is_known() && peer.is_idle() {
                return Some(self.hand);
            }
        }
        None
    }

    fn longest_silent(&self) -> Option<usize> {
        let idle = self.entries.iter().enumerate().filter(|(_, entry)| entry.peer.is_idle());
        Some(idle.min_by_key(|(_, entry)| entry.peer.received_ns())?.0)
    }
}
