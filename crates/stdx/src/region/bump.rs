//! The temporaries of one turn.

use super::chunk::{CHUNK_ALIGN, Chunk};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::{fmt, ptr, slice, str};

/// Size of the first chunk; each further one has the size of all before it.
const FIRST_CHUNK_BYTES: usize = 4096;

/// An arena that hands out references through a shared borrow.
pub struct Bump {
    /// First free byte of the chunk in use.
    next: Cell<*mut u8>,
    /// One past the last byte of the chunk in use.
    end: Cell<*mut u8>,
    /// Bytes used in the chunks before the one in use.
    used_before_bytes: Cell<usize>,
    chunks: RefCell<Chunks>,
}

/// All chunks; those after `current` are kept from before the last reset.
#[derive(Default)]
struct Chunks {
    all: Vec<Chunk>,
    current: usize,
}

// SAFETY: the pointers point into chunks that the `Bump` alone owns; references into them borrow
// the `Bump`, so none is alive while it moves to another thread.
unsafe impl Send for Bump {}

/// The `next` and `end` of a `Bump` without chunks: no bytes, but fit for values of no size.
fn nowhere() -> *mut u8 {
    ptr::without_provenance_mut(CHUNK_ALIGN)
}

impl Bump {
    /// An empty arena; takes memory at the first allocation.
    pub fn new() -> Bump {
        Bump {
            next: Cell::new(nowhere()),
            end: Cell::new(nowhere()),
            used_before_bytes: Cell::new(0),
            chunks: RefCell::default(),
        }
    }

    /// A value, moved here.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "each call returns memory that no other returned")]
    pub fn alloc<T: Copy>(&self, value: T) -> &mut T {
        let place = self.reserve(Layout::new::<T>()).cast::<T>();
        // SAFETY: reserved for a `T`, aligned, and used by nothing else until the reset.
        unsafe {
            place.write(value);
            &mut *place
        }
    }

    /// A copy of `text`.
    #[inline]
    pub fn alloc_str(&self, text: &str) -> &str {
        // SAFETY: the bytes of a `str`, copied.
        unsafe { str::from_utf8_unchecked(self.alloc_bytes(text.as_bytes())) }
    }

    /// A copy of `bytes`.
    #[inline]
    pub fn alloc_bytes(&self, bytes: &[u8]) -> &[u8] {
        self.alloc_slice_copy(bytes)
    }

    /// A copy of `values`.
    #[inline]
    pub fn alloc_slice_copy<T: Copy>(&self, values: &[T]) -> &[T] {
        let place = self.reserve(Layout::for_value(values)).cast::<T>();
        // SAFETY: reserved for these values, aligned, and used by nothing else until the reset.
        unsafe {
            ptr::copy_nonoverlapping(values.as_ptr(), place, values.len());
            slice::from_raw_parts(place, values.len())
        }
    }

    /// A slice of `len` values, each made by `value` from its place. `value` may allocate here.
    ///
    /// # Panics
    /// If the slice would not fit the address space.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "each call returns memory that no other returned")]
    pub fn alloc_slice_fill<T: Copy>(
        &self,
        len: usize,
        mut value: impl FnMut(usize) -> T,
    ) -> &mut [T] {
        let layout = Layout::array::<T>(len).expect("a slice fits the address space");
        let place = self.reserve(layout).cast::<T>();
        for index in 0..len {
            // SAFETY: within what was reserved.
            unsafe { place.add(index).write(value(index)) }
        }
        // SAFETY: all `len` places were written, and are used by nothing else until the reset.
        unsafe { slice::from_raw_parts_mut(place, len) }
    }

    /// Frees all values at once and keeps the memory for new ones.
    pub fn reset(&mut self) {
        let chunks = self.chunks.get_mut();
        chunks.current = 0;
        let (next, end) = match chunks.all.first() {
            Some(chunk) => bounds(chunk),
            None => (nowhere(), nowhere()),
        };
        self.next.set(next);
        self.end.set(end);
        self.used_before_bytes.set(0);
    }

    /// Frees all values and gives chunks back to the system until at most `keep_bytes` are held:
    /// the memory of one exceptional turn should not be kept for ever.
    pub fn reset_and_shrink(&mut self, keep_bytes: usize) {
        let chunks = self.chunks.get_mut();
        let mut held: usize = 0;
        chunks.all.retain(|chunk| {
            let keep = held + chunk.bytes() <= keep_bytes;
            held += if keep { chunk.bytes() } else { 0 };
            keep
        });
        self.reset();
    }

    /// Bytes used since the last reset, with padding for alignment.
    #[inline]
    pub fn used_bytes(&self) -> usize {
        self.used_before_bytes.get() + self.used_here_bytes()
    }

    /// Bytes held from the system.
    pub fn held_bytes(&self) -> usize {
        self.chunks.borrow().all.iter().map(Chunk::bytes).sum()
    }

    #[inline]
    fn reserve(&self, layout: Layout) -> *mut u8 {
        self.take(layout).unwrap_or_else(|| self.grow_and_take(layout))
    }

    /// Memory from the chunk in use, if it has enough.
    #[inline]
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let (next, end) = (self.next.get(), self.end.get());
        let padding = next.addr().wrapping_neg() & (layout.align() - 1);
        let needed = padding.checked_add(layout.size())?;
        if needed > end.addr() - next.addr() {
            return None;
        }
        self.next.set(next.wrapping_add(needed));
        Some(next.wrapping_add(padding))
    }

    #[cold]
    #[inline(never)]
    fn grow_and_take(&self, layout: Layout) -> *mut u8 {
        let needed = layout.size().saturating_add(layout.align());
        let mut chunks = self.chunks.borrow_mut();
        self.used_before_bytes.set(self.used_bytes_with(&chunks));
        let following = if chunks.all.is_empty() { 0 } else { chunks.current + 1 };
        if chunks.all.get(following).is_none_or(|kept| kept.bytes() < needed) {
            let held: usize = chunks.all.iter().map(Chunk::bytes).sum();
            let chunk = Chunk::new(needed.max(held).max(FIRST_CHUNK_BYTES));
            chunks.all.insert(following, chunk);
        }
        chunks.current = following;
        let (next, end) = bounds(&chunks.all[following]);
        self.next.set(next);
        self.end.set(end);
        drop(chunks);
        self.take(layout).expect("the chunk was chosen to fit")
    }

    fn used_here_bytes(&self) -> usize {
        self.used_in_current(&self.chunks.borrow())
    }

    fn used_bytes_with(&self, chunks: &Chunks) -> usize {
        self.used_before_bytes.get() + self.used_in_current(chunks)
    }

    fn used_in_current(&self, chunks: &Chunks) -> usize {
        let current = chunks.all.get(chunks.current);
        current.map_or(0, |chunk| self.next.get().addr() - chunk.start().addr())
    }
}

/// First byte of a chunk and one past its last.
fn bounds(chunk: &Chunk) -> (*mut u8, *mut u8) {
    (chunk.start(), chunk.start().wrapping_add(chunk.bytes()))
}

impl Default for Bump {
    fn default() -> Bump {
        Bump::new()
    }
}

impl fmt::Debug for Bump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bump")
            .field("used_bytes", &self.used_bytes())
            .field("held_bytes", &self.held_bytes())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_apart_over_many_chunks() {
        let n = if cfg!(miri) { 400 } else { 5000 };
        let bump = Bump::new();
        let texts: Vec<&str> = (0..n).map(|i| bump.alloc_str(&format!("text {i}"))).collect();
        let words: Vec<&mut u64> = (0..n).map(|i| bump.alloc(i)).collect();
        for (i, text) in texts.iter().enumerate() {
            assert_eq!(*text, format!("text {i}"));
        }
        assert!(words.iter().enumerate().all(|(i, word)| **word == i as u64));
        assert!(bump.held_bytes() >= bump.used_bytes());
        assert!(bump.used_bytes() >= n as usize * 14);
    }

    #[test]
    fn values_are_aligned() {
        #[derive(Clone, Copy)]
        #[repr(align(64))]
        struct Line(#[allow(dead_code)] u8);
        let bump = Bump::new();
        for _ in 0..200 {
            bump.alloc(1u8);
            assert!(ptr::from_ref(bump.alloc(Line(0))).addr().is_multiple_of(64));
            bump.alloc(2u8);
            assert!(ptr::from_ref(bump.alloc(7u64)).is_aligned());
        }
    }

    #[test]
    fn values_of_no_size_need_no_memory() {
        let bump = Bump::new();
        assert_eq!(bump.alloc_str(""), "");
        assert_eq!(bump.alloc_slice_copy::<u64>(&[]), []);
        bump.alloc(());
        assert_eq!((bump.used_bytes(), bump.held_bytes()), (0, 0));
    }

    #[test]
    fn the_maker_of_a_slice_may_allocate() {
        let bump = Bump::new();
        let texts = bump.alloc_slice_fill(1000, |i| bump.alloc_str(&i.to_string()));
        assert!(texts.iter().enumerate().all(|(i, text)| *text == i.to_string()));
    }

    #[test]
    fn a_reset_keeps_the_memory() {
        let mut bump = Bump::new();
        let fill = |bump: &Bump| {
            for i in 0..100 {
                bump.alloc_bytes(&vec![1; 50 * i]);
            }
        };
        fill(&bump);
        let (used, held) = (bump.used_bytes(), bump.held_bytes());
        for _ in 0..10 {
            bump.reset();
            assert_eq!(bump.used_bytes(), 0);
            fill(&bump);
            assert_eq!((bump.used_bytes(), bump.held_bytes()), (used, held));
        }
        bump.reset_and_shrink(8192);
        assert!(bump.held_bytes() <= 8192);
        fill(&bump);
        assert_eq!(bump.used_bytes(), used);
    }

    #[test]
    fn a_large_value_between_kept_chunks_fits() {
        let mut bump = Bump::new();
        bump.alloc_bytes(&[1; 3000]);
        bump.alloc_bytes(&[2; 3000]);
        bump.reset();
        bump.alloc_bytes(&[3; 3000]);
        let large = bump.alloc_bytes(&[4; 100_000]);
        let small = bump.alloc_bytes(&[5; 3000]);
        assert!(large == [4; 100_000] && small == [5; 3000]);
    }
}
