//! The freelist that packets come from and go back to.
//!
//! A pool belongs to one thread and grows by blocks up to its limit. It counts what it gives and
//! gets back; the difference is what is alive somewhere, and keeps the memory for as long, even if
//! the pool's handle has gone.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};

use super::{Buffer, HEADROOM, Packet};

/// Buffers of the first block. So many times another one has twice as many; then some 700 KB are
/// allocated at once. In a simulation there are many pools that hold few packets.
const FIRST_BLOCK: usize = 4;
const GROWING: usize = 4;

/// What a pool has given and got back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PoolStats {
    /// Packets given.
    pub allocated: u64,
    /// Packets that came back.
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

    /// Packets that somebody has.
    pub fn alive(&self) -> u64 {
        self.allocated - self.freed
    }
}

#[repr(C)]
pub(crate) struct Shared {
    /// The buffer that was used last, and so is in the cache.
    free: Cell<*mut Buffer>,
    allocated: Cell<u64>,
    freed: Cell<u64>,
    /// What newborn packets are stamped with.
    now_ns: Cell<u64>,
    limit: usize,
    refused: Cell<u64>,
    /// The handle has gone: the last packet takes the memory with it.
    orphaned: Cell<bool>,
    blocks: RefCell<Vec<NonNull<Buffer>>>,
    /// Buffers of the last block that have not been used.
    fresh: Cell<usize>,
}

/// Buffers of a block, by its position.
fn block_len(at: usize) -> usize {
    FIRST_BLOCK << at.min(GROWING)
}

fn block_layout(at: usize) -> Layout {
    Layout::array::<Buffer>(block_len(at)).expect("a block is small")
}

/// Buffers of so many blocks.
fn buffers_of(blocks: usize) -> usize {
    let growing: usize = (0..blocks.min(GROWING)).map(block_len).sum();
    growing + blocks.saturating_sub(GROWING) * block_len(GROWING)
}

impl Shared {
    /// A fresh packet, empty.
    #[inline]
    pub(super) fn take(&self) -> Option<Packet> {
        let buffer = match NonNull::new(self.free.get()) {
            Some(buffer) => buffer,
            None => self.grow()?,
        };
        let at = buffer.as_ptr();
        // SAFETY: what is on the freelist is a buffer of this pool that nobody has.
        let head = unsafe { &mut *at };
        self.free.set(head.next);
        self.allocated.set(self.allocated.get() + 1);
        head.start = HEADROOM as u32;
        head.length = 0;
        head.mark = 0;
        head.time = 0;
        (head.missing, head.flags) = (0, 0);
        head.born_ns = self.now_ns.get();
        // SAFETY: it has just left the freelist.
        Some(unsafe { Packet::from_raw(buffer) })
    }

    /// Puts a buffer that was not used before on the freelist, which is empty, and gives it. It is
    /// of the last block, or of another one.
    #[cold]
    pub(crate) fn grow(&self) -> Option<NonNull<Buffer>> {
        if self.fresh.get() == 0 {
            self.add_block()?;
        }
        self.fresh.set(self.fresh.get() - 1);
        let (blocks, index) = (self.blocks.borrow(), self.fresh.get());
        let block = *blocks.last()?;
        // SAFETY: within the block, as the index is below its count.
        let mut buffer = unsafe { block.add(index) };
        // SAFETY: zeros are a buffer, and nobody else has it, as each index is given once.
        let head = unsafe { buffer.as_mut() };
        head.home = self;
        head.next = self.free.replace(buffer.as_ptr());
        Some(buffer)
    }

    /// Another block, none of which is used.
    fn add_block(&self) -> Option<()> {
        let mut blocks = self.blocks.borrow_mut();
        let before = buffers_of(blocks.len());
        if before >= self.limit {
            self.refused.set(self.refused.get() + 1);
            return None;
        }
        let (at, layout) = (blocks.len(), block_layout(blocks.len()));
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc_zeroed(layout) }.cast::<Buffer>();
        blocks.push(NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout)));
        // No more than the limit, although there is room.
        self.fresh.set(block_len(at).min(self.limit - before));
        Some(())
    }

    /// Puts a buffer back; it may be the last thing that the pool does.
    ///
    /// # Safety
    /// `home` is the pool that `buffer` came from, and nobody has `buffer` any more.
    #[inline]
    pub(super) unsafe fn give_back(home: *const Shared, mut buffer: NonNull<Buffer>) {
        // SAFETY: as the caller says, and a pool outlives its buffers.
        let (shared, head) = unsafe { (&*home, buffer.as_mut()) };
        head.next = shared.free.replace(buffer.as_ptr());
        shared.freed.set(shared.freed.get() + 1);
        if shared.orphaned.get() && shared.allocated.get() == shared.freed.get() {
            // SAFETY: made by `Pool::new` from a box; neither handle nor packets are left.
            drop(unsafe { Box::from_raw(home.cast_mut()) });
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for (at, block) in self.blocks.get_mut().iter().enumerate() {
            // SAFETY: allocated with this layout; no packet is left, or this would still be held.
            unsafe { dealloc(block.as_ptr().cast(), block_layout(at)) };
        }
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
    shared: NonNull<Shared>,
}

impl Pool {
    /// A pool of at most `limit` packets, rounded up to a block of 64.
    pub fn new(limit: usize) -> Pool {
        let shared = Box::new(Shared {
            free: Cell::new(ptr::null_mut()),
            allocated: Cell::new(0),
            freed: Cell::new(0),
            now_ns: Cell::new(0),
            limit,
            refused: Cell::new(0),
            orphaned: Cell::new(false),
            blocks: RefCell::new(Vec::new()),
            fresh: Cell::new(0),
        });
        Pool { shared: NonNull::from(Box::leak(shared)) }
    }

    fn shared(&self) -> &Shared {
        // SAFETY: it lives at least as long as the handle.
        unsafe { self.shared.as_ref() }
    }

    /// A fresh packet, empty; nothing if the limit is met.
    #[inline]
    pub fn packet(&self) -> Option<Packet> {
        self.shared().take()
    }

    /// A packet of these bytes; nothing if they are too many or the limit is met.
    pub fn packet_of(&self, bytes: &[u8]) -> Option<Packet> {
        let mut packet = self.packet()?;
        packet.append(bytes).ok()?;
        Some(packet)
    }

    /// What has been given and has come back.
    pub fn stats(&self) -> PoolStats {
        let shared = self.shared();
        PoolStats {
            allocated: shared.allocated.get(),
            freed: shared.freed.get(),
            buffers: buffers_of(shared.blocks.borrow().len()) as u64,
            refused: shared.refused.get(),
        }
    }

    /// Where generated code finds the pool: itself, its freelist, what it has given, what has come
    /// back.
    pub(crate) fn addresses(&self) -> [usize; 4] {
        let shared = self.shared();
        [
            self.shared.as_ptr() as usize,
            (&raw const shared.free) as usize,
            (&raw const shared.allocated) as usize,
            (&raw const shared.freed) as usize,
        ]
    }

    /// The most packets there may be.
    pub(crate) fn limit(&self) -> usize {
        self.shared().limit
    }

    pub(crate) fn set_now(&self, now_ns: u64) {
        self.shared().now_ns.set(now_ns);
    }

    /// Packets that came back so far.
    pub(crate) fn freed(&self) -> u64 {
        self.shared().freed.get()
    }

    /// Packets given so far: changes whenever one is born.
    pub(crate) fn allocated(&self) -> u64 {
        self.shared().allocated.get()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.stats().alive() == 0 {
            // SAFETY: made from a box, and no packet refers to it.
            drop(unsafe { Box::from_raw(self.shared.as_ptr()) });
        } else {
            self.shared().orphaned.set(true);
        }
    }
}
