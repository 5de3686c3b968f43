//! The inner loops over strings: where does the run of plain characters end?
//!
//! A character is plain if it stands for itself in a JSON string: no control character, no quote,
//! no backslash. Sixteen bytes are looked at together where the processor can, else eight in a
//! word.

/// Bytes of `bytes` up to the first that is not plain.
#[inline]
pub(crate) fn plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<LANES>()) {
        let found = block_mask(block);
        if found != 0 {
            return at + first(found);
        }
        at += LANES;
    }
    while at < bytes.len() && is_plain(bytes[at]) {
        at += 1;
    }
    at
}

/// Appends the plain bytes at the front of `bytes`; gives their number.
#[inline]
pub(crate) fn copy_plain(out: &mut Vec<u8>, bytes: &[u8]) -> usize {
    let plain = plain(bytes);
    out.extend_from_slice(&bytes[..plain]);
    plain
}

#[inline]
fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

#[cfg(target_arch = "x86_64")]
use sse2::{LANES, block_mask, first};

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };

    pub(super) const LANES: usize = 16;

    /// A bit for each byte that is not plain.
    #[inline]
    pub(super) fn block_mask(block: &[u8; LANES]) -> u32 {
        // SAFETY: sixteen bytes are there; every x86-64 processor has these instructions.
        unsafe {
            let bytes = _mm_loadu_si128(block.as_ptr().cast());
            let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
            let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
            let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)) as u32
        }
    }

    #[inline]
    pub(super) fn first(mask: u32) -> usize {
        mask.trailing_zeros() as usize
    }
}

#[cfg(not(target_arch = "x86_64"))]
use word::{LANES, block_mask, first};

#[cfg(any(test, not(target_arch = "x86_64")))]
mod word {
    #![cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "tests compare it"))]

    pub(super) const LANES: usize = 8;

    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;

    /// The highest bit of each byte that is not plain; above the first of them there may be more
    /// than there should.
    #[inline]
    pub(super) fn block_mask(block: &[u8; LANES]) -> u64 {
        let word = u64::from_le_bytes(*block);
        let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & HIGHS;
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        below(word, 0x20) | quote | backslash
    }

    #[inline]
    pub(super) fn first(mask: u64) -> usize {
        mask.trailing_zeros() as usize / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_is_found() {
        for byte in 0..=255 {
            for place in 0..40 {
                let mut bytes = [b'x'; 40];
                bytes[place] = byte;
                let expected = if is_plain(byte) { 40 } else { place };
                assert_eq!(plain(&bytes), expected, "{byte} at {place}");
            }
            let mut word = [b'x'; 8];
            word[3] = byte;
            let mask = word::block_mask(&word);
            assert_eq!(mask == 0, is_plain(byte));
            assert!(mask == 0 || word::first(mask) == 3);
        }
    }
}
