//! The allocator of a worker: blocks by size, with exact accounting against a limit.
//!
//! Blocks up to 2 KiB are rounded up to 16 bytes and come from a free list for each size; new
//! ones are cut from large chunks, so that what is made in order lies in order. Larger blocks
//! come from the system, the largest on huge pages ([`pages`]), and so do chunks of a program that
//! has many. The caller that frees a block passes its size. Free blocks are kept for their size;
//! chunks are freed with the worker.

mod pages;

pub use pages::GRAIN;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Blocks up to this size come from free lists.
pub const CLASS_MAX: usize = 2048;
/// Free lists; class `c` has blocks of `c * GRAIN` bytes.
pub const CLASSES: usize = CLASS_MAX / GRAIN + 1;

/// Memory of one worker. Generated code may take and put back blocks of the free lists.
#[repr(C)]
pub struct Memory {
    /// Bytes in use.
    pub used: u64,
    /// The most that were ever in use; beyond it a block is taken by a call, which also checks
    /// the limit.
    pub peak: u64,
    /// First free block of each class; a free block's first word is the next one's address.
    pub free: [*mut u8; CLASSES],
    /// The rest of the current chunk.
    bump: *mut u8,
    left: usize,
    /// Chunks so far.
    chunks: usize,
    limit: u64,
    /// Shared by several workers; then `limit` and `peak` are what this one has drawn, and `used`
    /// may be negative, which is why it begins at [`BIAS`].
    pool: Option<Arc<Pool>>,
    /// Chunks and large blocks by their address, with their size.
    ranges: BTreeMap<usize, (*mut u8, usize)>,
}

/// There is no more memory within the limit.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct OutOfMemory;

/// Bytes of the first chunk; each of the next is twice as large as the one before. Small ones are
/// memory that the process has used before, as to compile the program.
const FIRST_CHUNK: usize = 64 << 10;
/// How many chunks grow.
const GROWING_CHUNKS: usize = 5;
/// Bytes of later chunks, which lie on huge pages.
const LARGE_CHUNK: usize = 4 << 20;
/// Bytes in front of the first block of a chunk: a handle may name a place so far before a block.
pub(crate) const CHUNK_FRONT: usize = 48;

#[inline]
fn round(size: usize) -> usize {
    size.max(1).next_multiple_of(GRAIN)
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Memory {
        Memory {
            used: 0,
            peak: 0,
            free: [std::ptr::null_mut(); CLASSES],
            bump: std::ptr::null_mut(),
            left: 0,
            chunks: 0,
            limit,
            pool: None,
            ranges: BTreeMap::new(),
        }
    }

    /// A block of zeros, aligned to 16 bytes.
    #[inline]
    pub(crate) fn take(&mut self, size: usize) -> Result<*mut u8, OutOfMemory> {
        if size > CLASS_MAX {
            return self.take_large(size);
        }
        let size = round(size);
        let block = self.free[size / GRAIN];
        if block.is_null() || self.used + size as u64 > self.peak {
            return self.take_slowly(size);
        }
        self.used += size as u64;
        self.reuse(block, size);
        Ok(block)
    }

    /// As [`Memory::take`], with arbitrary contents.
    #[inline]
    pub(crate) fn take_unset(&mut self, size: usize) -> Result<*mut u8, OutOfMemory> {
        let size = round(size);
        let Some(&block) = self.free.get(size / GRAIN) else { return self.take(size) };
        if block.is_null() || self.used + size as u64 > self.peak {
            return self.take(size);
        }
        self.used += size as u64;
        self.unlink(block, size);
        Ok(block)
    }

    /// Takes the first free block of its class and makes it zeros.
    #[inline]
    fn reuse(&mut self, block: *mut u8, size: usize) {
        self.unlink(block, size);
        // SAFETY: the block has `size` bytes.
        unsafe { block.write_bytes(0, size) };
    }

    #[inline]
    fn unlink(&mut self, block: *mut u8, size: usize) {
        // SAFETY: a block in a free list is live memory of its class, written by `give`.
        self.free[size / GRAIN] = unsafe { block.cast::<*mut u8>().read() };
    }

    #[cold]
    #[inline(never)]
    fn take_slowly(&mut self, size: usize) -> Result<*mut u8, OutOfMemory> {
        self.charge(size)?;
        let block = self.free[size / GRAIN];
        if !block.is_null() {
            self.reuse(block, size);
            return Ok(block);
        }
        if self.left < size
            && let Err(error) = self.next_chunk()
        {
            self.used -= size as u64;
            return Err(error);
        }
        let block = self.bump;
        // SAFETY: at least `size` bytes are left of the chunk.
        self.bump = unsafe { block.add(size) };
        self.left -= size;
        Ok(block)
    }

    fn charge(&mut self, size: usize) -> Result<(), OutOfMemory> {
        let used = self.used.saturating_add(size as u64);
        if let Some(pool) = &self.pool {
            if used > self.limit {
                self.limit += pool.draw(used - self.limit)?;
                self.peak = self.limit;
            }
            self.used = used;
            return Ok(());
        }
        if used > self.limit {
            return Err(OutOfMemory);
        }
        self.used = used;
        self.peak = self.peak.max(used);
        Ok(())
    }

    /// Starts a chunk; what was left of the last one goes to the free lists.
    fn next_chunk(&mut self) -> Result<(), OutOfMemory> {
        while self.left >= GRAIN {
            let size = self.left.min(CLASS_MAX) / GRAIN * GRAIN;
            let rest = self.bump;
            // SAFETY: `size` bytes are left of the chunk.
            self.bump = unsafe { rest.add(size) };
            self.left -= size;
            self.put(rest, size);
        }
        let is_growing = self.chunks < GROWING_CHUNKS;
        let size = if is_growing { FIRST_CHUNK << self.chunks } else { LARGE_CHUNK };
        let chunk = pages::take(size).ok_or(OutOfMemory)?;
        self.ranges.insert(chunk.addr(), (chunk, size));
        // SAFETY: the chunk is larger.
        self.bump = unsafe { chunk.add(CHUNK_FRONT) };
        self.left = size - CHUNK_FRONT;
        self.chunks += 1;
        Ok(())
    }

    fn take_large(&mut self, size: usize) -> Result<*mut u8, OutOfMemory> {
        let size = round(size);
        self.charge(size)?;
        let Some(block) = pages::take(size) else {
            self.used -= size as u64;
            return Err(OutOfMemory);
        };
        match &self.pool {
            None => _ = self.ranges.insert(block.addr(), (block, size)),
            Some(pool) => pool.keep(block, size),
        }
        Ok(block)
    }

    /// Gives back a block of this size.
    #[inline]
    pub(crate) fn give(&mut self, block: *mut u8, size: usize) {
        let size = round(size);
        self.used -= size as u64;
        if size > CLASS_MAX {
            match &self.pool {
                None => _ = self.ranges.remove(&block.addr()),
                Some(pool) => pool.forget(block),
            }
            // SAFETY: `take_large` took a block of this size; the caller gives it up.
            unsafe { pages::give(block, size) };
            return;
        }
        self.put(block, size);
    }

    #[inline]
    fn put(&mut self, block: *mut u8, size: usize) {
        // SAFETY: a block is at least 16 bytes, aligned, and the caller gives it up.
        unsafe { block.cast::<*mut u8>().write(self.free[size / GRAIN]) };
        self.free[size / GRAIN] = block;
    }

    /// Counts memory that is held elsewhere for the program.
    pub(crate) fn hold(&mut self, size: usize) -> Result<(), OutOfMemory> {
        self.charge(size)
    }

    /// Bytes that may be used; of several workers, by all.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Makes this worker share memory with others. Before it has any.
    pub(crate) fn join(&mut self, pool: &Arc<Pool>) {
        debug_assert_eq!(self.used, 0);
        (self.used, self.limit, self.peak) = (BIAS, BIAS, BIAS);
        self.pool = Some(pool.clone());
    }

    /// Returns the surplus to the pool.
    pub(crate) fn trim(&mut self) {
        let Some(pool) = &self.pool else { return };
        let spare = self.limit.saturating_sub(self.used);
        if spare > 4 * PORTION {
            pool.give(spare - PORTION);
            self.limit -= spare - PORTION;
            self.peak = self.limit;
        }
    }

    /// The most bytes that were in use; with several workers, the most that they had drawn
    /// together.
    pub(crate) fn most(&self) -> u64 {
        self.pool.as_ref().map_or(self.peak, |pool| pool.most())
    }

    /// Bytes in use; of several workers, what they have drawn together.
    pub(crate) fn now(&self) -> u64 {
        self.pool.as_ref().map_or(self.used, |pool| pool.drawn())
    }

    /// Whether the 8 bytes at an address are memory of this worker.
    pub(crate) fn contains(&self, address: u64) -> bool {
        let address = address as usize;
        let range = self.ranges.range(..=address).next_back();
        range.is_some_and(|(&start, &(_, size))| address - start <= size - 8)
            && address.is_multiple_of(8)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for (block, size) in std::mem::take(&mut self.ranges).into_values() {
            // SAFETY: each was taken with this size; the worker that used them ends.
            unsafe { pages::give(block, size) };
        }
    }
}

/// Where the count of a worker that shares memory begins: it may free more than it took.
const BIAS: u64 = 1 << 62;

/// Bytes that a worker draws at a time.
const PORTION: u64 = 1 << 20;

/// Large blocks by their address, with their size.
struct Large(BTreeMap<usize, (*mut u8, usize)>);

// SAFETY: the map lists blocks to unmap; it does not access them.
unsafe impl Send for Large {}

/// What the workers of several loops share: the limit, from which they draw in portions, and the
/// list of large blocks, which may be freed by another worker than made them. Chunks belong to
/// the worker that made them and live until the run has ended; small blocks of any chunk are in
/// the free lists of any worker.
pub(crate) struct Pool {
    /// Relaxed throughout: a count, which orders nothing.
    drawn: AtomicU64,
    most: AtomicU64,
    limit: u64,
    large: Mutex<Large>,
}

impl Pool {
    pub(crate) fn new(limit: u64) -> Pool {
        Pool {
            drawn: AtomicU64::new(0),
            most: AtomicU64::new(0),
            limit,
            large: Mutex::new(Large(BTreeMap::new())),
        }
    }

    /// Draws a portion with room for `size`, or as much as is needed.
    fn draw(&self, size: u64) -> Result<u64, OutOfMemory> {
        let portion = PORTION.min(self.limit / 64 + 1);
        for wanted in [size.max(portion), size] {
            let more = |drawn: u64| drawn.checked_add(wanted).filter(|&sum| sum <= self.limit);
            if let Ok(before) = self.drawn.fetch_update(Relaxed, Relaxed, more) {
                self.most.fetch_max(before + wanted, Relaxed);
                return Ok(wanted);
            }
        }
        Err(OutOfMemory)
    }

    fn give(&self, size: u64) {
        self.drawn.fetch_sub(size, Relaxed);
    }

    fn most(&self) -> u64 {
        self.most.load(Relaxed)
    }

    fn drawn(&self) -> u64 {
        self.drawn.load(Relaxed)
    }

    fn large(&self) -> MutexGuard<'_, Large> {
        self.large.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, block: *mut u8, size: usize) {
        self.large().0.insert(block.addr(), (block, size));
    }

    fn forget(&self, block: *mut u8) {
        self.large().0.remove(&block.addr());
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for (block, size) in std::mem::take(&mut self.large().0).into_values() {
            // SAFETY: taken with this size; the last worker has ended.
            unsafe { pages::give(block, size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_reused_and_zero() {
        let mut memory = Memory::new(1 << 20);
        let a = memory.take(40).unwrap();
        assert_eq!((memory.used, memory.peak), (48, 48));
        // SAFETY: the block has 48 bytes.
        unsafe { a.write_bytes(7, 48) };
        memory.give(a, 40);
        assert_eq!((memory.used, memory.peak), (0, 48));
        let b = memory.take(33).unwrap();
        assert_eq!(a, b, "the same class");
        // SAFETY: the block has 48 bytes, zeroed by `take`.
        assert!((0..48).all(|i| unsafe { *b.add(i) } == 0));
        memory.give(b, 33);
    }

    #[test]
    fn the_limit_holds_for_small_and_large() {
        let mut memory = Memory::new(10_000);
        let large = memory.take(5000).unwrap();
        assert_eq!(memory.take(6000), Err(OutOfMemory));
        let mut small = Vec::new();
        while let Ok(block) = memory.take(100) {
            small.push(block);
        }
        assert_eq!(memory.used, 5008 + 112 * small.len() as u64);
        assert!(memory.used + 112 > 10_000);
        memory.give(large, 5000);
        for block in small {
            memory.give(block, 100);
        }
        assert_eq!(memory.used, 0);
    }

    #[test]
    fn chunks_and_blocks_of_all_sizes_are_zero_and_go_back() {
        let mut memory = Memory::new(u64::MAX);
        let small: Vec<*mut u8> = (0..30_000).map(|_| memory.take(1000).unwrap()).collect();
        for size in [
            3000,
            FIRST_CHUNK << 4,
            pages::HUGE_MIN - 16,
            pages::HUGE_MIN,
            pages::HUGE_MIN * 2 + 48,
        ] {
            let block = memory.take(size).unwrap();
            // SAFETY: the block has this many bytes.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block, size) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            (bytes[0], bytes[size - 1]) = (1, 2);
            assert!(
                memory.contains(block as u64)
                    && memory.contains((block as usize + size - 8) as u64)
            );
            memory.give(block, size);
            assert!(!memory.contains(block as u64));
        }
        assert!(small.iter().all(|&block| memory.contains(block as u64)));
        // SAFETY: each of the blocks has 1000 bytes.
        assert!(small.iter().all(|&block| unsafe { *block.add(999) } == 0));
    }

    #[test]
    fn blocks_made_in_order_lie_in_order() {
        let mut memory = Memory::new(u64::MAX);
        let blocks: Vec<usize> = (0..100).map(|_| memory.take(208).unwrap() as usize).collect();
        assert!(blocks.windows(2).all(|pair| pair[1] == pair[0] + 208));
    }
}
