//! Pools of packets.
//!
//! A pool belongs to one thread and grows by blocks up to its limit. It counts allocations and
//! frees; the difference is the number of live packets, and keeps the memory for as long, even if
//! the pool's handle was dropped.

use std::ptr::NonNull;

use super::Packet;
use super::buffer::Store;

/// Counts of allocations and frees.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PoolStats {
    /// Packets given.
    pub allocated: u64,
    /// Freed packets.
    pub freed: u64,
    /// Buffers there are.
    pub buffers: u64,
    /// Times that the limit was met.
    pub refused: u64,
}

impl PoolStats {
    /// Adds those of another pool.
    pub fn add(&mut self, other: &PoolStats) {
        self.allocated += other.allocated;
        self.freed += other.freed;
        self.buffers += other.buffers;
        self.refused += other.refused;
    }

    /// Packets that have an owner.
    pub fn alive(&self) -> u64 {
        self.allocated - self.freed
    }
}

/// Gives packets; for one thread.
///
/// ```
/// use tidemill_packet::Pool;
///
/// let pool = Pool::new(1000);
/// let mut packet = pool.packet().ok_or("there is room for 1000")?;
/// packet.append(b"payload")?;
/// packet.prepend(b"header ")?;
/// assert_eq!(packet.bytes(), b"header payload");
/// packet.strip(7);
/// assert_eq!(packet.bytes(), b"payload");
/// drop(packet);
/// assert_eq!(pool.stats().alive(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pool {
    store: NonNull<Store>,
}

impl Pool {
    /// A pool of at most `limit` packets of up to
    /// [`SMALL_BYTES_MAX`](super::SMALL_BYTES_MAX) bytes, and as many larger ones.
    pub fn new(limit: usize) -> Pool {
        Pool { store: Store::new(limit) }
    }

    fn store(&self) -> &Store {
        // SAFETY: it lives at least as long as the handle.
        unsafe { self.store.as_ref() }
    }

    /// A fresh packet, empty; nothing if the limit is met.
    #[inline]
    pub fn packet(&self) -> Option<Packet> {
        Packet::of(&self.store().small)
    }

    /// A packet of these bytes; nothing if they are too many or the limit is met.
    pub fn packet_of(&self, bytes: &[u8]) -> Option<Packet> {
        let mut packet = Packet::of(self.store().for_bytes(bytes.len()))?;
        packet.append(bytes).ok()?;
        Some(packet)
    }

    /// Counts of allocations and frees.
    pub fn stats(&self) -> PoolStats {
        let store = self.store();
        PoolStats {
            allocated: store.allocated.get(),
            freed: store.freed.get(),
            buffers: store.buffers() as u64,
            refused: store.refused.get(),
        }
    }

    /// Where generated code finds the freelist for packets of this length: itself, its first
    /// buffer, the count of allocations, the count of frees.
    pub(crate) fn addresses(&self, bytes: usize) -> [usize; 4] {
        let store = self.store();
        let freelist = store.for_bytes(bytes);
        [
            std::ptr::from_ref(freelist).addr(),
            (&raw const freelist.free).addr(),
            (&raw const store.allocated).addr(),
            (&raw const store.freed).addr(),
        ]
    }

    /// The most packets of each size that there may be.
    pub(crate) fn limit(&self) -> usize {
        self.store().limit
    }

    pub(crate) fn set_now(&self, now_ns: u64) {
        self.store().now_ns.set(now_ns);
    }

    /// Packets freed so far.
    pub(crate) fn freed(&self) -> u64 {
        self.store().freed.get()
    }

    /// Packets given so far: changes whenever one is born.
    pub(crate) fn allocated(&self) -> u64 {
        self.store().allocated.get()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.stats().alive() == 0 {
            // SAFETY: made from a box, and no packet refers to it.
            drop(unsafe { Box::from_raw(self.store.as_ptr()) });
        } else {
            self.store().orphaned.set(true);
        }
    }
}
