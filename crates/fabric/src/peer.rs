//! The state of a node for one other address: the program it runs, and the traffic to it.
//!
//! Tuples gather in a batch until a datagram is full or the owner flushes. Best effort and
//! reliable delivery run side by side, each with a batch of its own, and each in the order of
//! sending.

use std::collections::VecDeque;

use crate::counters::{Count, Counters};
use crate::fragment::{self, Budget, Reassembler};
use crate::head::Head;
use crate::reliable::{Limits, PeerEvent, Reliable, SendError};

/// The transport of tuples to a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    /// Best effort: datagrams may be lost, doubled and reordered.
    BestEffort,
    /// Once each and in order, as long as both sides live.
    Reliable,
}

/// Tuples of one message, encoded, after the program's identity.
#[derive(Clone, Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    tuples: u64,
}

/// One peer; see the module.
#[derive(Clone, Debug)]
pub struct Peer {
    /// This node's program.
    program: u64,
    is_addressed: bool,
    limits: Limits,
    /// The program in the peer's last envelope.
    peer_program: Option<u64>,
    /// When the last envelope of the peer came, or this state was made.
    received_ns: u64,
    /// Datagrams sent by best effort.
    sequence: u64,
    /// Messages that went in fragments by best effort.
    fragmented: u64,
    batches: [Batch; 2],
    /// Datagrams by best effort, ready to go.
    outbox: VecDeque<Vec<u8>>,
    outbox_bytes: usize,
    pub(super) reassembler: Reassembler,
    pub(super) reliable: Option<Box<Reliable>>,
}

impl Peer {
    /// A peer without history.
    pub fn new(program: u64, limits: Limits, now_ns: u64) -> Peer {
        Peer {
            program,
            is_addressed: false,
            limits,
            peer_program: None,
            received_ns: now_ns,
            sequence: 0,
            fragmented: 0,
            batches: [Batch::default(), Batch::default()],
            outbox: VecDeque::new(),
            outbox_bytes: 0,
            reassembler: Reassembler::new(),
            reliable: None,
        }
    }

    /// From now on this node runs another program. Queued tuples are sent under the program that
    /// they were encoded for.
    pub fn set_program(&mut self, program: u64, now_ns: u64, counters: &mut Counters) {
        self.flush(Mode::BestEffort, now_ns, counters);
        self.flush(Mode::Reliable, now_ns, counters);
        self.program = program;
        if let Some(reliable) = &mut self.reliable {
            reliable.set_program(program);
        }
    }

    /// True if the peer's last envelope bore this node's program: it can read bodies.
    pub fn runs_same_program(&self) -> bool {
        self.peer_program == Some(self.program)
    }

    /// When the last envelope of the peer came.
    pub fn received_ns(&self) -> u64 {
        self.received_ns
    }

    /// Notes an envelope of the peer's; one that names no program says nothing about it.
    pub fn on_envelope(&mut self, head: &Head<'_>, now_ns: u64) {
        self.received_ns = now_ns;
        if head.ack.is_none()
            && let Some(reliable) = &mut self.reliable
        {
            reliable.note_alive(now_ns);
        }
        if head.program != 0 {
            self.peer_program = Some(head.program);
        }
    }

    /// True if nothing waits in either direction: the peer may be forgotten.
    pub fn is_idle(&self) -> bool {
        self.outbox.is_empty()
            && self.batches.iter().all(|batch| batch.tuples == 0)
            && self.reassembler.next_timeout().is_none()
            && self.reliable.as_ref().is_none_or(|reliable| reliable.is_idle())
    }

    /// True if nothing waits to be sent or acknowledged by the peer.
    pub fn is_delivered(&self) -> bool {
        self.outbox.is_empty()
            && self.batches.iter().all(|batch| batch.tuples == 0)
            && self.reliable.as_ref().is_none_or(|reliable| reliable.is_delivered())
    }

    /// True if nothing is under way but the upkeep of leases ([`Reliable::only_upkeep`]).
    pub fn only_upkeep(&self) -> bool {
        self.outbox.is_empty()
            && self.batches.iter().all(|batch| batch.tuples == 0)
            && self.reassembler.next_timeout().is_none()
            && self.reliable.as_ref().is_none_or(|reliable| reliable.only_upkeep())
    }

    /// The conversation, begun if there is none; `secret` as in [`Reliable::new`].
    pub fn reliable(&mut self, secret: impl FnOnce() -> [u8; 32], now_ns: u64) -> &mut Reliable {
        let (program, limits) = (self.program, self.limits);
        self.reliable
            .get_or_insert_with(|| Box::new(Reliable::new(program, secret(), limits, now_ns)))
    }

    /// Notes that this side has something to say to the peer.
    pub fn address(&mut self) {
        self.is_addressed = true;
    }

    /// True if this side has spoken to the peer by itself, or the peer has shown that it receives
    /// what is sent to it. A sender under forged addresses achieves neither.
    pub fn is_known(&self) -> bool {
        self.is_addressed || self.reliable.as_ref().is_some_and(|reliable| reliable.is_believed())
    }

    /// Adds a tuple, a field of an envelope, to what goes by `mode`.
    ///
    /// For [`Mode::Reliable`] the conversation must have begun.
    pub fn push(&mut self, mode: Mode, tuple: &[u8], now_ns: u64, counters: &mut Counters) {
        let (held, message_max) = (&self.batches[mode as usize], self.limits.message_bytes());
        if held.tuples > 0 && held.bytes.len() + tuple.len() > message_max {
            self.flush(mode, now_ns, counters);
        }
        let batch = &mut self.batches[mode as usize];
        if batch.bytes.is_empty() {
            let header = Head { program: self.program, ..Head::default() };
            header.append(&mut batch.bytes);
        }
        batch.bytes.extend_from_slice(tuple);
        batch.tuples += 1;
    }

    /// Turns the batch of `mode` into datagrams.
    fn flush(&mut self, mode: Mode, now_ns: u64, counters: &mut Counters) {
        let batch = std::mem::take(&mut self.batches[mode as usize]);
        if batch.tuples == 0 {
            return;
        }
        let result = match (mode, &mut self.reliable) {
            (Mode::Reliable, Some(reliable)) => reliable.send(batch.bytes, now_ns),
            _ => self.send_best_effort(&batch.bytes),
        };
        match result {
            Ok(()) => {}
            Err(SendError::QueueFull) => counters.add(Count::QueueFull, batch.tuples),
            Err(SendError::TooLarge) => counters.add(Count::Unsendable, batch.tuples),
        }
    }

    fn send_best_effort(&mut self, message: &[u8]) -> Result<(), SendError> {
        if self.outbox_bytes + message.len() > self.limits.queue_bytes {
            return Err(SendError::QueueFull);
        }
        if message.len() <= self.limits.message_bytes() {
            self.put_out(&Head::default(), message);
            return Ok(());
        }
        if message.len() > fragment::MESSAGE_BYTES_MAX {
            return Err(SendError::TooLarge);
        }
        self.fragmented += 1;
        for part in fragment::split(self.fragmented, message, self.limits.fragment_bytes()) {
            let program = self.program;
            let header = Head { program, fragment: Some(part), ..Head::default() };
            self.put_out(&header, &[]);
        }
        Ok(())
    }

    fn put_out(&mut self, header: &Head<'_>, message: &[u8]) {
        self.sequence += 1;
        let header = Head { sequence: self.sequence, ..*header };
        let mut datagram = Vec::with_capacity(message.len() + 16);
        header.append(&mut datagram);
        datagram.extend_from_slice(message);
        self.outbox_bytes += datagram.len();
        self.outbox.push_back(datagram);
    }

    /// The next datagram to send now; to be called until there is none.
    pub fn poll_transmit(&mut self, now_ns: u64, counters: &mut Counters) -> Option<Vec<u8>> {
        self.flush(Mode::BestEffort, now_ns, counters);
        self.flush(Mode::Reliable, now_ns, counters);
        if let Some(datagram) = self.outbox.pop_front() {
            self.outbox_bytes -= datagram.len();
            return Some(datagram);
        }
        self.reliable.as_mut()?.poll_transmit(now_ns, counters)
    }

    /// Handles what is due.
    pub fn on_time(&mut self, now_ns: u64, budget: &mut Budget, counters: &mut Counters) {
        self.reassembler.expire(now_ns, budget, counters);
        if let Some(reliable) = &mut self.reliable {
            reliable.on_time(now_ns, budget, counters);
        }
    }

    /// Events of the peer, oldest first.
    pub fn poll_event(&mut self) -> Option<PeerEvent> {
        self.reliable.as_mut()?.poll_event()
    }

    /// When [`Peer::on_time`] or [`Peer::poll_transmit`] has something to do, if nothing comes
    /// before.
    pub fn next_timeout(&self) -> Option<u64> {
        let reliable = self.reliable.as_ref().and_then(|reliable| reliable.next_timeout());
        [self.reassembler.next_timeout(), reliable].into_iter().flatten().min()
    }

    /// Gives back the memory of incomplete messages; for a peer that is forgotten.
    pub fn close(mut self, budget: &mut Budget, counters: &mut Counters) {
        self.reassembler.clear(budget);
        if let Some(reliable) = self.reliable {
            reliable.close(budget, counters);
        }
    }
}
