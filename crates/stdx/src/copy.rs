//! Copies of runs of bytes that may be long.
//!
//! The C library copies runs of more than a few KiB by one string instruction (`rep movsb`). Some
//! processors execute that byte by byte if the destination begins a few bytes after the source,
//! modulo 4 KiB, as happens where a message is written into a buffer: 3.5 instead of 57 GB/s for
//! 100 KB on an AMD EPYC (glibc 2.36). A loop of vectors with aligned stores has no such distances,
//! and with prefetching it is also faster where the source is not in the second cache.

/// Shorter runs are the library's: it has loops of its own for them.
const LONG: usize = 2048;

/// Longer runs do not fit into the caches: the library writes past them.
const LONG_MAX: usize = 1 << 20;

/// Whether a run of this length is not left to the library.
#[inline]
pub const fn is_long(bytes: usize) -> bool {
    bytes >= LONG && bytes <= LONG_MAX
}

/// Copies `bytes` bytes.
///
/// # Safety
/// `from` is valid for reads of that many bytes, `to` for writes, and they do not overlap.
#[inline]
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    if is_long(bytes) {
        // SAFETY: the caller guarantees all of it.
        unsafe { copy_long(to, from, bytes) };
    } else {
        // SAFETY: likewise.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
use self::x86_64::copy_long;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64 {
    use std::arch::x86_64::{__m128i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_store_si128};

    /// A line of the caches: what a step of the loop copies.
    const LINE: usize = 64;

    /// Bytes that a line is fetched ahead: the best of 256 to 1024 where the third cache has them.
    const AHEAD: usize = 512;

    /// # Safety
    /// As for [`copy`](super::copy), with at least two lines.
    #[inline(never)]
    pub(super) unsafe fn copy_long(to: *mut u8, from: *const u8, bytes: usize) {
        // The first line as it is; from the next line of the destination on, stores are aligned.
        let mut done = LINE - to.addr() % LINE;
        // SAFETY: there are two lines at least.
        unsafe { to.copy_from_nonoverlapping(from, LINE) };
        while done + LINE <= bytes {
            // SAFETY: the line is within the bytes, and begins at a line of the destination. What
            // is prefetched need not exist.
            unsafe {
                let (from, to) = (from.add(done).cast::<__m128i>(), to.add(done).cast::<__m128i>());
                _mm_prefetch::<_MM_HINT_T0>(from.cast::<i8>().wrapping_add(AHEAD));
                let line = [0, 1, 2, 3].map(|at| _mm_loadu_si128(from.add(at)));
                (0..).zip(line).for_each(|(at, vector)| _mm_store_si128(to.add(at), vector));
            }
            done += LINE;
        }
        // SAFETY: the rest.
        unsafe { to.add(done).copy_from_nonoverlapping(from.add(done), bytes - done) };
    }
}

/// # Safety
/// As for [`copy`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn copy_long(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller guarantees it.
    unsafe { to.copy_from_nonoverlapping(from, bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_and_alignment_is_copied() {
        let lengths =
            [0, 1, 63, 2047, 2048, 2049, 4032, 4096, 4097, 10_000, 1 << 20, (1 << 20) + 1];
        // Miri is slow.
        let lengths = if cfg!(miri) { &lengths[..9] } else { &lengths[..] };
        let most = lengths[lengths.len() - 1];
        let source: Vec<u8> = (0..most + 64).map(|at| (at * 7) as u8).collect();
        let mut target = vec![0; source.len() + 64];
        for &length in lengths {
            for (begin, at) in [(0, 0), (1, 0), (0, 1), (5, 9), (16, 63), (63, 16)] {
                target.fill(1);
                let from = &source[begin..begin + length];
                // SAFETY: both are long enough, and two vectors.
                unsafe { copy(target[at..at + length].as_mut_ptr(), from.as_ptr(), length) };
                assert_eq!(&target[at..at + length], from, "{length} bytes from {begin} to {at}");
                assert!(target[..at].iter().chain(&target[at + length..]).all(|&byte| byte == 1));
            }
        }
    }
}
