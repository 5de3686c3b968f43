//! Reliable, ordered delivery between two nodes over datagrams that are lost, doubled, reordered.
//!
//! Each datagram of a stream has a sequence; the peer acknowledges all up to one and, as bits,
//! those beyond a gap. What is not acknowledged goes again, after the timeout of RFC 6298 or when
//! later ones have arrived; a congestion window (additive increase, multiplicative decrease) and
//! the peer's own window bound what is under way.
//!
//! Lives and streams:
//!
//! ```text
//! incarnation   one side's life in this conversation: a random number
//! peer          the other's incarnation as this side knows it, 0 at first
//! stream        counts what a side has had to give up and begin again, from 1
//! ```
//! No handshake: the first datagram carries tuples. A node that restarts answers with a new
//! incarnation; once it echoes the other's (`lives`), the other drops what it had for the old one,
//! reports [`PeerEvent::Restarted`] and begins its next stream. A datagram to an earlier life of
//! the receiver is not delivered but answered, so that its sender learns.
//!
//! A peer that is silent for [`LEASE_NS`] while a lease is held, or while something waits for it,
//! is lost ([`PeerEvent::Lost`]): what waits is dropped, and this side begins a new life, so that
//! the other learns that it was given up. The same happens when the two sides disagree on what was
//! acknowledged, as nothing could ever arrive again.

mod congestion;
mod lives;
mod receiver;
mod rto;
mod sender;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::counters::{Count, Counters};
use crate::fragment::{self, Budget, FRAGMENT_BYTES_MIN, MESSAGE_BYTES_MAX};
use crate::head::{Ack, Head};
use crate::seal::mac::MacKey;
use lives::{LifeMatch, Lives};
use receiver::Receiver;
use sender::{Acked, Sender};

/// Datagrams that may be under way beyond what is acknowledged.
pub const WINDOW: u32 = 256;

/// The maximal silence of a peer.
pub const LEASE_NS: u64 = 30_000_000_000;

/// How often an otherwise silent side sends under a lease: 15 times in a lease, of which one must
/// arrive. Where 40% of the datagrams are lost, all of them are once in a million leases.
pub const KEEP_ALIVE_NS: u64 = 2_000_000_000;

/// How long an acknowledgement may wait for something to travel with.
pub const ACK_DELAY_NS: u64 = 10_000_000;

/// Bytes that a datagram's header and acknowledgement take at most.
pub const HEADER_BYTES_MAX: usize = 128;

/// Bytes that a fragment takes beside its data, at most.
const FRAGMENT_HEADER_BYTES_MAX: usize = 48;

/// Bytes of the answer to a life that is not believed.
const ANSWER_BYTES: usize = 20;

/// Events kept until they are polled; a peer that makes more of them is misbehaving.
const EVENTS_MAX: usize = 16;

/// The messages of a datagram for the owner to deliver, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// The content of the datagram itself.
    This,
    /// An envelope that was held or reassembled.
    Message(Vec<u8>),
}

/// An event of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerEvent {
    /// It lives a new life: it has forgotten what it was sent.
    Restarted,
    /// It was silent for [`LEASE_NS`].
    Lost,
}

/// Why a message was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendError {
    /// The queue is full.
    QueueFull,
    /// The message is over [`MESSAGE_BYTES_MAX`].
    TooLarge,
}

/// Sizes that the owner chooses.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a datagram, at least 512.
    pub datagram_bytes: usize,
    /// Bytes that may wait for one peer.
    pub queue_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { datagram_bytes: 1400, queue_bytes: 4 << 20 }
    }
}

impl Limits {
    /// Bytes of a message that goes in one datagram.
    pub fn message_bytes(&self) -> usize {
        self.datagram_bytes.max(512) - HEADER_BYTES_MAX
    }

    /// Bytes of a fragment's data.
    pub fn fragment_bytes(&self) -> usize {
        (self.message_bytes() - FRAGMENT_HEADER_BYTES_MAX).max(FRAGMENT_BYTES_MIN)
    }
}

/// One side of the conversation with one peer; see the module.
#[derive(Clone, Debug)]
pub struct Reliable {
    program: u64,
    limits: Limits,
    lives: Lives,
    sender: Sender,
    receiver: Receiver,
    /// Messages that went in fragments.
    fragmented: u64,
    has_lease: bool,
    /// From when silence counts.
    silent_since_ns: u64,
    sent_ns: u64,
    events: VecDeque<PeerEvent>,
}

impl Reliable {
    /// Sets the identity of this side's program, which envelopes carry from now on.
    pub fn set_program(&mut self, program: u64) {
        self.program = program;
    }

    /// Incarnations follow from `secret`: random bytes, others for each conversation; `program` is
    /// what envelopes say of this side's program.
    pub fn new(program: u64, secret: MacKey, limits: Limits, now_ns: u64) -> Reliable {
        Reliable {
            program,
            limits,
            lives: Lives::new(secret),
            sender: Sender::new(1),
            receiver: Receiver::default(),
            fragmented: 0,
            has_lease: false,
            silent_since_ns: now_ns,
            sent_ns: now_ns,
            events: VecDeque::new(),
        }
    }

    /// Holds a lease: this side sends every [`KEEP_ALIVE_NS`], and a peer that does not is lost
    /// after [`LEASE_NS`].
    pub fn hold_lease(&mut self, now_ns: u64) {
        if !self.has_lease {
            self.has_lease = true;
            self.silent_since_ns = self.silent_since_ns.max(now_ns);
        }
    }

    /// A datagram that is none of this conversation has come from the peer.
    pub fn note_alive(&mut self, now_ns: u64) {
        // It proves nothing about a peer that is not known here, which may be in another life.
        if self.lives.remote() != 0 {
            self.silent_since_ns = self.silent_since_ns.max(now_ns);
        }
    }

    /// Releases the lease.
    pub fn release_lease(&mut self) {
        self.has_lease = false;
    }

    /// True if the peer has shown that it receives what this side sends.
    pub fn is_believed(&self) -> bool {
        self.lives.is_believed()
    }

    /// True if nothing waits to be acknowledged and no lease is held: the conversation may be
    /// evicted when memory is short.
    pub fn is_idle(&self) -> bool {
        !self.has_lease && !self.sender.is_pending() && self.receiver.partial_since().is_none()
    }

    /// True if all that was sent is acknowledged, and so is all that was received.
    pub fn is_delivered(&self) -> bool {
        !self.sender.is_pending() && self.receiver.ack_at().is_none()
    }

    /// True if nothing is under way but what upholds a lease, or what waits for a silent peer: if
    /// it stays silent, that is lost.
    pub fn only_upkeep(&self) -> bool {
        (self.lives.remote() == 0 || !self.sender.is_pending())
            && self.receiver.ack_at().is_none()
            && self.receiver.partial_since().is_none()
    }

    /// Queues a message: the fields of an envelope without sequence and acknowledgement.
    ///
    /// # Errors
    /// The message is dropped: too large, or too much waits already.
    pub fn send(&mut self, message: Vec<u8>, now_ns: u64) -> Result<(), SendError> {
        if message.len() > MESSAGE_BYTES_MAX {
            return Err(SendError::TooLarge);
        }
        if self.sender.queue_bytes() + message.len() > self.limits.queue_bytes {
            return Err(SendError::QueueFull);
        }
        if !self.has_lease && !self.sender.is_pending() {
            self.silent_since_ns = now_ns;
        }
        if message.len() <= self.limits.message_bytes() {
            self.sender.push(message);
            return Ok(());
        }
        self.fragmented += 1;
        for part in fragment::split(self.fragmented, &message, self.limits.fragment_bytes()) {
            let program = self.program;
            let header = Head { program, fragment: Some(part), ..Head::default() };
            let mut bytes = Vec::new();
            header.append(&mut bytes);
            self.sender.push(bytes);
        }
        Ok(())
    }

    /// Takes a datagram that bears an [`Ack`]: its envelope, and the bytes it was read from.
    ///
    /// What is to be delivered now is appended to `out`, in order.
    pub fn on_datagram(
        &mut self,
        head: &Head<'_>,
        bytes: &[u8],
        now_ns: u64,
        (budget, counters): (&mut Budget, &mut Counters),
        out: &mut Vec<Delivery>,
    ) {
        let Some(ack) = head.ack.filter(|ack| ack.incarnation != 0) else {
            counters.count(Count::BadAck);
            return;
        };
        let echoes = ack.peer == self.lives.local();
        let was_believed = self.lives.is_believed();
        match self.lives.classify(ack.incarnation, ack.peer) {
            LifeMatch::Same => {}
            LifeMatch::Instead => self.meet(budget),
            LifeMatch::Successor => {
                counters.add(Count::PeerRestarted, self.sender.restart());
                self.meet(budget);
            }
            LifeMatch::Unproven => {
                // The answer is never longer than the datagram.
                if bytes.len() >= ANSWER_BYTES {
                    self.lives.answer(ack.incarnation);
                }
                return counters.count(Count::Stale);
            }
            LifeMatch::Stale => return counters.count(Count::Stale),
        }
        self.silent_since_ns = self.silent_since_ns.max(now_ns);
        if echoes {
            match self.sender.on_ack(&ack, now_ns, counters) {
                // It has not taken what was sent before it knew this life.
                Acked::OtherStream if !was_believed => self.sender.send_again(),
                Acked::OtherStream | Acked::Current => {}
                Acked::Disagrees => return self.begin_life(now_ns, budget, counters),
            }
        } else if ack.peer != 0 {
            counters.count(Count::Stale);
            self.receiver.ack_now(now_ns);
            return;
        }
        if head.sequence == 0 {
            return;
        }
        if ack.stream < self.receiver.stream() || ack.stream == 0 {
            counters.count(Count::Stale);
            return;
        }
        if ack.stream > self.receiver.stream() {
            self.receiver.restart(ack.stream, budget);
        }
        self.receiver.on_datagram(head, bytes, now_ns, (budget, counters), out);
    }

    /// The peer is in another life than the one known so far.
    fn meet(&mut self, budget: &mut Budget) {
        self.receiver.restart(0, budget);
        self.report(PeerEvent::Restarted);
    }

    /// Gives the peer up: what waits is dropped, and this side begins a new life.
    fn begin_life(&mut self, now_ns: u64, budget: &mut Budget, counters: &mut Counters) {
        counters.count(Count::LinkRestarted);
        counters.add(Count::PeerLost, self.sender.restart());
        self.receiver.restart(0, budget);
        self.lives.begin();
        self.silent_since_ns = now_ns;
        self.report(PeerEvent::Lost);
    }

    fn report(&mut self, event: PeerEvent) {
        // Repeats are dropped, and a new event displaces the newest when the queue is full.
        if self.events.back() != Some(&event) {
            self.events.truncate(EVENTS_MAX - 1);
            self.events.push_back(event);
        }
    }

    /// Events of the peer, oldest first.
    pub fn poll_event(&mut self) -> Option<PeerEvent> {
        self.events.pop_front()
    }

    /// Handles what is due: timeouts, the end of a lease.
    pub fn on_time(&mut self, now_ns: u64, budget: &mut Budget, counters: &mut Counters) {
        if self.lost_at().is_some_and(|at| at <= now_ns) {
            self.begin_life(now_ns, budget, counters);
        }
        self.sender.on_time(now_ns);
    }

    /// When the peer is given up, if it stays silent.
    fn lost_at(&self) -> Option<u64> {
        let waits = self.has_lease || self.sender.is_pending();
        let silence = waits.then_some(self.silent_since_ns);
        let since = [silence, self.receiver.partial_since()].into_iter().flatten().min();
        since.map(|since| since.saturating_add(LEASE_NS))
    }

    fn keep_alive_at(&self) -> Option<u64> {
        self.has_lease.then(|| self.sent_ns.saturating_add(KEEP_ALIVE_NS))
    }

    /// The next datagram to send now; to be called until there is none.
    pub fn poll_transmit(&mut self, now_ns: u64, counters: &mut Counters) -> Option<Vec<u8>> {
        if let Some(unproven) = self.lives.take_unproven() {
            return Some(self.answer(unproven));
        }
        let due = |at: Option<u64>| at.is_some_and(|at| at <= now_ns);
        let must_speak = due(self.receiver.ack_at()) || due(self.keep_alive_at());
        let selective = self.receiver.selective();
        let mut header = Head {
            ack: Some(Ack {
                incarnation: self.lives.local(),
                peer: self.lives.remote(),
                stream: self.sender.stream(),
                acknowledged: self.receiver.stream(),
                cumulative: self.receiver.cumulative(),
                selective: &selective,
                window: WINDOW,
            }),
            ..Head::default()
        };
        let mut datagram = Vec::new();
        match self.sender.take(now_ns, counters) {
            Some((sequence, message)) => {
                header.sequence = sequence;
                header.append(&mut datagram);
                datagram.extend_from_slice(message);
            }
            None if must_speak => {
                header.program = self.program;
                header.append(&mut datagram);
            }
            None => return None,
        }
        self.receiver.acknowledged();
        self.sent_ns = now_ns;
        Some(datagram)
    }

    /// The answer to a life that is not believed, which it can echo.
    fn answer(&self, unproven: u64) -> Vec<u8> {
        let ack = Ack { incarnation: self.lives.local(), peer: unproven, ..Ack::default() };
        let header = Head { ack: Some(ack), ..Head::default() };
        let mut datagram = Vec::with_capacity(ANSWER_BYTES);
        header.append(&mut datagram);
        datagram
    }

    /// When [`Reliable::on_time`] or [`Reliable::poll_transmit`] has something to do, if nothing
    /// comes before.
    pub fn next_timeout(&self) -> Option<u64> {
        let times =
            [self.sender.deadline(), self.receiver.ack_at(), self.keep_alive_at(), self.lost_at()];
        times.into_iter().flatten().min()
    }

    /// Gives back the memory of its messages; for a conversation that is dropped.
    pub fn close(mut self, budget: &mut Budget, counters: &mut Counters) {
        counters.add(Count::PeerLost, self.sender.restart());
        self.receiver.restart(0, budget);
    }
}
