//! The receiving half: puts datagrams in order, and makes the acknowledgements.

use tidemill_stdx::ordered::OrderedMap;

use super::{ACK_DELAY_NS, Delivery, WINDOW};
use crate::counters::{Count, Counters};
use crate::fragment::{Added, Budget, Partial};
use crate::head::{Fragment, Head};

/// Datagrams in order that one acknowledgement may cover.
const ACK_EVERY: u32 = 2;

/// The state of the peer's stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// The peer's stream, 0 before the first datagram.
    stream: u64,
    /// All datagrams up to this one have come.
    cumulative: u64,
    /// Datagrams beyond a gap.
    held: OrderedMap<u64, Held>,
    /// A message with missing fragments, and when it last grew.
    partial: Option<(Partial, u64)>,
    /// Datagrams that came since the last acknowledgement.
    unacknowledged: u32,
    ack_at: Option<u64>,
}

/// A datagram that waits for earlier ones.
#[derive(Clone, Debug)]
struct Held {
    bytes: Vec<u8>,
    /// What it has reserved. One that begins a message reserves for the whole of it: it has been
    /// acknowledged as arrived, so its turn must not fail.
    reserved: usize,
}

/// The result of taking the next datagram in order.
#[derive(PartialEq, Eq)]
enum Taken {
    Yes,
    /// No memory for the message that it begins: it is treated as lost.
    No,
}

impl Receiver {
    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    pub(super) fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// Forgets everything and waits for `stream`.
    pub(super) fn restart(&mut self, stream: u64, budget: &mut Budget) {
        self.held.values().for_each(|held| budget.give(held.reserved));
        if let Some((partial, _)) = self.partial.take() {
            budget.give(partial.size());
        }
        *self = Receiver { stream, ack_at: self.ack_at, ..Receiver::default() };
    }

    /// Takes a datagram of the current stream.
    pub(super) fn on_datagram(
        &mut self,
        head: &Head<'_>,
        bytes: &[u8],
        now_ns: u64,
        (budget, counters): (&mut Budget, &mut Counters),
        out: &mut Vec<Delivery>,
    ) {
        let sequence = head.sequence;
        if sequence <= self.cumulative || self.held.contains_key(&sequence) {
            counters.count(Count::Duplicate);
            self.ack_now(now_ns);
            return;
        }
        if sequence - self.cumulative > u64::from(WINDOW) {
            counters.count(Count::WindowExceeded);
            return;
        }
        if sequence > self.cumulative + 1 {
            self.hold(head, bytes, budget, counters);
            self.ack_now(now_ns);
            return;
        }
        let taken = match &head.fragment {
            Some(fragment) => self.fragment(fragment, now_ns, (budget, counters), out),
            None => {
                out.push(Delivery::This);
                Taken::Yes
            }
        };
        if taken == Taken::No {
            // Shows that this side lives, though it cannot take more.
            self.ack_now(now_ns);
            return;
        }
        self.cumulative = sequence;
        self.unacknowledged += 1;
        let filled_a_gap = !self.held.is_empty();
        self.release(now_ns, (budget, counters), out);
        if filled_a_gap || self.unacknowledged >= ACK_EVERY {
            self.ack_now(now_ns)
        } else {
            self.ack_by(now_ns.saturating_add(ACK_DELAY_NS))
        }
    }

    fn hold(
        &mut self,
        head: &Head<'_>,
        bytes: &[u8],
        budget: &mut Budget,
        counters: &mut Counters,
    ) {
        let first = head.fragment.filter(|fragment| fragment.index == 0);
        let begun = first.and_then(|fragment| Partial::size_for(&fragment)).unwrap_or(0);
        let reserved = bytes.len() + begun;
        if budget.take(reserved) {
            self.held.insert(head.sequence, Held { bytes: bytes.to_vec(), reserved });
        } else {
            counters.count(Count::ReorderFull)
        }
    }

    /// Delivers held datagrams that are now in order.
    fn release(
        &mut self,
        now_ns: u64,
        (budget, counters): (&mut Budget, &mut Counters),
        out: &mut Vec<Delivery>,
    ) {
        while let Some(Held { bytes, reserved }) = self.held.remove(&(self.cumulative + 1)) {
            budget.give(reserved);
            // What is held was decoded when it came.
            let fragment = Head::decode(&bytes).ok().and_then(|head| head.fragment);
            match fragment {
                // Its memory has just been returned, so it can be reserved.
                Some(fragment) => {
                    self.fragment(&fragment, now_ns, (budget, counters), out);
                }
                None => out.push(Delivery::Message(bytes)),
            }
            self.cumulative += 1;
        }
    }

    fn fragment(
        &mut self,
        fragment: &Fragment<'_>,
        now_ns: u64,
        (budget, counters): (&mut Budget, &mut Counters),
        out: &mut Vec<Delivery>,
    ) -> Taken {
        if self.partial.is_none() {
            let size = Partial::size_for(fragment).filter(|_| fragment.index == 0);
            let Some(size) = size else {
                counters.count(Count::FragmentInvalid);
                return Taken::Yes;
            };
            if !budget.take(size) {
                counters.count(Count::FragmentFull);
                return Taken::No;
            }
            self.partial = Partial::new(fragment).map(|partial| (partial, now_ns));
        }
        let Some((partial, grown_ns)) = &mut self.partial else { return Taken::Yes };
        match partial.add(fragment) {
            Added::More => *grown_ns = now_ns,
            Added::Complete => {
                budget.give(partial.size());
                let whole = self.partial.take();
                out.extend(whole.map(|(partial, _)| Delivery::Message(partial.into_bytes())));
            }
            Added::Duplicate | Added::Invalid => counters.count(Count::FragmentInvalid),
        }
        Taken::Yes
    }

    /// When the message being put together last grew.
    pub(super) fn partial_since(&self) -> Option<u64> {
        self.partial.as_ref().map(|&(_, grown_ns)| grown_ns)
    }

    /// Which datagrams beyond a gap have come, in the form of [`super::Ack::selective`].
    pub(super) fn selective(&self) -> Vec<u8> {
        let mut bits = Vec::new();
        for sequence in self.held.keys() {
            let bit = (sequence - self.cumulative - 1) as usize;
            bits.resize(bits.len().max(bit / 8 + 1), 0);
            bits[bit / 8] |= 1 << (bit % 8);
        }
        bits
    }

    /// When an acknowledgement is due.
    pub(super) fn ack_at(&self) -> Option<u64> {
        self.ack_at
    }

    pub(super) fn ack_now(&mut self, now_ns: u64) {
        self.ack_by(now_ns);
    }

    fn ack_by(&mut self, at_ns: u64) {
        self.ack_at = Some(self.ack_at.map_or(at_ns, |at| at.min(at_ns)));
    }

    /// An acknowledgement has gone out.
    pub(super) fn acknowledged(&mut self) {
        self.ack_at = None;
        self.unacknowledged = 0;
    }
}
