//! Memory from the system: by its allocator, or, of large blocks, mapped on huge pages.
//!
//! Programs with very many elements or processes read their memory in no order. On pages of 4 KiB
//! nearly each such access misses the translation buffer as well as the cache; a page of 2 MiB
//! needs one entry of the buffer for 512 of those, and one fault to be there.

use std::alloc::{Layout, alloc_zeroed, dealloc};

/// Sizes are rounded up to this.
pub const GRAIN: usize = 16;

/// Blocks from this size on lie on huge pages, where the system has some.
pub(super) const HUGE_MIN: usize = 2 << 20;

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, GRAIN).ok()
}

/// Zeros, aligned to [`GRAIN`]; none if there is no memory. The size is not zero.
pub(super) fn take(size: usize) -> Option<*mut u8> {
    if size >= HUGE_MIN && cfg!(not(miri)) {
        return map(size);
    }
    // SAFETY: the size is not zero.
    let block = unsafe { alloc_zeroed(layout(size)?) };
    (!block.is_null()).then_some(block)
}

/// Gives back what was taken.
///
/// # Safety
/// The block was taken with this size and is not used any more.
pub(super) unsafe fn give(block: *mut u8, size: usize) {
    if size >= HUGE_MIN && cfg!(not(miri)) {
        // SAFETY: `map` mapped all of it.
        return unsafe { unmap(block, pages(size)) };
    }
    if let Some(layout) = layout(size) {
        // SAFETY: `take` made it with this layout.
        unsafe { dealloc(block, layout) };
    }
}

/// A huge page.
const HUGE: usize = 2 << 20;

/// Bytes of whole pages.
fn pages(size: usize) -> usize {
    size.next_multiple_of(rustix::param::page_size())
}

/// A mapping that begins at a huge page: maps enough to contain such an address, and unmaps the
/// ends.
fn map(size: usize) -> Option<*mut u8> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
    if size > isize::MAX as usize - 2 * HUGE {
        return None;
    }
    let (length, access) = (pages(size), ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new mapping at a place that the system chooses.
    let all = unsafe {
        mmap_anonymous(std::ptr::null_mut(), length + HUGE, access, MapFlags::PRIVATE).ok()?
    };
    let before = all.cast::<u8>().align_offset(HUGE);
    let start = all.cast::<u8>().wrapping_add(before);
    // SAFETY: unused parts of the mapping; the advice changes no contents.
    unsafe {
        unmap(all.cast(), before);
        unmap(start.wrapping_add(length), HUGE - before);
        _ = madvise(start.cast(), length, Advice::LinuxHugepage);
    }
    Some(start)
}

/// # Safety
/// Whole pages of a mapping that are not used any more.
unsafe fn unmap(start: *mut u8, length: usize) {
    if length > 0 {
        // SAFETY: promised by the caller. It fails only where it would split a mapping and there
        // are too many; then the pages stay mapped.
        _ = unsafe { rustix::mm::munmap(start.cast(), length) };
    }
}
