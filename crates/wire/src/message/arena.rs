//! The memory of one message tree.
//!
//! Chunks from the system's allocator, handed out from the front, freed or used again as a whole.
//! Nothing in it moves, so records may hold addresses. Generated code takes memory by itself:
//!
//! ```text
//!   place = next;  if end - place < bytes: call the slow way;  next = place + bytes
//! ```
//! where `bytes` is a multiple of 8, and `next` and `end` are the first two words of the arena.
//! The memory is not zeroed, unless [`Fresh::Zeroed`] asks for it.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use tidemill_stdx::copy::copy;

/// The alignment of allocations in an arena, in bytes.
pub const ALIGN: usize = 8;

/// Size of the first chunk; each further one has the size of all before it.
const FIRST_CHUNK_BYTES: usize = 1024;

/// Bytes after the end of a chunk, which are not allocated: so all allocations may be read in
/// pieces of this size.
pub const SPARE_BYTES: usize = 32;

/// See the module.
#[repr(C)]
pub struct Arena {
    /// First free byte of the chunk in use; a multiple of 8.
    next: *mut u8,
    /// One past the last byte of the chunk in use.
    end: *mut u8,
    chunks: Vec<Chunk>,
    /// The chunk in use; those after it are kept from before the last reset.
    current: usize,
    /// Bytes in the chunks before the one in use.
    before_bytes: usize,
    limit_bytes: usize,
    fresh: Fresh,
}

/// The contents of new memory from the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fresh {
    /// Anything; it is not read.
    Unknown,
    /// Zeros, so that all of it may be read: also memory that was never written, or that is left
    /// from before a reset.
    Zeroed,
}

// SAFETY: the arena alone owns its chunks; the pointers point into them.
unsafe impl Send for Arena {}
// SAFETY: through a shared arena nothing changes.
unsafe impl Sync for Arena {}

/// The offset of `next` in an [`Arena`], in bytes.
pub const NEXT_OFFSET: u32 = std::mem::offset_of!(Arena, next) as u32;
/// The offset of `end` in an [`Arena`], in bytes.
pub const END_OFFSET: u32 = std::mem::offset_of!(Arena, end) as u32;

struct Chunk {
    start: NonNull<u8>,
    bytes: usize,
}

impl Chunk {
    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes + SPARE_BYTES, 16).expect("a chunk fits the address space")
    }

    fn new(bytes: usize, fresh: Fresh) -> Chunk {
        let layout = Chunk::layout(bytes);
        let start = match fresh {
            // SAFETY: the size is not zero.
            Fresh::Unknown => unsafe { alloc(layout) },
            // SAFETY: likewise.
            Fresh::Zeroed => unsafe { alloc_zeroed(layout) },
        };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Chunk { start, bytes }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed only here.
        unsafe { dealloc(self.start.as_ptr(), Chunk::layout(self.bytes)) }
    }
}

impl Arena {
    /// An arena that never takes more than `limit_bytes`; takes nothing before the first use.
    pub fn with_limit(limit_bytes: usize) -> Arena {
        Arena::with(limit_bytes, Fresh::Unknown)
    }

    /// The same, with new memory as `fresh` says.
    pub fn with(limit_bytes: usize, fresh: Fresh) -> Arena {
        let nowhere = std::ptr::without_provenance_mut(ALIGN);
        Arena {
            next: nowhere,
            end: nowhere,
            chunks: Vec::new(),
            current: 0,
            before_bytes: 0,
            limit_bytes,
            fresh,
        }
    }

    /// Memory for `bytes` bytes, at a multiple of 8; `None` at the limit.
    #[inline]
    pub fn alloc(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let rounded = bytes.checked_next_multiple_of(ALIGN)?;
        if rounded > self.end.addr() - self.next.addr() {
            return self.alloc_slowly(rounded);
        }
        let place = self.next;
        self.next = place.wrapping_add(rounded);
        NonNull::new(place)
    }

    /// The slow path: another chunk.
    #[cold]
    #[inline(never)]
    fn alloc_slowly(&mut self, rounded: usize) -> Option<NonNull<u8>> {
        let following = if self.chunks.is_empty() { 0 } else { self.current + 1 };
        if self.chunks.get(following).is_none_or(|kept| kept.bytes < rounded) {
            let held = self.held_bytes();
            let left = self.limit_bytes.saturating_sub(held);
            let bytes = rounded.max(held).max(FIRST_CHUNK_BYTES).min(left) & !(ALIGN - 1);
            if bytes < rounded || bytes > isize::MAX as usize - 16 - SPARE_BYTES {
                return None;
            }
            self.chunks.insert(following, Chunk::new(bytes, self.fresh));
        }
        if following > 0 {
            self.before_bytes += self.chunks[self.current].bytes;
        }
        self.current = following;
        let chunk = &self.chunks[following];
        self.next = chunk.start.as_ptr();
        self.end = self.next.wrapping_add(chunk.bytes & !(ALIGN - 1));
        self.alloc(rounded)
    }

    /// Extends the last allocation in place: true if `old_bytes` at `place` are the last allocation
    /// and there was room after them.
    #[inline]
    pub fn extend(&mut self, place: *mut u8, old_bytes: usize, new_bytes: usize) -> bool {
        let old = old_bytes.next_multiple_of(ALIGN);
        let more = new_bytes.saturating_add(ALIGN - 1) & !(ALIGN - 1);
        // Two chunks may touch, so that it ends where the one in use begins is not enough.
        let start = self.chunks.get(self.current).map_or(usize::MAX, |one| one.start.addr().get());
        let is_last = place.addr() >= start && place.addr() + old == self.next.addr();
        let more = more.saturating_sub(old);
        if !is_last || more > self.end.addr() - self.next.addr() {
            return false;
        }
        self.next = self.next.wrapping_add(more);
        true
    }

    /// A copy of `bytes`; `None` at the limit.
    #[inline]
    pub fn copy(&mut self, bytes: &[u8]) -> Option<NonNull<u8>> {
        let place = self.alloc(bytes.len())?;
        // SAFETY: just allocated with that length, so it overlaps nothing.
        unsafe { copy(place.as_ptr(), bytes.as_ptr(), bytes.len()) };
        Some(place)
    }

    /// Frees all allocations at once and keeps the chunks for later ones.
    pub fn reset(&mut self) {
        self.current = 0;
        self.before_bytes = 0;
        if let Some(chunk) = self.chunks.first() {
            self.next = chunk.start.as_ptr();
            self.end = self.next.wrapping_add(chunk.bytes & !(ALIGN - 1));
        }
    }

    /// Frees the chunks that a reset keeps, except the first ones up to `bytes`.
    pub fn shrink(&mut self, bytes: usize) {
        let used = if self.chunks.is_empty() { 0 } else { self.current + 1 };
        let mut kept = 0;
        let keep = self.chunks.iter().take_while(|chunk| {
            kept += chunk.bytes;
            kept <= bytes
        });
        let keep = keep.count().max(used);
        self.chunks.truncate(keep);
    }

    /// Bytes that are in use.
    #[inline]
    pub fn used_bytes(&self) -> usize {
        let start = self.chunks.get(self.current).map_or(ALIGN, |one| one.start.addr().get());
        self.before_bytes + (self.next.addr() - start)
    }

    /// Bytes held from the system.
    pub fn held_bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.bytes).sum()
    }

    /// The most it may hold.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena")
            .field("used_bytes", &self.used_bytes())
            .field("held_bytes", &self.held_bytes())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_stays_apart_and_a_reset_keeps_the_chunks() {
        let mut arena = Arena::with_limit(usize::MAX);
        let count = if cfg!(miri) { 400 } else { 2000 };
        let mut held = 0;
        for round in 0..3 {
            let texts: Vec<_> =
                (0..count).map(|i| (i, arena.copy(format!("text {i}").as_bytes()))).collect();
            for (i, place) in texts {
                let (text, place) = (format!("text {i}"), place.unwrap());
                // SAFETY: copied above and not freed since.
                let found = unsafe { std::slice::from_raw_parts(place.as_ptr(), text.len()) };
                assert_eq!(found, text.as_bytes());
                assert!(place.addr().get().is_multiple_of(ALIGN));
            }
            assert!(round == 0 || held == arena.held_bytes());
            held = arena.held_bytes();
            arena.reset();
            assert_eq!(arena.used_bytes(), 0);
        }
        arena.shrink(4096);
        assert!(arena.held_bytes() <= 4096);
    }

    #[test]
    fn the_limit_holds() {
        let mut arena = Arena::with_limit(5000);
        while arena.alloc(24).is_some() {}
        assert!(arena.held_bytes() <= 5000 && arena.used_bytes() > 4000);
        assert_eq!(arena.alloc(usize::MAX), None);
        arena.reset();
        assert!(arena.alloc(24).is_some());
    }

    #[test]
    fn the_last_thing_grows_in_place() {
        let mut arena = Arena::with_limit(usize::MAX);
        let place = arena.alloc(64).unwrap().as_ptr();
        assert!(arena.extend(place, 64, 128));
        assert_eq!(arena.used_bytes(), 128);
        arena.alloc(8).unwrap();
        assert!(!arena.extend(place, 128, 256));
        let last = arena.alloc(8).unwrap().as_ptr();
        assert!(!arena.extend(last, 8, 1 << 40));
    }
}
