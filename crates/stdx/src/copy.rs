//! Copies of runs of bytes that may be long.
//!
//! The C library copies runs of more than a few KiB by one string instruction (`rep movsb`). It is
//! the fastest way for most runs that are longer than the first cache. If the destination begins
//! less than a line after the source, modulo 4 KiB, as happens where a message is written into a
//! buffer, some processors execute it byte by byte (3.5 instead of 57 GB/s for 100 KB on an AMD
//! EPYC, glibc 2.36) and others at three quarters of its speed. Runs in the first cache take twice
//! as long as by a loop of the widest vectors with aligned stores.

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
    use std::arch::is_x86_feature_detected;
    use std::arch::x86_64::{
        __m128i, __m256i, __m512i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_store_si128,
        _mm256_loadu_si256, _mm256_store_si256, _mm512_loadu_si512, _mm512_store_si512,
    };

    /// A line of the caches.
    const LINE: usize = 64;

    /// What a step of a loop copies.
    const STEP: usize = 4 * LINE;

    /// Runs that fit into the first cache twice.
    const SHORT_MAX: usize = 24 << 10;

    /// Bytes that a line is fetched ahead.
    const AHEAD: usize = 2048;

    /// What the string instruction looks at.
    const PAGE: usize = 4096;

    /// # Safety
    /// As for [`copy`](super::copy), with at least two lines.
    #[inline(never)]
    pub(super) unsafe fn copy_long(to: *mut u8, from: *const u8, bytes: usize) {
        let distance = to.addr().wrapping_sub(from.addr()) % PAGE;
        let is_easy = distance == 0 || distance >= LINE;
        // SAFETY: the caller guarantees the ranges, and the processor has the vectors.
        unsafe {
            if bytes > SHORT_MAX && is_easy {
                to.copy_from_nonoverlapping(from, bytes);
            } else if is_x86_feature_detected!("avx512f") {
                by_64(to, from, bytes);
            } else if is_x86_feature_detected!("avx") {
                by_32(to, from, bytes);
            } else {
                by_16(to, from, bytes);
            }
        }
    }

    /// A loop with vectors of one type, whose stores are aligned.
    macro_rules! copy_by {
        ($name:ident, $vector:ty, $load:ident, $store:ident $(, $feature:literal)?) => {
            /// # Safety
            /// As for `copy_long`; the processor has such vectors.
            $(#[target_feature(enable = $feature)])?
            unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize) {
                const VECTORS: usize = STEP / size_of::<$vector>();
                // The first line as it is; from the next line of the destination on by vectors.
                let mut done = LINE - to.addr() % LINE;
                // SAFETY: there are two lines at least.
                unsafe { to.copy_from_nonoverlapping(from, LINE) };
                while done + STEP <= bytes {
                    // SAFETY: the step is within the bytes, and begins at a line of the
                    // destination. What is prefetched need not exist.
                    unsafe {
                        let (from, to) = (from.add(done), to.add(done));
                        for line in 0..STEP / LINE {
                            let ahead = from.wrapping_add(AHEAD + line * LINE);
                            _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                        }
                        let (from, to) = (from.cast::<$vector>(), to.cast::<$vector>());
                        for half in [0, VECTORS / 2] {
                            let of: [$vector; VECTORS / 2] =
                                std::array::from_fn(|at| $load(from.add(half + at)));
                            for (at, vector) in of.into_iter().enumerate() {
                                $store(to.add(half + at), vector);
                            }
                        }
                    }
                    done += STEP;
                }
                // SAFETY: the rest.
                unsafe { to.add(done).copy_from_nonoverlapping(from.add(done), bytes - done) };
            }
        };
    }

    copy_by!(by_64, __m512i, _mm512_loadu_si512, _mm512_store_si512, "avx512f");
    copy_by!(by_32, __m256i, _mm256_loadu_si256, _mm256_store_si256, "avx");
    copy_by!(by_16, __m128i, _mm_loadu_si128, _mm_store_si128);

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn vectors_of_all_widths_copy_the_same() {
            type Copy = unsafe fn(*mut u8, *const u8, usize);
            let mut all: Vec<Copy> = vec![|to, from, bytes| {
                // SAFETY: the caller guarantees the ranges.
                unsafe { by_16(to, from, bytes) };
            }];
            if is_x86_feature_detected!("avx") {
                // SAFETY: the caller guarantees the ranges, and the processor has the vectors.
                all.push(|to, from, bytes| unsafe { by_32(to, from, bytes) });
            }
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: likewise.
                all.push(|to, from, bytes| unsafe { by_64(to, from, bytes) });
            }
            let source: Vec<u8> = (0..9000u32).map(|at| (at * 7) as u8).collect();
            for copy in all {
                for (begin, at, length) in [(0, 0, 128), (3, 5, 2048), (5, 3, 8000), (63, 1, 700)] {
                    let mut target = vec![1; source.len()];
                    // SAFETY: both are long enough.
                    unsafe { copy(target[at..].as_mut_ptr(), source[begin..].as_ptr(), length) };
                    assert_eq!(target[at..at + length], source[begin..begin + length]);
                    let around = target[..at].iter().chain(&target[at + length..]);
                    assert!(around.into_iter().all(|byte| *byte == 1));
                }
            }
        }
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
