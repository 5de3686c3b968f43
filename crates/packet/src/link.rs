//! Links: rings of packets from one app to another.
//!
//! ```text
//! read ..... write       both count up for ever; slot = index mod 1024
//! ```
//! At most 1023 packets are queued. A packet that finds the link full is freed and counted. As both
//! indexes only count up they are the packet counters too, and the bytes received are those sent
//! less those queued: sending costs one addition for counting, receiving none.
//!
//! A ring is shared by two apps and the engine of one thread through `&Ring`: its parts are cells.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::flags::Flag;
use crate::packet::{Buffer, Packet};

/// Slots of a ring.
pub const SLOTS: usize = 1024;

/// Packets that a link holds at most.
pub const QUEUED_MAX: usize = SLOTS - 1;

/// The ring of a link. Generated code knows the offsets below; its address never changes.
#[repr(C, align(64))]
pub(crate) struct Ring {
    /// Packets taken out so far.
    read: Cell<u64>,
    /// Packets put in so far.
    write: Cell<u64>,
    /// Bytes put in so far.
    tx_bytes: Cell<u64>,
    /// Packets that found the link full.
    drops: Cell<u64>,
    /// The targets to wake when the link is no longer empty; see `engine::notify`.
    notify: Cell<*const Targets>,
    /// The flag of the app that packets wait for; null: there is no receiver.
    waiting: Cell<*const Cell<u8>>,
    reserved: [u64; 2],
    /// Packets at `read..write`, modulo `SLOTS`.
    slots: [UnsafeCell<MaybeUninit<NonNull<Buffer>>>; SLOTS],
}

/// Where generated code finds the parts of a ring, in bytes from its address.
pub mod offsets {
    use super::Ring;
    use std::mem::offset_of;

    /// Packets taken out so far: `u64`.
    pub const READ: usize = offset_of!(Ring, read);
    /// Packets put in so far: `u64`.
    pub const WRITE: usize = offset_of!(Ring, write);
    /// Bytes put in so far: `u64`.
    pub const TX_BYTES: usize = offset_of!(Ring, tx_bytes);
    /// Packets dropped so far: `u64`.
    pub const DROPS: usize = offset_of!(Ring, drops);
    /// The flag to be set when the link is no longer empty: an address, or 0.
    pub const WAITING: usize = offset_of!(Ring, waiting);
    /// The slots: one address each.
    pub const SLOTS: usize = offset_of!(Ring, slots);
}

/// The flags of the apps to be notified; lives in the engine, as long as the links.
pub(crate) type Targets = Vec<Flag>;

impl Ring {
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.write.get() - self.read.get()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.write.get() == self.read.get()
    }

    #[inline]
    pub(crate) fn written(&self) -> u64 {
        self.write.get()
    }

    fn slot(&self, index: u64) -> &UnsafeCell<MaybeUninit<NonNull<Buffer>>> {
        &self.slots[index as usize % SLOTS]
    }

    /// Puts a packet in, or frees and counts it if there is no room.
    #[inline]
    pub(crate) fn send(&self, packet: Packet) {
        let write = self.write.get();
        let queued = write - self.read.get();
        if queued as usize == QUEUED_MAX {
            self.drops.set(self.drops.get() + 1);
            return;
        }
        self.tx_bytes.set(self.tx_bytes.get() + packet.len() as u64);
        let slot = self.slot(write).get();
        // SAFETY: one thread, and no reference into a slot outlives these functions.
        unsafe { (*slot).write(packet.into_raw()) };
        self.write.set(write + 1);
        if queued == 0 {
            self.notify();
        }
    }

    /// Wakes the targets: the link has packets.
    pub(crate) fn notify(&self) {
        // SAFETY: the engine keeps the flags of a graph as long as they are bound here.
        if let Some(waiting) = unsafe { self.waiting.get().as_ref() } {
            waiting.set(1);
        }
        let targets = self.notify.get();
        if !targets.is_null() {
            // SAFETY: the engine keeps the targets as long as they are bound here.
            for target in unsafe { &*targets } {
                target.set(true);
            }
        }
    }

    pub(crate) fn bind(&self, targets: *const Targets) {
        self.notify.set(targets);
    }

    /// From now on packets wait for the app of this flag; for none, if there is none.
    pub(crate) fn bind_waiting(&self, flag: Option<&Flag>) {
        self.waiting.set(flag.map_or(std::ptr::null(), Flag::address));
    }

    /// Takes the oldest packet that was sent before index `end`.
    #[inline]
    pub(crate) fn receive_before(&self, end: u64) -> Option<Packet> {
        let read = self.read.get();
        if read == end {
            return None;
        }
        let slot = self.slot(read).get();
        self.read.set(read + 1);
        // SAFETY: slots at read..write hold packets, and `end` is at most `write`.
        let buffer = unsafe { (*slot).assume_init_read() };
        // SAFETY: the ring had the only handle and has given it up.
        Some(unsafe { Packet::from_raw(buffer) })
    }

    /// The oldest packet, left where it is.
    pub(crate) fn oldest_born_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.peek(self.read.get(), Packet::born_ns))
    }

    /// Looks at a queued packet.
    fn peek<T>(&self, index: u64, look: impl FnOnce(&Packet) -> T) -> T {
        let slot = self.slot(index).get();
        // SAFETY: only called for read..write.
        let buffer = unsafe { (*slot).assume_init_read() };
        // SAFETY: the handle is forgotten below; the ring keeps the packet.
        let packet = std::mem::ManuallyDrop::new(unsafe { Packet::from_raw(buffer) });
        look(&packet)
    }

    pub(crate) fn stats(&self) -> LinkStats {
        let (read, write) = (self.read.get(), self.write.get());
        let queued_bytes: u64 =
            (read..write).map(|index| self.peek(index, |packet| packet.len() as u64)).sum();
        let tx_bytes = self.tx_bytes.get();
        LinkStats {
            tx_packets: write,
            tx_bytes,
            tx_drops: self.drops.get(),
            rx_packets: read,
            rx_bytes: tx_bytes - queued_bytes,
            queued: write - read,
        }
    }
}

/// Counts of a link so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LinkStats {
    /// Packets put in.
    pub tx_packets: u64,
    /// Bytes put in.
    pub tx_bytes: u64,
    /// Packets that found the link full.
    pub tx_drops: u64,
    /// Packets taken out.
    pub rx_packets: u64,
    /// Bytes taken out.
    pub rx_bytes: u64,
    /// Packets in it now.
    pub queued: u64,
}

impl LinkStats {
    /// Adds those of another link.
    pub fn add(&mut self, other: &LinkStats) {
        self.tx_packets += other.tx_packets;
        self.tx_bytes += other.tx_bytes;
        self.tx_drops += other.tx_drops;
        self.rx_packets += other.rx_packets;
        self.rx_bytes += other.rx_bytes;
        self.queued += other.queued;
    }
}

/// Owns a ring, at an address that stays. Dropping it frees the packets in it.
pub(crate) struct Link {
    ring: NonNull<Ring>,
}

impl Link {
    pub(crate) fn new() -> Link {
        // SAFETY: zeros are an empty ring: counts of 0, no target to notify, slots that hold
        // nothing.
        let ring = unsafe { Box::<Ring>::new_zeroed().assume_init() };
        Link { ring: NonNull::from(Box::leak(ring)) }
    }

    pub(crate) fn ring(&self) -> &Ring {
        // SAFETY: lives until the link is dropped.
        unsafe { self.ring.as_ref() }
    }

    pub(crate) fn address(&self) -> NonNull<Ring> {
        self.ring
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let ring = self.ring();
        while let Some(packet) = ring.receive_before(ring.written()) {
            drop(packet);
        }
        // SAFETY: made from a box; the engine has taken the link out of all apps before.
        drop(unsafe { Box::from_raw(self.ring.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Pool;

    #[test]
    fn a_full_link_drops_and_counts() {
        let (pool, link) = (Pool::new(2000), Link::new());
        let ring = link.ring();
        for i in 0..1030u64 {
            let mut packet = pool.packet_of(&[0; 10]).unwrap();
            packet.set_mark(i);
            ring.send(packet);
        }
        let stats = ring.stats();
        assert_eq!((stats.queued, stats.tx_packets, stats.tx_drops), (1023, 1023, 7));
        assert_eq!((stats.tx_bytes, stats.rx_bytes), (10230, 0));
        let marks: Vec<u64> = std::iter::from_fn(|| ring.receive_before(ring.written()))
            .map(|packet| packet.mark())
            .collect();
        assert_eq!(marks, (0..1023).collect::<Vec<u64>>());
        assert_eq!(ring.stats().rx_bytes, 10230);
        assert_eq!(pool.stats().alive(), 0);
    }

    #[test]
    fn packets_keep_their_order_around_the_end_of_the_ring() {
        let (pool, link) = (Pool::new(2000), Link::new());
        let ring = link.ring();
        let mut expected = 0;
        for i in 0..5000u64 {
            let mut packet = pool.packet().unwrap();
            packet.set_mark(i);
            ring.send(packet);
            if i % 7 > 1 {
                let packet = ring.receive_before(ring.written()).unwrap();
                assert_eq!(packet.mark(), expected);
                expected += 1;
            }
            if ring.len() > 1000 {
                for _ in 0..900 {
                    let packet = ring.receive_before(ring.written()).unwrap();
                    assert_eq!(packet.mark(), expected);
                    expected += 1;
                }
            }
        }
        assert_eq!(ring.stats().tx_drops, 0);
        drop(link);
        assert_eq!(pool.stats().alive(), 0);
    }

    #[test]
    fn receiving_stops_where_it_began() {
        let (pool, link) = (Pool::new(10), Link::new());
        let ring = link.ring();
        ring.send(pool.packet().unwrap());
        let end = ring.written();
        assert!(ring.receive_before(end).is_some());
        ring.send(pool.packet().unwrap());
        assert!(ring.receive_before(end).is_none());
        assert_eq!(ring.len(), 1);
    }
}
