//! The buffers of packets, and their freelists. Generated code knows both.
//!
//! ```text
//! small   | header | headroom 256 | room for 1664 | spare 64 |     2 KiB: most packets
//! large   | header | headroom 256 | room for 10240 | spare 64 |    jumbo frames, and what grows
//! ```
//! A packet that outgrows its buffer moves to a larger one. The spare bytes are for moving it.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};

/// The most bytes of a packet.
pub const BYTES_MAX: usize = 10 * 1024;

/// Bytes before a fresh packet, for headers to be prepended.
pub const HEADROOM: usize = 256;

/// Bytes of the packets for which a small buffer is enough.
pub const SMALL_BYTES_MAX: usize = 2048 - size_of::<Buffer>() - HEADROOM - SPARE;

/// Bytes after the room, so that every packet can begin at this place.
pub(super) const SPARE: usize = 64;

/// The header of a packet's memory, which the bytes follow. Generated code knows the offsets below.
#[repr(C, align(64))]
pub(crate) struct Buffer {
    /// The next on the freelist, while it is free.
    pub(super) next: *mut Buffer,
    /// The freelist that owns it; outlives the buffer.
    pub(super) home: *const Freelist,
    /// Where the packet begins in the bytes; it ends within their room and what is spare.
    pub(super) start: u32,
    /// Bytes of the packet, at most `BYTES_MAX`.
    pub(super) length: u32,
    /// When it was taken from the pool, in the time of the event loop.
    pub(super) born_ns: u64,
    /// When it was captured, in nanoseconds since the epoch, plus a bias; 0: not known. So
    /// the zeros of a fresh packet mean that it has no time, and the epoch is a time.
    pub(super) time: u64,
    /// Whatever apps agree on.
    pub(super) mark: u64,
    /// Bytes that it had on the wire and that are not here.
    pub(super) missing: u64,
    /// [`OUTGOING`], or 0.
    pub(super) flags: u64,
}

/// This machine sent the packet: a device has seen it leave.
pub(crate) const OUTGOING: u64 = 1;

/// Where generated code finds the parts of a buffer, in bytes from the address of the packet.
pub mod offsets {
    use super::Buffer;
    use std::mem::offset_of;

    /// The start of the packet within its bytes: `u32`.
    pub const START: usize = offset_of!(Buffer, start);
    /// The length: `u32`.
    pub const LENGTH: usize = offset_of!(Buffer, length);
    /// The next on the freelist: an address.
    pub const NEXT: usize = offset_of!(Buffer, next);
    /// The freelist that owns it: an address.
    pub const HOME: usize = offset_of!(Buffer, home);
    /// When it was taken from its pool: `u64`.
    pub const BORN: usize = offset_of!(Buffer, born_ns);
    /// When it was captured: `u64`.
    pub const TIME: usize = offset_of!(Buffer, time);
    /// The mark: `u64`.
    pub const MARK: usize = offset_of!(Buffer, mark);
    /// Bytes that are not here: `u64`.
    pub const MISSING: usize = offset_of!(Buffer, missing);
    /// What else is known of it: `u64`, after what is missing.
    pub const FLAGS: usize = offset_of!(Buffer, flags);
    /// The bytes, headroom first.
    pub const BYTES: usize = size_of::<Buffer>();
}

/// Buffers of the first block. [`GROWING`] times the next one has twice as many; then some 130 KB
/// or 700 KB are allocated at once. In a simulation there are many pools that hold few packets.
const FIRST_BLOCK: usize = 4;
const GROWING: usize = 4;

/// The buffers of a pool, and what it counts of them. They outlive the pool while packets live.
#[repr(C)]
pub(crate) struct Store {
    pub(super) small: Freelist,
    pub(super) large: Freelist,
    pub(super) allocated: Cell<u64>,
    pub(super) freed: Cell<u64>,
    /// What newborn packets are stamped with.
    pub(super) now_ns: Cell<u64>,
    /// Buffers of each size at most.
    pub(super) limit: usize,
    pub(super) refused: Cell<u64>,
    /// The handle was dropped: the last packet frees the memory.
    pub(super) orphaned: Cell<bool>,
}

/// Buffers of one size.
#[repr(C)]
pub(crate) struct Freelist {
    /// The buffer that was used last, and so is in the cache.
    pub(super) free: Cell<*mut Buffer>,
    /// What it is part of; set once that has its place.
    store: Cell<*const Store>,
    /// Bytes after the header of each, without those that are spare.
    pub(super) room: usize,
    blocks: RefCell<Vec<NonNull<u8>>>,
    /// Buffers of the last block that have not been used.
    fresh: Cell<usize>,
}

/// The most bytes of memory that a packet takes.
pub const MEMORY_MAX: usize = stride(HEADROOM + BYTES_MAX);

/// Bytes from one buffer to the next if each has this room.
const fn stride(room: usize) -> usize {
    (size_of::<Buffer>() + room + SPARE).next_multiple_of(align_of::<Buffer>())
}

/// Buffers of a block, by its position.
fn block_len(at: usize) -> usize {
    FIRST_BLOCK << at.min(GROWING)
}

/// Buffers of the first `blocks` blocks.
fn buffers_of(blocks: usize) -> usize {
    let growing: usize = (0..blocks.min(GROWING)).map(block_len).sum();
    growing + blocks.saturating_sub(GROWING) * block_len(GROWING)
}

impl Store {
    /// An empty one, of at most `limit` buffers of each size.
    pub(super) fn new(limit: usize) -> NonNull<Store> {
        let store = Box::new(Store {
            small: Freelist::new(HEADROOM + SMALL_BYTES_MAX),
            large: Freelist::new(HEADROOM + BYTES_MAX),
            allocated: Cell::new(0),
            freed: Cell::new(0),
            now_ns: Cell::new(0),
            limit,
            refused: Cell::new(0),
            orphaned: Cell::new(false),
        });
        let at = NonNull::from(Box::leak(store));
        // SAFETY: just made, and nothing else refers to it.
        let store = unsafe { at.as_ref() };
        for freelist in [&store.small, &store.large] {
            freelist.store.set(at.as_ptr());
        }
        at
    }

    /// Buffers there are.
    pub(super) fn buffers(&self) -> usize {
        self.small.buffers() + self.large.buffers()
    }

    /// Leaves out a buffer that was taken and one that was given back.
    pub(super) fn uncount(&self) {
        for count in [&self.allocated, &self.freed] {
            count.set(count.get() - 1);
        }
    }

    /// The freelist of buffers for packets of this length.
    #[inline]
    pub(super) fn for_bytes(&self, bytes: usize) -> &Freelist {
        if bytes <= SMALL_BYTES_MAX { &self.small } else { &self.large }
    }
}

impl Freelist {
    fn new(room: usize) -> Freelist {
        Freelist {
            free: Cell::new(ptr::null_mut()),
            store: Cell::new(ptr::null()),
            room,
            blocks: RefCell::new(Vec::new()),
            fresh: Cell::new(0),
        }
    }

    /// What it is part of.
    #[inline]
    pub(super) fn store(&self) -> &Store {
        // SAFETY: set when the store got its place, where it stays as long as this, its part.
        unsafe { &*self.store.get() }
    }

    /// Bytes from one buffer of a block to the next.
    pub(super) fn stride(&self) -> usize {
        stride(self.room)
    }

    fn block_layout(&self, at: usize) -> Layout {
        let layout = Layout::from_size_align(block_len(at) * self.stride(), align_of::<Buffer>());
        layout.expect("a block is small")
    }

    fn buffers(&self) -> usize {
        buffers_of(self.blocks.borrow().len())
    }

    /// The buffer of a fresh packet, empty; nothing if the limit is met.
    #[inline]
    pub(super) fn take(&self) -> Option<NonNull<Buffer>> {
        let buffer = match NonNull::new(self.free.get()) {
            Some(buffer) => buffer,
            None => self.grow()?,
        };
        let at = buffer.as_ptr();
        // SAFETY: what is on the freelist is a buffer of this pool that has no owner.
        let head = unsafe { &mut *at };
        self.free.set(head.next);
        let store = self.store();
        store.allocated.set(store.allocated.get() + 1);
        head.start = HEADROOM as u32;
        head.length = 0;
        head.mark = 0;
        head.time = 0;
        (head.missing, head.flags) = (0, 0);
        head.born_ns = store.now_ns.get();
        Some(buffer)
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
        let mut buffer = unsafe { block.byte_add(index * self.stride()) }.cast::<Buffer>();
        // SAFETY: zeros are a buffer, and it has no other owner, as each index is given once.
        let head = unsafe { buffer.as_mut() };
        head.home = self;
        head.next = self.free.replace(buffer.as_ptr());
        Some(buffer)
    }

    /// Another block, none of which is used.
    fn add_block(&self) -> Option<()> {
        let mut blocks = self.blocks.borrow_mut();
        let (before, store) = (buffers_of(blocks.len()), self.store());
        if before >= store.limit {
            store.refused.set(store.refused.get() + 1);
            return None;
        }
        let (at, layout) = (blocks.len(), self.block_layout(blocks.len()));
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc_zeroed(layout) };
        blocks.push(NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout)));
        // No more than the limit, although there is room.
        self.fresh.set(block_len(at).min(store.limit - before));
        Some(())
    }

    /// Puts a buffer back; it may be the last thing that the pool does.
    ///
    /// # Safety
    /// `home` is the freelist that owns `buffer`, and `buffer` has no handle any more.
    #[inline]
    pub(super) unsafe fn give_back(home: *const Freelist, mut buffer: NonNull<Buffer>) {
        // SAFETY: the caller guarantees that `home` is the freelist of `buffer`, which outlives it,
        // and that no handle is left.
        let (freelist, head) = unsafe { (&*home, buffer.as_mut()) };
        head.next = freelist.free.replace(buffer.as_ptr());
        let store = freelist.store();
        store.freed.set(store.freed.get() + 1);
        if store.orphaned.get() && store.allocated.get() == store.freed.get() {
            // SAFETY: made by `Store::new` from a box; neither handle nor packets are left.
            drop(unsafe { Box::from_raw(freelist.store.get().cast_mut()) });
        }
    }
}

impl Drop for Freelist {
    fn drop(&mut self) {
        for (at, block) in self.blocks.borrow().iter().enumerate() {
            // SAFETY: allocated with this layout; no packet is left, or this would still be held.
            unsafe { dealloc(block.as_ptr(), self.block_layout(at)) };
        }
    }
}
