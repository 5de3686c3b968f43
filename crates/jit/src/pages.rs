//! Memory for code: written first, then sealed, never both.
//!
//! ```text
//!   Blank (read, write)  --seal-->  Sealed: | code: read, execute | data: read |  --drop--> gone
//! ```
//!
//! One piece holds both parts, so code and data reach each other with 32-bit displacements. Small
//! pieces lie side by side in one mapping, which is unmapped with the last of them.
//!
//! Mappings are placed below the program, whose functions the code calls: processors predict calls
//! and returns over more than 4 GiB worse, which slows code with a short call for each value.

use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap,
};

/// The length in whole pages.
pub(crate) fn whole_pages(bytes: usize) -> usize {
    bytes.next_multiple_of(rustix::param::page_size())
}

/// So far below the program mappings begin, so that what is loaded with it has room.
const GAP_BYTES: usize = 64 << 20;
/// Hints repeat after this many bytes of mappings: many of the places are free again by then.
const NEAR_BYTES: usize = 1 << 30;

/// An address near the program for a mapping of `bytes` bytes; null if there is none. It is a hint:
/// if the place is taken, the system chooses another.
fn near_the_program(bytes: usize) -> *mut c_void {
    static MAPPED: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: only the number matters, and that no two threads have the same one.
    let offset = MAPPED.fetch_add(bytes, Ordering::Relaxed) % NEAR_BYTES;
    let program = whole_pages as *const () as usize;
    let place = program.checked_sub(GAP_BYTES + offset).and_then(|end| end.checked_sub(bytes));
    let page = rustix::param::page_size();
    ptr::without_provenance_mut(place.map_or(0, |place| place / page * page))
}

/// The size of mappings that several pieces of code share: the number of mappings of a process is
/// limited, and code that is made incrementally has a few pages each.
const REGION_BYTES: usize = 256 << 10;
/// Longer pieces have a mapping of their own.
const SHARED_MAX_BYTES: usize = 64 << 10;

/// A mapping of whole pages that we own.
struct Mapping {
    address: NonNull<c_void>,
    bytes: usize,
}

impl Mapping {
    /// Pages that can be written, all zero.
    fn new(bytes: usize) -> io::Result<Mapping> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        let wish = near_the_program(bytes);
        // SAFETY: a new mapping at a free place changes no memory in use.
        let address = unsafe { mmap_anonymous(wish, bytes, access, flags) }?;
        let address = NonNull::new(address).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { address, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, whole, and is not used after its owner is dropped.
        let result = unsafe { munmap(self.address.as_ptr(), self.bytes) };
        debug_assert!(result.is_ok(), "{result:?}");
    }
}

// SAFETY: it is an address; its pieces guard the access to their pages.
unsafe impl Send for Mapping {}

// SAFETY: it has no method that changes the mapping; its pieces guard the access to their pages.
unsafe impl Sync for Mapping {}

/// The mapping that is shared now, and how much of it is given away. Pages are given once: what a
/// piece leaves is not for others, and goes with the mapping.
struct Region {
    mapping: Arc<Mapping>,
    used: usize,
}

static REGION: Mutex<Option<Region>> = Mutex::new(None);

/// Whole pages of a mapping, of one owner.
struct Piece {
    address: NonNull<c_void>,
    bytes: usize,
    mapping: Arc<Mapping>,
}

impl Piece {
    fn new(bytes: usize) -> io::Result<Piece> {
        if bytes > SHARED_MAX_BYTES {
            let mapping = Arc::new(Mapping::new(bytes)?);
            return Ok(Piece { address: mapping.address, bytes, mapping });
        }
        let mut shared = REGION.lock().unwrap_or_else(PoisonError::into_inner);
        let region = match &mut *shared {
            Some(region) if region.used + bytes <= REGION_BYTES => region,
            full => {
                let mapping = Arc::new(Mapping::new(REGION_BYTES)?);
                full.insert(Region { mapping, used: 0 })
            }
        };
        let mapping = region.mapping.clone();
        // SAFETY: the place is within the mapping.
        let address = unsafe { mapping.address.byte_add(region.used) };
        region.used += bytes;
        Ok(Piece { address, bytes, mapping })
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.bytes == self.mapping.bytes {
            return;
        }
        let (address, bytes) = (self.address.as_ptr(), self.bytes);
        // SAFETY: the pages are ours, and are not used after their owner is dropped. A stale access
        // traps, and they take no memory.
        let gone = unsafe {
            mprotect(address, bytes, MprotectFlags::empty())
                .and_then(|()| madvise(address, bytes, Advice::LinuxDontNeed))
        };
        debug_assert!(gone.is_ok(), "{gone:?}");
    }
}

/// Pages that can be written and not executed, all zero.
pub(crate) struct Blank(Piece);

impl Blank {
    /// At least `bytes`, at least one page.
    pub fn new(bytes: usize) -> io::Result<Blank> {
        Piece::new(whole_pages(bytes.max(1))).map(Blank)
    }

    pub fn address(&self) -> usize {
        self.0.address.as_ptr() as usize
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let Piece { address, bytes, .. } = self.0;
        // SAFETY: the pages are readable, writable, initialised with zeros, and borrowed from us.
        unsafe { std::slice::from_raw_parts_mut(address.cast().as_ptr(), bytes) }
    }

    /// Makes the first `code` bytes (whole pages) executable and all of it read-only.
    pub fn seal(self, code: usize) -> io::Result<Sealed> {
        let Piece { address, bytes, .. } = self.0;
        assert!(code <= bytes && code == whole_pages(code), "code is whole pages of the mapping");
        flush_instructions(address.as_ptr() as usize, code);
        if code > 0 {
            let access = MprotectFlags::READ | MprotectFlags::EXEC;
            // SAFETY: the pages are ours, and nothing points into them as writable any more.
            unsafe { mprotect(address.as_ptr(), code, access) }?;
        }
        if code < bytes {
            let rest = address.as_ptr().wrapping_byte_add(code);
            // SAFETY: the pages after the code are ours, too.
            unsafe { mprotect(rest, bytes - code, MprotectFlags::READ) }?;
        }
        Ok(Sealed(self.0))
    }
}

/// Pages that can be executed or read, and not written; unmapped when dropped.
pub(crate) struct Sealed(Piece);

impl Sealed {
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }
}

// SAFETY: nothing writes to sealed pages, and threads share the address space.
unsafe impl Send for Sealed {}

// SAFETY: the pages are never written again, so shared access is safe.
unsafe impl Sync for Sealed {}

/// Processors of this kind see what was written by themselves.
#[cfg(target_arch = "x86_64")]
fn flush_instructions(_address: usize, _bytes: usize) {}

/// Makes what was written visible to instruction fetch: clean the data lines, invalidate the
/// instruction lines (Arm ARM, B2.4.4).
#[cfg(target_arch = "aarch64")]
fn flush_instructions(address: usize, bytes: usize) {
    use std::arch::asm;
    let sizes: u64;
    // SAFETY: reads the sizes of cache lines, which programs may.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) sizes, options(nomem, nostack)) };
    let (data_line, code_line) = (4usize << ((sizes >> 16) & 15), 4usize << (sizes & 15));
    for line in (address & !(data_line - 1)..address + bytes).step_by(data_line) {
        // SAFETY: cleans a line of our own pages.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack)) };
    }
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish", options(nostack)) };
    for line in (address & !(code_line - 1)..address + bytes).step_by(code_line) {
        // SAFETY: invalidates a line of our own pages.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack)) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack)) };
}

#[cfg(test)]
mod tests {
    use super::{Blank, GAP_BYTES, NEAR_BYTES, REGION_BYTES, Sealed, whole_pages};

    /// What may be done with the page at `address`.
    fn access(address: usize) -> Option<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).unwrap();
            let inside = (number(start)..number(end)).contains(&address);
            inside.then(|| rest[..4].to_owned())
        })
    }

    #[test]
    fn written_or_executed() {
        let page = whole_pages(1);
        let mut blank = Blank::new(2 * page + 1).unwrap();
        let address = blank.address();
        assert_eq!(blank.bytes_mut().len(), 3 * page);
        assert_eq!(access(address).as_deref(), Some("rw-p"));
        let sealed = blank.seal(page).unwrap();
        assert_eq!(sealed.bytes(), 3 * page);
        assert_eq!(access(address).as_deref(), Some("r-xp"));
        assert_eq!(access(address + page).as_deref(), Some("r--p"));
        assert_eq!(access(address + 2 * page).as_deref(), Some("r--p"));
    }

    #[test]
    fn small_pieces_share_mappings_and_leave_nothing() {
        let count = 4 * REGION_BYTES / whole_pages(1);
        let pieces: Vec<_> = (0..count).map(|_| Blank::new(1).unwrap().seal(0).unwrap()).collect();
        let mut mappings: Vec<usize> =
            pieces.iter().map(|piece| piece.0.mapping.address.as_ptr() as usize).collect();
        mappings.dedup();
        // Other tests may take pages at the same time.
        assert!(mappings.len() <= 8, "{}", mappings.len());
        let (first, rest) = pieces.split_at(1);
        let place = |piece: &Sealed| piece.0.address.as_ptr() as usize;
        let (kept, gone) = (place(&first[0]), place(&rest[0]));
        assert_eq!(access(gone).as_deref(), Some("r--p"));
        let mut pieces = pieces;
        pieces.truncate(1);
        assert_eq!(access(kept).as_deref(), Some("r--p"));
        let left = access(gone);
        assert!(matches!(left.as_deref(), None | Some("---p")), "{left:?}");
    }

    #[test]
    fn near_the_program_as_far_as_there_is_room() {
        let program = whole_pages as *const () as usize;
        let reach = GAP_BYTES + NEAR_BYTES + whole_pages(1);
        // Each has its own place, near the others.
        let blanks: Vec<Blank> = (0..8).map(|_| Blank::new(1).unwrap()).collect();
        let places = blanks.iter().map(Blank::address);
        let near = places.filter(|place| program.abs_diff(*place) <= reach).count();
        assert!(near == blanks.len() || program < reach, "{near} of {}", blanks.len());
    }
}
