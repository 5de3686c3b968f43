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
///
/// Blocks are appended before they are looked at: what is not plain is cut off again.
#[inline]
pub(crate) fn copy_plain(out: &mut Vec<u8>, bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<LANES>()) {
        out.extend_from_slice(block);
        let found = block_mask(block);
        if found != 0 {
            let plain = first(found);
            out.truncate(out.len() - LANES + plain);
            return at + plain;
        }
        at += LANES;
    }
    let rest = &bytes[at..];
    let plain = if few_are_plain(rest) { rest.len() } else { plain(rest) };
    push(out, &rest[..plain]);
    at + plain
}

/// True if all are plain, of less than sixteen bytes: two words that overlap have all of them.
#[inline]
fn few_are_plain(bytes: &[u8]) -> bool {
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (Some(first), Some(last)) if bytes.len() <= 16 => {
            word::block_mask(first) | word::block_mask(last) == 0
        }
        _ => match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            (Some([a, b, c, d]), Some([e, f, g, h])) if bytes.len() <= 8 => {
                word::block_mask(&[*a, *b, *c, *d, *e, *f, *g, *h]) == 0
            }
            _ => bytes.iter().all(|&byte| is_plain(byte)),
        },
    }
}

/// Appends bytes, few of them without a call: as two blocks of a fixed length, which may overlap.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        0..4 => bytes.iter().for_each(|&byte| out.push(byte)),
        4..8 => push_pair::<4>(out, bytes),
        8..16 => push_pair::<8>(out, bytes),
        16..=32 => push_pair::<16>(out, bytes),
        _ => out.extend_from_slice(bytes),
    }
}

#[inline]
fn push_pair<const N: usize>(out: &mut Vec<u8>, bytes: &[u8]) {
    let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) else {
        return out.extend_from_slice(bytes);
    };
    let end = out.len() + bytes.len();
    out.extend_from_slice(first);
    out.truncate(end - N);
    out.extend_from_slice(last);
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

mod word {
    #![cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "blocks are longer there"))]

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
    fn what_is_copied_is_what_is_plain() {
        for length in 0..70 {
            for place in 0..=length {
                for byte in [0, 0x1f, b'"', b'\\', 0x7f, 0xff] {
                    let mut bytes: Vec<u8> = (0..length).map(|at| b'a' + at % 23).collect();
                    if let Some(odd) = bytes.get_mut(usize::from(place)) {
                        *odd = byte;
                    }
                    let mut out = b"before".to_vec();
                    let count = copy_plain(&mut out, &bytes);
                    assert_eq!(count, plain(&bytes), "{byte} at {place} of {length}");
                    assert_eq!(out, [b"before", &bytes[..count]].concat());
                    let mut out = Vec::new();
                    push(&mut out, &bytes);
                    assert_eq!(out, bytes);
                }
            }
        }
    }

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
