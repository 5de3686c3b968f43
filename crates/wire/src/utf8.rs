//! Validation of UTF-8. Most strings are ASCII, and many are short: blocks of sixteen bytes are
//! checked at once, on x86-64 also those with characters of two or three bytes. Only other bytes go
//! to the slower check of std.

use std::str::Utf8Error;

const LANES: usize = 16;
/// The least number of bytes that std checks at once, after one above ASCII.
const PIECE: usize = 32;

/// The bytes as text.
///
/// # Errors
/// They are not UTF-8.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Utf8Error> {
    if is_utf8(bytes) {
        // SAFETY: `is_utf8` has checked the bytes.
        return Ok(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    std::str::from_utf8(bytes)
}

/// True if the bytes are UTF-8.
#[inline]
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    is_ascii(bytes) || is_utf8_in_pieces(bytes)
}

#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<LANES>();
    if !blocks.iter().all(block_is_ascii) {
        return false;
    }
    if let Some(last) = bytes.last_chunk::<LANES>() {
        return block_is_ascii(last);
    }
    let word = match (rest.first_chunk::<8>(), rest.last_chunk::<8>()) {
        (Some(first), Some(last)) => u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last),
        _ => match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                u64::from(u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last))
            }
            _ => rest.iter().fold(0, |all, &byte| all | u64::from(byte)),
        },
    };
    word & HIGHS == 0
}

const HIGHS: u64 = 0x8080_8080_8080_8080;

#[inline]
fn block_is_ascii(block: &[u8; LANES]) -> bool {
    u128::from_ne_bytes(*block) & (u128::from(HIGHS) << 64 | u128::from(HIGHS)) == 0
}

/// Pieces that begin at a character and end before ASCII are UTF-8 if all of them are.
fn is_utf8_in_pieces(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        match front(rest) {
            Front::All => return true,
            Front::Wrong => return false,
            Front::Bytes(count) => rest = &rest[count..],
        }
        let after = rest.get(PIECE..).and_then(|rest| rest.iter().position(u8::is_ascii));
        let Some(after) = after else { return std::str::from_utf8(rest).is_ok() };
        let (piece, tail) = rest.split_at(PIECE + after);
        if std::str::from_utf8(piece).is_err() {
            return false;
        }
        rest = tail;
    }
}

/// The result of checking blocks.
enum Front {
    /// All bytes are UTF-8.
    All,
    /// They are not.
    Wrong,
    /// The number of bytes that are whole characters; std checks the rest.
    Bytes(usize),
}

#[cfg(not(target_arch = "x86_64"))]
fn front(bytes: &[u8]) -> Front {
    let (blocks, _) = bytes.as_chunks::<LANES>();
    Front::Bytes(blocks.iter().take_while(|block| block_is_ascii(block)).count() * LANES)
}

#[cfg(target_arch = "x86_64")]
fn front(bytes: &[u8]) -> Front {
    let (blocks, rest) = bytes.as_chunks::<LANES>();
    // Zeros are ASCII: a character that is open at the end of the bytes is an error.
    let mut last = [0; LANES];
    last[..rest.len()].copy_from_slice(rest);
    // A bit for each byte of the next block that must continue a character.
    let mut open = 0;
    for (at, block) in blocks.iter().chain([&last]).enumerate() {
        if open == 0 && block_is_ascii(block) {
            continue;
        }
        match sse2::open_after(block, open) {
            Ok(next) => open = next,
            Err(sse2::Other::Wrong) => return Front::Wrong,
            Err(sse2::Other::Unknown) => {
                let before = &bytes[..at * LANES];
                // The open character begins at the last byte that is no continuation byte.
                let begun = before.iter().rposition(|&byte| byte >= 0xc0).unwrap_or(0);
                return Front::Bytes(if open == 0 { before.len() } else { begun });
            }
        }
    }
    Front::All
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_max_epu8, _mm_min_epu8, _mm_movemask_epi8,
        _mm_set1_epi8,
    };

    use super::LANES;

    /// Why a block is not made of characters of at most three bytes.
    pub(super) enum Other {
        /// It is not UTF-8.
        Wrong,
        /// It has bytes that std must check.
        Unknown,
    }

    /// A bit for each byte of the next block that must continue a character, given those of this
    /// one.
    ///
    /// A first byte of 0xe0 or 0xed limits its second byte, so std checks those too.
    #[inline]
    pub(super) fn open_after(block: &[u8; LANES], open: u32) -> Result<u32, Other> {
        // SAFETY: the block has sixteen bytes; every x86-64 processor has these instructions.
        let (above, on, two, three, odd) = unsafe {
            let bytes = _mm_loadu_si128(block.as_ptr().cast());
            let above = _mm_movemask_epi8(bytes) as u32;
            let on = within(bytes, 0x80, 0xbf);
            let (two, three) = (within(bytes, 0xc2, 0xdf), within(bytes, 0xe1, 0xef));
            (above, on, two, three, within(bytes, 0xed, 0xed))
        };
        if above & !(on | two | three) != 0 || odd != 0 {
            return Err(Other::Unknown);
        }
        // A first byte opens the one or two bytes after it. Continuation bytes are right if they
        // are just where bytes are open; bits from the sixteenth on are of the next block.
        let open = open | two << 1 | three << 1 | three << 2;
        if on == open & 0xffff { Ok(open >> 16) } else { Err(Other::Wrong) }
    }

    /// A bit for each byte within bounds.
    ///
    /// # Safety
    /// Every x86-64 processor has these instructions.
    #[inline(always)]
    unsafe fn within(bytes: __m128i, low: u8, high: u8) -> u32 {
        // SAFETY: every x86-64 processor has these instructions.
        unsafe {
            let low = _mm_max_epu8(bytes, _mm_set1_epi8(low as i8));
            let both = _mm_min_epu8(low, _mm_set1_epi8(high as i8));
            _mm_movemask_epi8(_mm_cmpeq_epi8(both, bytes)) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_std_says() {
        let wholes = ["\u{e4}", "\u{20ac}", "\u{1f600}", "\u{900}", "\u{d7ff}", "\u{e000}\u{7ff}"];
        let wholes = wholes.map(str::as_bytes);
        let wrong = [&b"\x80"[..], b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xff", b"\xed\xa0\x80"];
        let wrong = wrong.into_iter().chain([&b"\xc1\x81"[..], b"\xe0\x81\x81", b"\xe2\xc3\xa4"]);
        let wrong: Vec<&[u8]> = wrong.chain([&b"\xc3\xa4\x80"[..], b"\xf5\x80\x80\x80"]).collect();
        let parts: Vec<&[u8]> = wholes.iter().chain(&wrong).copied().collect();
        let (lengths, places) = if cfg!(miri) { (13, 7) } else { (1, 1) };
        for length in (0..90usize).step_by(lengths) {
            for part in &parts {
                for place in (0..=length).step_by(places) {
                    let mut bytes = vec![b'a'; length];
                    bytes.splice(place..place, part.iter().copied());
                    let std = std::str::from_utf8(&bytes);
                    assert_eq!(text(&bytes), std, "{part:?} at {place} of {length}");
                    let second = bytes.len() * 2 / 3;
                    bytes.splice(second..second, part.iter().copied());
                    assert_eq!(text(&bytes), std::str::from_utf8(&bytes));
                }
            }
        }
        let long = "\u{20ac}".repeat(50);
        for end in 0..long.len() {
            let bytes = &long.as_bytes()[..end];
            assert_eq!(text(bytes), std::str::from_utf8(bytes));
        }
    }
}
