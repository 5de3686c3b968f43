//! The inner loops over strings: finding the end of a run of plain characters.
//!
//! A character is plain if a JSON string holds it unescaped: no control character, no quote, no
//! backslash. Sixteen bytes are compared together where the processor can, else eight in a word.

use crate::copy::copy_few;

/// Bytes of `bytes` up to the first that is not plain.
#[inline]
pub(crate) fn plain(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<LANES>();
    for (at, block) in blocks.iter().enumerate() {
        let found = block_mask(block);
        if found != 0 {
            return at * LANES + first(found);
        }
    }
    let mut at = blocks.len() * LANES;
    while at < bytes.len() && is_plain(bytes[at]) {
        at += 1;
    }
    at
}

/// Appends a text with JSON escapes, between the bytes `before` and `after`.
#[inline]
pub(crate) fn escape(out: &mut Vec<u8>, text: &[u8], before: Option<u8>, after: Option<u8>) {
    let mut rest = text;
    reserve(out, rest.len() + SLACK);
    // SAFETY: within what was reserved; what is beyond the length may be anything.
    let mut to = unsafe { out.as_mut_ptr().add(out.len()) };
    if let Some(byte) = before {
        // SAFETY: `rest.len() + SLACK` bytes are reserved, and `before` takes one of `SLACK`.
        unsafe {
            to.write(byte);
            to = to.add(1);
        }
    }
    loop {
        // SAFETY: `to` has room for `rest.len()` bytes and part of `SLACK` more.
        let plain = unsafe { copy_plain(to, rest) };
        // SAFETY: `plain` bytes have been written.
        to = unsafe { to.add(plain) };
        let Some((&byte, tail)) = rest.get(plain..).and_then(|rest| rest.split_first()) else {
            break;
        };
        rest = tail;
        let [.., length] = ESCAPES[usize::from(byte)];
        // SAFETY: `to` has room for the byte and `SLACK - 1` bytes after it, reserved above. All
        // bytes up to the new length are written.
        unsafe {
            to.cast::<[u8; 8]>().write(ESCAPES[usize::from(byte)]);
            to = to.add(usize::from(length));
            out.set_len(to.offset_from_unsigned(out.as_ptr()));
        }
        reserve(out, rest.len() + SLACK);
        // SAFETY: within what was reserved; what is beyond the length may be anything.
        to = unsafe { out.as_mut_ptr().add(out.len()) };
    }
    // SAFETY: `SLACK` is more than this byte needs, and all before it is written.
    unsafe {
        if let Some(byte) = after {
            to.write(byte);
            to = to.add(1);
        }
        out.set_len(to.offset_from_unsigned(out.as_ptr()));
    }
}

/// Reserves `more` bytes. The rare growth is out of line.
#[inline(always)]
pub(crate) fn reserve(out: &mut Vec<u8>, more: usize) {
    #[cold]
    #[inline(never)]
    fn grow(out: &mut Vec<u8>, more: usize) {
        out.reserve(more);
    }
    if out.capacity() - out.len() < more {
        grow(out, more);
    }
}

/// Bytes that are reserved beyond a text: for the bytes around it, and whole blocks.
const SLACK: usize = 2 * LANES;

/// Copies the plain bytes at the front of `bytes`; returns their number.
///
/// Blocks are copied before they are checked, so more may be written than is returned.
///
/// # Safety
/// `to` is valid for writes of `bytes.len()` bytes.
#[inline]
unsafe fn copy_plain(to: *mut u8, bytes: &[u8]) -> usize {
    let (blocks, rest) = bytes.as_chunks::<LANES>();
    for (at, block) in blocks.iter().enumerate() {
        let at = at * LANES;
        // SAFETY: the block is of the bytes, for which there is room.
        unsafe { to.add(at).cast::<[u8; LANES]>().write(*block) };
        let found = block_mask(block);
        if found != 0 {
            return at + first(found);
        }
    }
    let at = blocks.len() * LANES;
    let plain = if few_are_plain(rest) { rest.len() } else { plain(rest) };
    // SAFETY: `to` has room for `bytes`, of which these are the rest.
    unsafe { copy_few(to.add(at), &rest[..plain]) };
    at + plain
}

/// Copies bytes and returns whether all of them are plain; if not, the copy is not complete.
///
/// # Safety
/// `to` is valid for writes of `bytes.len()` bytes.
#[inline]
pub(super) unsafe fn copy_if_plain(to: *mut u8, bytes: &[u8]) -> bool {
    let (blocks, _) = bytes.as_chunks::<16>();
    for (at, block) in blocks.iter().enumerate() {
        // SAFETY: the block is of the bytes, for which there is room.
        unsafe { to.add(at * 16).cast::<[u8; 16]>().write(*block) };
        if !block_is_plain(block) {
            return false;
        }
    }
    // Two parts that may overlap are the rest, or all: of sixteen bytes together at most.
    let block = match (bytes.last_chunk::<16>(), bytes.first_chunk(), bytes.last_chunk()) {
        (Some(last), ..) => {
            // SAFETY: the last sixteen of `bytes`, for which `to` has room.
            unsafe { to.add(bytes.len() - 16).cast::<[u8; 16]>().write(*last) };
            *last
        }
        (None, Some(first), Some(last)) => {
            // SAFETY: `to` has room for `bytes`, of which there are at least eight.
            unsafe {
                to.cast::<[u8; 8]>().write(*first);
                to.add(bytes.len() - 8).cast::<[u8; 8]>().write(*last);
            }
            both(u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        }
        _ => match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) => {
                // SAFETY: `to` has room for `bytes`, of which there are at least four.
                unsafe {
                    to.cast::<[u8; 4]>().write(*first);
                    to.add(bytes.len() - 4).cast::<[u8; 4]>().write(*last);
                }
                let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
                let word = u64::from(last) << 32 | u64::from(first);
                both(word, word)
            }
            _ => {
                for (at, &byte) in bytes.iter().enumerate() {
                    // SAFETY: `at` is an index of `bytes`, for which `to` has room.
                    unsafe { to.add(at).write(byte) };
                }
                return bytes.iter().all(|&byte| is_plain(byte));
            }
        },
    };
    block_is_plain(&block)
}

#[inline]
fn both(first: u64, last: u64) -> [u8; 16] {
    (u128::from(last) << 64 | u128::from(first)).to_le_bytes()
}

#[inline]
fn block_is_plain(block: &[u8; 16]) -> bool {
    let (blocks, _) = block.as_chunks::<LANES>();
    blocks.iter().all(|block| block_mask(block) == 0)
}

/// True if all are plain, of at most sixteen bytes: two words that overlap have all of them.
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

/// Appends bytes; short runs without a call.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    reserve(out, bytes.len());
    // SAFETY: there is room for them, and they are written then.
    unsafe {
        copy_few(out.as_mut_ptr().add(out.len()), bytes);
        out.set_len(out.len() + bytes.len());
    }
}

/// The block size of [`push_front`] and [`begins`].
pub(crate) const WIDE: usize = 32;

/// Appends the first `length` bytes. If [`WIDE`] bytes are readable, it copies a whole block.
#[inline]
pub(crate) fn push_front(out: &mut Vec<u8>, bytes: &[u8], length: usize) {
    match bytes.first_chunk::<WIDE>() {
        Some(block) if length <= WIDE => {
            reserve(out, WIDE);
            // SAFETY: room for the block is reserved, and `length` bytes of it are written.
            unsafe {
                out.as_mut_ptr().add(out.len()).cast::<[u8; WIDE]>().write(*block);
                out.set_len(out.len() + length);
            }
        }
        _ => out.extend_from_slice(&bytes[..length]),
    }
}

/// True if `text` begins with the first `length` bytes of `bytes`, after which others may follow.
#[inline]
pub(crate) fn begins(text: &[u8], bytes: &[u8], length: usize) -> bool {
    match (text.first_chunk::<LANES>(), bytes.first_chunk::<LANES>()) {
        (Some(text), Some(bytes)) if length <= LANES => same(text, bytes) >= length,
        _ => text.starts_with(&bytes[..length]),
    }
}

/// The escape of each byte that is not plain; its length is the last byte of the entry.
const ESCAPES: [[u8; 8]; 256] = {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = [b'\\', b'u', b'0', b'0', HEX[byte >> 4], HEX[byte & 15], 0, 6];
        byte += 1;
    }
    let letters = [
        (0x08, b'b'),
        (b'\t', b't'),
        (b'\n', b'n'),
        (0x0c, b'f'),
        (b'\r', b'r'),
        (b'"', b'"'),
        (b'\\', b'\\'),
    ];
    let mut at = 0;
    while at < letters.len() {
        let (byte, letter) = letters[at];
        table[byte as usize] = [b'\\', letter, 0, 0, 0, 0, 0, 2];
        at += 1;
    }
    table
};

#[inline]
fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

#[cfg(target_arch = "x86_64")]
use sse2::{LANES, block_mask, first, same};

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
        // SAFETY: the block has sixteen bytes; every x86-64 processor has these instructions.
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

    /// The length of the common prefix.
    #[inline]
    pub(super) fn same(a: &[u8; LANES], b: &[u8; LANES]) -> usize {
        // SAFETY: the block has sixteen bytes; every x86-64 processor has these instructions.
        let equal = unsafe {
            let (a, b) = (_mm_loadu_si128(a.as_ptr().cast()), _mm_loadu_si128(b.as_ptr().cast()));
            _mm_movemask_epi8(_mm_cmpeq_epi8(a, b))
        };
        equal.trailing_ones() as usize
    }
}

#[cfg(not(target_arch = "x86_64"))]
use word::{LANES, block_mask, first, same};

mod word {
    #![cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "blocks are longer there"))]

    pub(super) const LANES: usize = 8;

    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;

    /// The highest bit of each byte that is not plain; above the first of them there may be false
    /// bits.
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

    /// The length of the common prefix.
    #[inline]
    pub(super) fn same(a: &[u8; LANES], b: &[u8; LANES]) -> usize {
        first(u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte after the other, as the standard defines it.
    fn escaped(text: &[u8]) -> Vec<u8> {
        let one = |&byte: &u8| match byte {
            b'"' => b"\\\"".to_vec(),
            b'\\' => b"\\\\".to_vec(),
            8 => b"\\b".to_vec(),
            9 => b"\\t".to_vec(),
            10 => b"\\n".to_vec(),
            12 => b"\\f".to_vec(),
            13 => b"\\r".to_vec(),
            0..0x20 => format!("\\u{byte:04x}").into_bytes(),
            _ => vec![byte],
        };
        text.iter().flat_map(one).collect()
    }

    #[test]
    fn what_is_not_plain_is_escaped() {
        let (lengths, places) = if cfg!(miri) { (23, 11) } else { (1, 1) };
        for length in (0..70).step_by(lengths) {
            for place in (0..=length).step_by(places) {
                for byte in [0, 8, 9, 10, 12, 13, 0x1f, b'"', b'\\', 0x7f, 0xff] {
                    let mut bytes: Vec<u8> = (0..length).map(|at| b'a' + at % 23).collect();
                    if let Some(odd) = bytes.get_mut(usize::from(place)) {
                        *odd = byte;
                    }
                    let mut out = b"before".to_vec();
                    escape(&mut out, &bytes, Some(b'<'), Some(b'>'));
                    assert_eq!(out, [b"before<", &*escaped(&bytes), b">"].concat());
                    let mut out = Vec::new();
                    escape(&mut out, &bytes, None, None);
                    assert_eq!(out, escaped(&bytes));
                    let mut out = Vec::new();
                    push(&mut out, &bytes);
                    assert_eq!(out, bytes);
                    let mut out = vec![0; bytes.len()];
                    // SAFETY: `out` has room for `bytes`.
                    let plain = unsafe { copy_if_plain(out.as_mut_ptr(), &bytes) };
                    assert_eq!(plain, bytes.iter().all(|&byte| is_plain(byte)));
                    assert!(!plain || out == bytes);
                }
            }
        }
        for byte in (0..=255).step_by(if cfg!(miri) { 23 } else { 1 }) {
            let bytes = [byte; 100];
            let mut out = Vec::new();
            escape(&mut out, &bytes, None, Some(b'"'));
            assert_eq!(out, [&*escaped(&bytes), b"\""].concat());
        }
    }

    #[test]
    fn fronts_are_copied_and_compared() {
        let bytes: Vec<u8> = (0..100).collect();
        let step = if cfg!(miri) { 11 } else { 1 };
        for length in (0..60).step_by(step) {
            for more in (0..40).step_by(step) {
                let from = &bytes[..length + more];
                let mut out = vec![7];
                push_front(&mut out, from, length);
                assert_eq!(out, [&[7], &bytes[..length]].concat());
                for text in 0..60 {
                    assert_eq!(begins(&bytes[..text], from, length), text >= length);
                }
                for place in 0..length + more {
                    let mut other = from.to_vec();
                    other[place] ^= 0x80;
                    assert_eq!(begins(&other, from, length), place >= length);
                    assert_eq!(begins(from, &other, length), place >= length);
                }
            }
        }
    }

    #[test]
    fn every_byte_at_every_place_is_found() {
        for byte in (0..=255).step_by(if cfg!(miri) { 7 } else { 1 }) {
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
