//! One piece of memory from the system's allocator.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Every chunk starts at a multiple of this, in bytes.
pub(super) const CHUNK_ALIGN: usize = 16;

/// Memory that is owned, zeroed when made and freed on drop. The owner decides what is inside.
pub(super) struct Chunk {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a chunk is the only owner of its memory and has no thread affinity.
unsafe impl Send for Chunk {}
// SAFETY: a shared chunk only gives the address of its memory.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// Zeroed memory of `bytes` bytes, at least one. Aborts if the machine has no more, as `Vec`
    /// does; panics if `bytes` exceeds `isize::MAX`.
    pub(super) fn new(bytes: usize) -> Chunk {
        let bytes = bytes.max(1);
        let layout = Chunk::layout(bytes);
        // SAFETY: the layout is not of size zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Chunk { start, bytes }
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, CHUNK_ALIGN).expect("a chunk fits the address space")
    }

    #[inline]
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed only here.
        unsafe { dealloc(self.start(), Chunk::layout(self.bytes)) }
    }
}
