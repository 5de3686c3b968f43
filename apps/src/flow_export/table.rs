//! The flows that are under way.
//!
//! ```text
//! key --hash--> Index --entry--> Flow      Queue: by their beginning, the oldest is evicted
//!                                          Wheel: by deadline, for those that get no more packets
//! ```
//! A packet that arrives at or after the deadline of its flow belongs to the next flow of its key,
//! whether the wheel has come to the old one or not: so flows do not depend on when it turns. Each
//! packet takes constant time. No order here follows the hash.

use tidemill_packet::kernel::table::age::{Queue, Wheel};
use tidemill_packet::kernel::table::index::Index;
use tidemill_stdx::cache;
use tidemill_stdx::keyed::Secret;

use super::key::{FlowKey, Observed};

/// The most flows of a table.
pub(super) const FLOWS_MAX: u32 = 1 << 26;

/// How long a TCP connection that has ended waits for its last packets.
pub(super) const LINGER_NS: u64 = 1_000_000_000;

const FIN: u16 = 1;
const SYN: u16 = 2;
const RST: u16 = 4;

/// Why a flow has ended (flowEndReason in the registry of IPFIX).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EndReason {
    /// No packet for the inactive timeout.
    Idle = 1,
    /// It has lasted for the active timeout.
    Active = 2,
    /// TCP has ended it.
    EndOfFlow = 3,
    /// The run ends.
    Forced = 4,
    /// There was no room for another flow.
    LackOfResources = 5,
}

/// A flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub key: FlowKey,
    pub packets: u64,
    pub bytes: u64,
    /// The earliest packet, in milliseconds since the epoch.
    pub start_ms: u64,
    /// When the first and the last packet arrived, in time of the event loop.
    first_ns: u64,
    last_ns: u64,
    /// The latest packet, from the earliest on.
    lasted_ms: u32,
    /// The control bits of TCP that any packet had.
    pub flags: u16,
    /// Its connection has ended.
    is_closing: bool,
}

impl Flow {
    /// The latest packet, in milliseconds since the epoch.
    pub fn end_ms(&self) -> u64 {
        self.start_ms + u64::from(self.lasted_ms)
    }

    fn note_time(&mut self, time_ms: u64) {
        let end_ms = self.end_ms().max(time_ms);
        self.start_ms = self.start_ms.min(time_ms);
        self.lasted_ms = u32::try_from(end_ms - self.start_ms).unwrap_or(u32::MAX);
    }
}

/// A flow that has ended, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub flow: Flow,
    pub reason: EndReason,
}

/// When flows end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Timeouts {
    pub active_ns: u64,
    pub inactive_ns: u64,
}

impl Timeouts {
    /// The time at which a flow ends if no packet arrives, and the reason.
    fn deadline(&self, flow: &Flow) -> (u64, EndReason) {
        let (wait_ns, reason) = if flow.is_closing {
            // A wheel turns for the inactive timeout at most.
            (LINGER_NS.min(self.inactive_ns), EndReason::EndOfFlow)
        } else {
            (self.inactive_ns, EndReason::Idle)
        };
        let idle_ns = flow.last_ns.saturating_add(wait_ns);
        let active_ns = flow.first_ns.saturating_add(self.active_ns);
        if idle_ns <= active_ns { (idle_ns, reason) } else { (active_ns, EndReason::Active) }
    }
}

/// The flows that are under way.
pub(super) struct FlowTable {
    timeouts: Timeouts,
    limit: usize,
    /// Entry n is flow n - 1.
    flows: Vec<Flow>,
    free: Vec<u32>,
    index: Index,
    order: Queue,
    /// Its clock is ahead by the inactive timeout, so that an entry is touched at its deadline.
    wheel: Wheel,
    secret: Secret,
}

impl FlowTable {
    /// An empty table. Its memory is reserved, and taken up as flows come.
    pub fn new(limit: u32, timeouts: Timeouts) -> FlowTable {
        let size = limit as usize;
        let (mut order, mut wheel) = (Queue::default(), Wheel::new(timeouts.inactive_ns));
        order.reserve(size);
        wheel.reserve(size);
        FlowTable {
            timeouts,
            limit: size,
            flows: Vec::with_capacity(size),
            free: Vec::with_capacity(size),
            index: Index::new(limit),
            order,
            wheel,
            secret: Secret::of_process(),
        }
    }

    /// The number of flows.
    pub fn len(&self) -> usize {
        self.flows.len() - self.free.len()
    }

    fn flow(&self, entry: u32) -> &Flow {
        &self.flows[entry as usize - 1]
    }

    fn flow_mut(&mut self, entry: u32) -> &mut Flow {
        &mut self.flows[entry as usize - 1]
    }

    fn find(&self, hash: u64, key: &FlowKey) -> Option<u32> {
        let entry = self.index.find(hash, |entry| self.flow(entry).key == *key);
        (entry != 0).then_some(entry)
    }

    /// The hash of a key, and begins to fetch where its flow is found.
    pub fn hash_ahead(&self, key: &FlowKey) -> u64 {
        let hash = key.hash(&self.secret);
        self.index.prefetch(hash);
        hash
    }

    /// Fetches the flow of a hash.
    pub fn prefetch(&self, hash: u64) {
        let entry = self.index.find(hash, |_| true) as usize;
        if let Some(flow) = entry.checked_sub(1).and_then(|at| self.flows.get(at)) {
            cache::prefetch(flow);
            cache::prefetch(&raw const flow.flags);
        }
    }

    /// Counts a packet that arrives now and was captured then; returns the flow that this has
    /// ended: the one before it of the same key, or the oldest, for want of room.
    pub fn count(
        &mut self,
        (packet, hash): (&Observed, u64),
        now_ns: u64,
        time_ms: u64,
    ) -> Option<Ended> {
        let mut ended = None;
        let mut entry = self.find(hash, &packet.key);
        if let Some(old) = entry
            && let Some(reason) = self.ended_before(old, packet, now_ns)
        {
            ended = Some(self.remove(old, reason));
            entry = None;
        }
        let entry = entry.unwrap_or_else(|| {
            if self.len() >= self.limit {
                ended = self.evict(now_ns);
            }
            self.begin(hash, packet.key, now_ns, time_ms)
        });
        let flow = self.flow_mut(entry);
        flow.packets += 1;
        flow.bytes += packet.bytes;
        flow.flags |= packet.flags;
        flow.last_ns = now_ns;
        flow.note_time(time_ms);
        if packet.flags & (FIN | RST) != 0 {
            self.close(entry, packet, now_ns);
        }
        ended
    }

    /// Why a packet belongs to the next flow of its key.
    fn ended_before(&self, entry: u32, packet: &Observed, now_ns: u64) -> Option<EndReason> {
        let flow = self.flow(entry);
        let (deadline_ns, reason) = self.timeouts.deadline(flow);
        if now_ns >= deadline_ns {
            return Some(reason);
        }
        // The ports are used again.
        (flow.is_closing && packet.flags & SYN != 0).then_some(EndReason::EndOfFlow)
    }

    fn begin(&mut self, hash: u64, key: FlowKey, now_ns: u64, time_ms: u64) -> u32 {
        let flow = Flow {
            key,
            packets: 0,
            bytes: 0,
            start_ms: time_ms,
            lasted_ms: 0,
            first_ns: now_ns,
            last_ns: now_ns,
            flags: 0,
            is_closing: false,
        };
        let entry = match self.free.pop() {
            Some(entry) => {
                *self.flow_mut(entry) = flow;
                entry
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32
            }
        };
        self.index.insert(hash, entry);
        self.order.append(entry);
        self.wheel.add(entry, self.timeouts.deadline(self.flow(entry)).0);
        entry
    }

    /// A connection ends with a reset, or when both sides have finished: in both directions.
    fn close(&mut self, entry: u32, packet: &Observed, now_ns: u64) {
        let reverse = packet.key.reversed();
        let reverse = self.find(reverse.hash(&self.secret), &reverse);
        // One whose time is over has ended before, whether the wheel has come to it or not.
        let goes_on = |&entry: &u32| now_ns < self.timeouts.deadline(self.flow(entry)).0;
        let reverse = reverse.filter(goes_on);
        let has_finished = |entry: u32| self.flow(entry).flags & FIN != 0;
        let is_over =
            packet.flags & RST != 0 || has_finished(entry) && reverse.is_some_and(has_finished);
        if !is_over {
            return;
        }
        for entry in [Some(entry), reverse].into_iter().flatten() {
            self.flow_mut(entry).is_closing = true;
            // The deadline is earlier than the wheel knows.
            self.wheel.remove(entry);
            self.wheel.add(entry, self.timeouts.deadline(self.flow(entry)).0);
        }
    }

    fn remove(&mut self, entry: u32, reason: EndReason) -> Ended {
        let flow = *self.flow(entry);
        self.index.remove(flow.key.hash(&self.secret), entry);
        self.order.remove(entry);
        self.wheel.remove(entry);
        self.free.push(entry);
        Ended { flow, reason }
    }

    /// Removes the oldest flow.
    pub fn evict(&mut self, now_ns: u64) -> Option<Ended> {
        self.remove_oldest(now_ns, EndReason::LackOfResources)
    }

    /// Ends the oldest flow, as the run ends.
    pub fn force(&mut self, now_ns: u64) -> Option<Ended> {
        self.remove_oldest(now_ns, EndReason::Forced)
    }

    fn remove_oldest(&mut self, now_ns: u64, reason: EndReason) -> Option<Ended> {
        let oldest = self.order.first()?;
        let (deadline_ns, own) = self.timeouts.deadline(self.flow(oldest));
        Some(self.remove(oldest, if now_ns >= deadline_ns { own } else { reason }))
    }

    /// The next flow whose deadline is over.
    pub fn expired(&mut self, now_ns: u64) -> Option<Ended> {
        let (flows, timeouts) = (&self.flows, self.timeouts);
        let deadline_ns = |entry: u32| timeouts.deadline(&flows[entry as usize - 1]).0;
        let entry = self.wheel.expired(now_ns.saturating_add(timeouts.inactive_ns), deadline_ns)?;
        let (_, reason) = self.timeouts.deadline(self.flow(entry));
        Some(self.remove(entry, reason))
    }

    /// Goes on with other timeouts and another limit; returns the oldest flows, if there are more
    /// than that.
    pub fn change(&mut self, limit: u32, timeouts: Timeouts, now_ns: u64) -> Vec<Ended> {
        let mut evicted = Vec::new();
        while self.len() > limit as usize {
            evicted.extend(self.evict(now_ns));
        }
        let mut next = FlowTable::new(limit, timeouts);
        for old in self.order.iter() {
            let flow = *self.flow(old);
            next.flows.push(flow);
            let entry = next.flows.len() as u32;
            next.index.insert(flow.key.hash(&next.secret), entry);
            next.order.append(entry);
            next.wheel.add(entry, timeouts.deadline(&flow).0);
        }
        *self = next;
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a flow takes up at most, with its share of the index, whose slots are a power of two,
    /// of the queue and of the wheel.
    #[test]
    fn a_flow_takes_160_bytes_at_most() {
        let (index, queue, wheel, free) = (4 * 8, 8, 8 + 2 + 2 * 4, 4);
        let all = size_of::<Flow>() + index + queue + wheel + free;
        assert!(all <= 160, "{all}: {} for the flow", size_of::<Flow>());
    }
}
