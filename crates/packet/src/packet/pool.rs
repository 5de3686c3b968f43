//! Pools of packets.
//!
//! A pool belongs to one thread and grows by blocks up to its limit. It counts allocations and
//! frees; the difference is the number of live packets, and keeps the memory for as long, even if
//! the pool's handle was dropped.

use std::ptr::NonNull;

use super::Packet;
use super::buffer::Freelist;

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
    freelist: NonNull<Freelist>,
}

impl Pool {
    /// A pool of at most `limit` packets, rounded up to a block of 64.
    pub fn new(limit: usize) -> Pool {
        let freelist = Box::new(Freelist::new(limit));
        Pool { freelist: NonNull::from(Box::leak(freelist)) }
    }

    fn freelist(&self) -> &Freelist {
        // SAFETY: it lives at least as long as the handle.
        unsafe { self.freelist.as_ref() }
    }

    /// A fresh packet, empty; nothing if the limit is met.
    #[inline]
    pub fn packet(&self) -> Option<Packet> {
        Packet::of(self.freelist())
    }

    /// A packet of these bytes; nothing if they are too many or the limit is met.
    pub fn packet_of(&self, bytes: &[u8]) -> Option<Packet> {
        let mut packet = self.packet()?;
        packet.append(bytes).ok()?;
        Some(packet)
    }

    /// Counts of allocations and frees.
    pub fn stats(&self) -> PoolStats {
        let freelist = self.freelist();
        PoolStats {
            allocated: freelist.allocated.get(),
            freed: freelist.freed.get(),
            buffers: freelist.buffers() as u64,
            refused: freelist.refused.get(),
        }
    }

    /// Where generated code finds the pool: itself, its freelist, the count of allocations, the
    /// count of frees.
    pub(crate) fn addresses(&self) -> [usize; 4] {
        let freelist = self.freelist();
        [
            self.freelist.as_ptr() as usize,
            (&raw const freelist.free) as usize,
            (&raw const freelist.allocated) as usize,
            (&raw const freelist.freed) as usize,
        ]
    }

    /// The most packets there may be.
    pub(crate) fn limit(&self) -> usize {
        self.freelist().limit
    }

    pub(crate) fn set_now(&self, now_ns: u64) {
        self.freelist().now_ns.set(now_ns);
    }

    /// Packets freed so far.
    pub(crate) fn freed(&self) -> u64 {
        self.freelist().freed.get()
    }

    /// Packets given so far: changes whenever one is born.
    pub(crate) fn allocated(&self) -> u64 {
        self.freelist().allocated.get()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.stats().alive() == 0 {
            // SAFETY: made from a box, and no packet refers to it.
            drop(unsafe { Box::from_raw(self.freelist.as_ptr()) });
        } else {
            self.freelist().orphaned.set(true);
        }
    }
}
