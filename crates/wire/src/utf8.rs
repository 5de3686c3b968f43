//! Whether bytes are UTF-8. Most are ASCII, and many are few: sixteen are looked at together, and
//! only where one of them is above ASCII the slower check of std comes in.

use std::str::Utf8Error;

const LANES: usize = 16;
/// Bytes that are given to std at least, where one is above ASCII.
const PIECE: usize = 32;

/// The text that bytes are.
///
/// # Errors
/// They are none.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Utf8Error> {
    if is_utf8(bytes) {
        // SAFETY: just looked at.
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
        let (blocks, _) = rest.as_chunks::<LANES>();
        let ascii = blocks.iter().take_while(|block| block_is_ascii(block)).count() * LANES;
        rest = &rest[ascii..];
        let after = rest.get(PIECE..).and_then(|rest| rest.iter().position(u8::is_ascii));
        let Some(after) = after else { return std::str::from_utf8(rest).is_ok() };
        let (piece, behind) = rest.split_at(PIECE + after);
        if std::str::from_utf8(piece).is_err() {
            return false;
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_std_says() {
        let wholes = [&b"\xc3\xa4"[..], "\u{20ac}".as_bytes(), "\u{1f600}".as_bytes()];
        let wrong = [&b"\x80"[..], b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xff", b"\xed\xa0\x80"];
        let parts: Vec<&[u8]> = wholes.iter().chain(&wrong).copied().collect();
        for length in 0..90usize {
            for part in &parts {
                for place in 0..=length {
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
