//! The buffers of packets, and their freelist. Generated code knows both.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};

/// The most bytes of a packet.
pub const BYTES_MAX: usize = 10 * 1024;

/// Bytes before a fresh packet, for headers to be prepended.
pub const HEADROOM: usize = 256;

/// Bytes of a buffer after its header.
pub(super) const ROOM: usize = HEADROOM + BYTES_MAX;

/// The memory of a packet. Generated code knows the offsets below.
#[repr(C, align(64))]
pub(crate) struct Buffer {
    /// The next on the freelist, while it is free.
    pub(super) next: *mut Buffer,
    /// The pool that owns it; outlives the buffer.
    pub(super) home: *const Freelist,
    /// Where the packet begins in `bytes`; never beyond `ROOM - length`.
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
    pub(super) bytes: [u8; ROOM],
}

/// This machine sent the packet: a device has seen it leave.
pub(crate) const OUTGOING: u64 = 1;

impl Buffer {
    /// Puts the packet where fresh ones begin: the most room after.
    #[cold]
    pub(super) fn move_to_headroom(&mut self) {
        let start = self.start as usize;
        self.bytes.copy_within(start..start + self.length as usize, HEADROOM);
        self.start = HEADROOM as u32;
    }
}

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
    /// The pool that owns it: an address.
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
    pub const BYTES: usize = offset_of!(Buffer, bytes);
}

/// Buffers of the first block. [`GROWING`] times the next one has twice as many; then some 700 KB
/// are allocated at once. In a simulation there are many pools that hold few packets.
const FIRST_BLOCK: usize = 4;
const GROWING: usize = 4;

/// Buffers, and what a pool counts of them. It outlives the pool while packets are alive.
#[repr(C)]
pub(crate) struct Freelist {
    /// The buffer that was used last, and so is in the cache.
    pub(super) free: Cell<*mut Buffer>,
    pub(super) allocated: Cell<u64>,
    pub(super) freed: Cell<u64>,
    /// What newborn packets are stamped with.
    pub(super) now_ns: Cell<u64>,
    pub(super) limit: usize,
    pub(super) refused: Cell<u64>,
    /// The handle was dropped: the last packet frees the memory.
    pub(super) orphaned: Cell<bool>,
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

/// Buffers of the first `blocks` blocks.
fn buffers_of(blocks: usize) -> usize {
    let growing: usize = (0..blocks.min(GROWING)).map(block_len).sum();
    growing + blocks.saturating_sub(GROWING) * block_len(GROWING)
}

impl Freelist {
    /// An empty one, of at most `limit` buffers.
    pub(super) fn new(limit: usize) -> Freelist {
        Freelist {
            free: Cell::new(ptr::null_mut()),
            allocated: Cell::new(0),
            freed: Cell::new(0),
            now_ns: Cell::new(0),
            limit,
            refused: Cell::new(0),
            orphaned: Cell::new(false),
            blocks: RefCell::new(Vec::new()),
            fresh: Cell::new(0),
        }
    }

    /// Buffers there are.
    pub(super) fn buffers(&self) -> usize {
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
        self.allocated.set(self.allocated.get() + 1);
        head.start = HEADROOM as u32;
        head.length = 0;
        head.mark = 0;
        head.time = 0;
        (head.missing, head.flags) = (0, 0);
        head.born_ns = self.now_ns.get();
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
        let mut buffer = unsafe { block.add(index) };
        // SAFETY: zeros are a buffer, and it has no other owner, as each index is given once.
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
    /// `home` is the pool that owns `buffer`, and `buffer` has no handle any more.
    #[inline]
    pub(super) unsafe fn give_back(home: *const Freelist, mut buffer: NonNull<Buffer>) {
        // SAFETY: the caller guarantees that `home` is the pool of `buffer`, which outlives it, and
        // that no handle is left.
        let (freelist, head) = unsafe { (&*home, buffer.as_mut()) };
        head.next = freelist.free.replace(buffer.as_ptr());
        freelist.freed.set(freelist.freed.get() + 1);
        if freelist.orphaned.get() && freelist.allocated.get() == freelist.freed.get() {
            // SAFETY: made by `Pool::new` from a box; neither handle nor packets are left.
            drop(unsafe { Box::from_raw(home.cast_mut()) });
        }
    }
}

impl Drop for Freelist {
    fn drop(&mut self) {
        for (at, block) in self.blocks.get_mut().iter().enumerate() {
            // SAFETY: allocated with this layout; no packet is left, or this would still be held.
            unsafe { dealloc(block.as_ptr().cast(), block_layout(at)) };
        }
    }
}
