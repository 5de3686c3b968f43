//! The sending half: what waits, what is under way, what must be retransmitted.
//!
//! ```text
//!   acknowledged | under way: sent, lost or acknowledged beyond a gap | queue
//!                ^ first                                              ^ first + flight.len()
//! ```
//! A datagram counts as lost when three that were sent after it have been acknowledged, or when
//! the timeout passes; only what is neither lost nor acknowledged fills the congestion window.

use std::collections::VecDeque;

use super::WINDOW;
use super::congestion::Congestion;
use super::rto::Rto;
use crate::counters::{Count, Counters};
use crate::head::Ack;

/// Datagrams sent later and acknowledged that make one lost.
const REORDER_MAX: u64 = 3;

/// For how long all acknowledgements may be below an earlier one.
const BEHIND_NS: u64 = 5_000_000_000;

/// The meaning of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Acked {
    /// It is of this stream.
    Current,
    /// It is of a stream given up, or of none yet.
    OtherStream,
    /// The peer lacks what it has acknowledged: it waits for datagrams that are freed.
    Disagrees,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SegmentState {
    Sent,
    Lost,
    Acknowledged,
}

#[derive(Clone, Debug)]
struct Segment {
    bytes: Vec<u8>,
    state: SegmentState,
    sent_ns: u64,
    /// Numbers the transmissions of the stream in order.
    order: u64,
    retransmitted: bool,
}

/// The state of one stream; sequences begin with 1.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    stream: u64,
    /// The sequence of the first of `flight`.
    first: u64,
    flight: VecDeque<Segment>,
    /// The number of entries of `flight` in state `Sent`.
    under_way: usize,
    queue: VecDeque<Vec<u8>>,
    queue_bytes: usize,
    congestion: Congestion,
    /// Losses before this sequence have already halved the window.
    recover: u64,
    /// The last sequence in the peer's window.
    limit: u64,
    rto: Rto,
    rto_at: Option<u64>,
    /// Transmissions so far.
    order: u64,
    /// The latest transmission known to have arrived.
    order_arrived: u64,
    /// Since when all acknowledgements are below an earlier one.
    behind_since_ns: Option<u64>,
}

impl Sender {
    pub(super) fn new(stream: u64) -> Sender {
        Sender {
            stream,
            first: 1,
            flight: VecDeque::new(),
            under_way: 0,
            queue: VecDeque::new(),
            queue_bytes: 0,
            congestion: Congestion::new(WINDOW as usize),
            recover: 1,
            limit: u64::from(WINDOW),
            rto: Rto::default(),
            rto_at: None,
            order: 0,
            order_arrived: 0,
            behind_since_ns: None,
        }
    }

    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    /// Begins the next stream; the number of datagrams given up.
    pub(super) fn restart(&mut self) -> u64 {
        let lost = self.queue.len()
            + self
                .flight
                .iter()
                .filter(|segment| segment.state != SegmentState::Acknowledged)
                .count();
        *self = Sender::new(self.stream + 1);
        lost as u64
    }

    /// Bytes that wait and have not been sent.
    pub(super) fn queue_bytes(&self) -> usize {
        self.queue_bytes
    }

    /// True if something has not been acknowledged.
    pub(super) fn is_pending(&self) -> bool {
        !self.flight.is_empty() || !self.queue.is_empty()
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        self.queue_bytes += bytes.len();
        self.queue.push_back(bytes);
    }

    /// The sequence after the last one sent.
    fn next(&self) -> u64 {
        self.first + self.flight.len() as u64
    }

    /// Takes an acknowledgement.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, now_ns: u64, counters: &mut Counters) -> Acked {
        if ack.acknowledged != self.stream {
            return Acked::OtherStream;
        }
        if ack.cumulative >= self.next() {
            counters.count(Count::BadAck);
            return Acked::Current;
        }
        // A single one was reordered; if all are like this for long, the peer really lacks it.
        if ack.cumulative + 1 < self.first {
            let since_ns = *self.behind_since_ns.get_or_insert(now_ns);
            if now_ns.saturating_sub(since_ns) >= BEHIND_NS {
                return Acked::Disagrees;
            }
        } else {
            self.behind_since_ns = None;
        }
        let mut arrived = 0;
        while self.first <= ack.cumulative {
            self.arrived(0, now_ns, &mut arrived);
            self.flight.pop_front();
            self.first += 1;
        }
        // A reordered acknowledgement is about datagrams that are freed already.
        if ack.cumulative + 1 == self.first {
            let bits = ack.selective.len().saturating_mul(8).min(self.flight.len());
            for bit in (0..bits).filter(|bit| ack.selective[bit / 8] >> (bit % 8) & 1 == 1) {
                self.arrived(bit, now_ns, &mut arrived);
            }
        }
        let window = u64::from(ack.window.clamp(1, WINDOW));
        self.limit = self.limit.max(ack.cumulative + window);
        if arrived > 0 {
            self.congestion.on_ack(arrived);
            self.rto_at = None;
        }
        self.find_losses();
        self.arm(now_ns);
        Acked::Current
    }

    /// Sends again what is under way: the peer has not taken it.
    pub(super) fn send_again(&mut self) {
        for segment in self.flight.iter_mut().filter(|segment| segment.state == SegmentState::Sent)
        {
            segment.state = SegmentState::Lost;
        }
        self.under_way = 0;
    }

    /// Segment `index` of the flight has arrived.
    fn arrived(&mut self, index: usize, now_ns: u64, arrived: &mut usize) {
        let Some(segment) = self.flight.get_mut(index) else { return };
        if segment.state == SegmentState::Acknowledged {
            return;
        }
        if segment.state == SegmentState::Sent {
            self.under_way -= 1;
        }
        segment.state = SegmentState::Acknowledged;
        segment.bytes = Vec::new();
        *arrived += 1;
        // If it was sent twice, which of the two arrived is unknown.
        if !segment.retransmitted {
            self.order_arrived = self.order_arrived.max(segment.order);
            self.rto.sample(now_ns.saturating_sub(segment.sent_ns));
        }
    }

    fn find_losses(&mut self) {
        let mut halve = false;
        for (sequence, segment) in (self.first..).zip(&mut self.flight) {
            let overtaken = segment.order + REORDER_MAX <= self.order_arrived;
            if segment.state == SegmentState::Sent && overtaken {
                segment.state = SegmentState::Lost;
                self.under_way -= 1;
                halve |= sequence >= self.recover;
            }
        }
        if halve {
            self.congestion.on_loss();
            self.recover = self.next();
        }
    }

    fn arm(&mut self, now_ns: u64) {
        if self.flight.is_empty() {
            self.rto_at = None;
        } else if self.rto_at.is_none() {
            self.rto_at = Some(now_ns.saturating_add(self.rto.timeout_ns()));
        }
    }

    /// When [`Sender::on_time`] has something to do.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.rto_at
    }

    /// Takes everything under way for lost if the timeout has passed.
    pub(super) fn on_time(&mut self, now_ns: u64) {
        if self.rto_at.is_none_or(|at| now_ns < at) {
            return;
        }
        for segment in self.flight.iter_mut().filter(|segment| segment.state == SegmentState::Sent)
        {
            segment.state = SegmentState::Lost;
        }
        self.under_way = 0;
        self.congestion.on_timeout();
        self.recover = self.next();
        self.rto.back_off();
        self.rto_at = None;
        self.arm(now_ns);
    }

    /// The next datagram to go out, if windows allow one: its sequence and content.
    pub(super) fn take(&mut self, now_ns: u64, counters: &mut Counters) -> Option<(u64, &[u8])> {
        if self.under_way >= self.congestion.window() {
            return None;
        }
        let lost = self.flight.iter().position(|segment| segment.state == SegmentState::Lost);
        let index = match lost {
            Some(index) => {
                counters.count(Count::Retransmitted);
                index
            }
            None if self.next() <= self.limit && self.flight.len() < WINDOW as usize => {
                let bytes = self.queue.pop_front()?;
                self.queue_bytes -= bytes.len();
                let state = SegmentState::Lost; // sent below, like one that is sent again
                let segment = Segment { bytes, state, sent_ns: 0, order: 0, retransmitted: false };
                self.flight.push_back(segment);
                self.flight.len() - 1
            }
            None => return None,
        };
        self.order += 1;
        self.under_way += 1;
        self.arm(now_ns);
        let segment = &mut self.flight[index];
        segment.retransmitted = lost.is_some();
        segment.state = SegmentState::Sent;
        segment.sent_ns = now_ns;
        segment.order = self.order;
        Some((self.first + index as u64, &segment.bytes))
    }
}
