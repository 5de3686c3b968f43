//! One direction of a connection: what comes next, and what waits for it.

use std::collections::VecDeque;

use tidemill_packet::Packet;

use super::segment::{RST, SYN, Segment, distance};

/// Segments of a direction that wait, at most.
const HELD_MAX: usize = 512;

/// What an out of order segment costs beside its buffer, about.
pub const SEGMENT_COST: usize = 128;

/// A segment that waits for those before it.
struct Held {
    segment: Segment,
    packet: Packet,
    since_ns: u64,
}

/// A direction of a connection.
pub struct Stream {
    /// The number of its SYN, if that was seen.
    first: Option<u32>,
    /// The number that comes next.
    next: u32,
    /// By sequence number; none begins at the next one or before.
    held: VecDeque<Held>,
    /// What these cost.
    cost: usize,
    /// When its last segment came.
    pub used_ns: u64,
}

/// How a packet that leaves is related to those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// It begins where they end.
    InOrder,
    /// All its bytes have been sent.
    Duplicate,
}

/// What a segment has led to.
#[derive(Default, Debug)]
pub struct Outcome {
    pub trimmed: u64,
    pub gaps: u64,
}

impl Stream {
    /// Of a direction whose first segment this is.
    pub fn new(segment: &Segment, now_ns: u64) -> Stream {
        Stream {
            first: None,
            next: segment.sequence,
            held: VecDeque::new(),
            cost: 0,
            used_ns: now_ns,
        }
    }

    /// The number of segments that wait.
    pub fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Whether segments wait.
    pub fn waits(&self) -> bool {
        !self.held.is_empty()
    }

    /// The bytes that waiting segments cost.
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// Takes a segment; `send` gets what is in order now. `may_hold` says whether there is room for
    /// one that is not.
    pub fn take(
        &mut self,
        (segment, packet): (Segment, Packet),
        now_ns: u64,
        may_hold: bool,
        send: &mut impl FnMut(Order, Packet),
    ) -> Outcome {
        let mut outcome = Outcome::default();
        self.used_ns = now_ns;
        let is_first = segment.flags & SYN != 0 && self.first != Some(segment.sequence);
        if is_first || segment.flags & RST != 0 {
            // The connection ends, or another one has the same ports.
            outcome.gaps += self.give_up(send);
            self.first = is_first.then_some(segment.sequence);
            self.next = segment.next();
            send(Order::InOrder, packet);
            return outcome;
        }
        if segment.length() == 0 {
            // Acknowledgements are about the other direction.
            send(Order::InOrder, packet);
            return outcome;
        }
        if distance(self.next, segment.sequence) <= 0 {
            self.pass((segment, packet), &mut outcome, send);
            self.follow(&mut outcome, send);
            return outcome;
        }
        self.hold(Held { segment, packet, since_ns: now_ns }, send);
        if !may_hold || self.held.len() > HELD_MAX {
            self.skip(&mut outcome, send);
        }
        outcome
    }

    /// Sends a segment that begins at the next number or before it, without what has been sent.
    fn pass(
        &mut self,
        (mut segment, mut packet): (Segment, Packet),
        outcome: &mut Outcome,
        send: &mut impl FnMut(Order, Packet),
    ) {
        if distance(self.next, segment.next()) <= 0 {
            return send(Order::Duplicate, packet);
        }
        let known = distance(segment.sequence, self.next);
        if known > 0 {
            segment.trim(&mut packet, known as u32);
            outcome.trimmed += 1;
        }
        self.next = segment.next();
        send(Order::InOrder, packet);
    }

    /// Sends what waited for what has just been sent.
    fn follow(&mut self, outcome: &mut Outcome, send: &mut impl FnMut(Order, Packet)) {
        while let Some(held) = self.held.front() {
            if distance(self.next, held.segment.sequence) > 0 {
                return;
            }
            let Some(Held { segment, packet, .. }) = self.held.pop_front() else { return };
            self.cost -= cost(&packet);
            self.pass((segment, packet), outcome, send);
        }
    }

    /// Keeps a segment, unless an equal one waits already.
    fn hold(&mut self, held: Held, send: &mut impl FnMut(Order, Packet)) {
        let sequence = held.segment.sequence;
        let at = self.held.partition_point(|it| distance(it.segment.sequence, sequence) > 0);
        let same = self.held.get(at).filter(|it| it.segment.sequence == sequence);
        match same.map(|it| it.segment.length() >= held.segment.length()) {
            Some(true) => send(Order::Duplicate, held.packet),
            Some(false) => {
                // The shorter one of two that begin alike.
                self.cost += cost(&held.packet);
                let shorter = std::mem::replace(&mut self.held[at], held);
                self.cost -= cost(&shorter.packet);
                send(Order::Duplicate, shorter.packet);
            }
            None => {
                self.cost += cost(&held.packet);
                self.held.insert(at, held);
            }
        }
    }

    /// Gives up what is missing before the first segment that waits.
    fn skip(&mut self, outcome: &mut Outcome, send: &mut impl FnMut(Order, Packet)) {
        if let Some(first) = self.held.front() {
            self.next = first.segment.sequence;
            outcome.gaps += 1;
            self.follow(outcome, send);
        }
    }

    /// Gives up what segments have waited for since a time.
    pub fn skip_since(&mut self, since_ns: u64, send: &mut impl FnMut(Order, Packet)) -> Outcome {
        let mut outcome = Outcome::default();
        while self.held.front().is_some_and(|held| held.since_ns <= since_ns) {
            self.skip(&mut outcome, send);
        }
        outcome
    }

    /// Sends all that waits, in order; returns the number of gaps before it.
    pub fn give_up(&mut self, send: &mut impl FnMut(Order, Packet)) -> u64 {
        let mut outcome = Outcome::default();
        while self.waits() {
            self.skip(&mut outcome, send);
        }
        outcome.gaps
    }
}

/// The bytes that a packet that waits costs.
pub fn cost(packet: &Packet) -> usize {
    packet.memory() + SEGMENT_COST
}
