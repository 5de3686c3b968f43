//! Copies of runs of bytes that may be long.
//!
//! The C library copies runs of more than a few KiB by one string instruction (`rep movsb`). Some
//! processors execute that byte by byte if the destination begins a few bytes after the source,
//! modulo 4 KiB, which happens where a message is written into a buffer: 3.5 instead of 57 GB/s for
//! 100 KB on an AMD EPYC (glibc 2.36). So a run is copied in pieces that are short enough for the
//! library's loop of vectors, and from the second piece on to aligned addresses.

use std::hint::black_box;

/// Bytes of a piece: at or below the threshold of C libraries for string instructions.
const PIECE: usize = 2048;

/// The alignment of pieces: that of the widest vectors.
const ALIGN: usize = 64;

/// Runs of more bytes leave the caches, where the library does best.
const PIECES_MAX: usize = 1 << 20;

/// Copies `bytes` bytes.
///
/// # Safety
/// `from` is valid for reads of that many bytes, `to` for writes, and they do not overlap.
#[inline]
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    if bytes <= PIECE || bytes > PIECES_MAX {
        // SAFETY: the caller guarantees both.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
    } else {
        // SAFETY: likewise.
        unsafe { copy_pieces(to, from, bytes) };
    }
}

/// # Safety
/// As for [`copy`], with at least `PIECE` bytes.
#[inline(never)]
unsafe fn copy_pieces(to: *mut u8, from: *const u8, bytes: usize) {
    // Hidden, as compilers make one copy of all pieces otherwise.
    let piece = black_box(PIECE);
    let mut done = 0;
    let mut next = PIECE - to.addr() % ALIGN;
    while done < bytes {
        // SAFETY: within the bytes, as `done + next` is at most their number.
        unsafe { to.add(done).copy_from_nonoverlapping(from.add(done), next) };
        done += next;
        next = piece.min(bytes - done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_and_alignment_is_copied() {
        let lengths =
            [0, 1, 63, 2047, 2048, 2049, 4032, 4096, 4097, 10_000, 1 << 20, (1 << 20) + 1];
        let source: Vec<u8> =
            (0..lengths[lengths.len() - 1] + 64).map(|at| (at * 7) as u8).collect();
        let mut target = vec![0; source.len() + 64];
        for length in lengths {
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
