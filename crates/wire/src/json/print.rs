//! Printing strings, bytes and numbers in JSON.

use super::{digits, scan};
use crate::copy::copy_few;

/// Appends a text without quotes around it.
#[inline]
pub(crate) fn escape(out: &mut Vec<u8>, text: &str) {
    scan::escape(out, text.as_bytes(), None, None);
}

/// Appends a text in quotes.
#[inline]
pub(crate) fn quote(out: &mut Vec<u8>, text: &str) {
    scan::escape(out, text.as_bytes(), Some(b'"'), Some(b'"'));
}

/// Likewise, to a `String`.
pub(crate) fn quote_into(out: &mut String, text: &str) {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    quote(&mut bytes, text);
    out.push_str(&String::from_utf8_lossy(&bytes));
}

/// Appends what `write` writes, at most `room` bytes.
///
/// # Safety
/// `write` writes all up to the place that it gives, within the room.
#[inline(always)]
unsafe fn append(out: &mut Vec<u8>, room: usize, write: impl FnOnce(*mut u8) -> *mut u8) {
    scan::reserve(out, room);
    // SAFETY: `room` bytes are reserved, and the caller guarantees that `write` fills what it
    // returns.
    unsafe {
        let end = write(out.as_mut_ptr().add(out.len()));
        out.set_len(end.offset_from_unsigned(out.as_ptr()));
    }
}

/// Appends a decimal.
#[inline]
pub(crate) fn integer(out: &mut Vec<u8>, value: impl Integer) {
    // SAFETY: `ROOM` bytes hold any number, and it writes all up to its end.
    unsafe { append(out, ROOM, |at| write_integer(at, value)) }
}

/// Appends a decimal in quotes, as 64-bit numbers are written.
#[inline]
pub(crate) fn quoted_integer(out: &mut Vec<u8>, value: impl Integer) {
    // SAFETY: `ROOM` bytes hold any number, and it writes all up to its end.
    unsafe { append(out, ROOM, |at| write_quoted(at, value)) }
}

/// The room for writing any number, in quotes or not.
pub(crate) const ROOM: usize = 2 * digits::ROOM;

/// Writes a decimal; returns its end.
///
/// # Safety
/// [`ROOM`] bytes at `at` may be written.
#[inline]
pub(super) unsafe fn write_integer(at: *mut u8, value: impl Integer) -> *mut u8 {
    let (negative, amount) = value.split();
    // SAFETY: the caller guarantees room for `ROOM` bytes at `at`.
    unsafe { digits::write(at, negative, amount) }
}

/// Writes a decimal in quotes; returns its end.
///
/// # Safety
/// [`ROOM`] bytes at `at` may be written.
#[inline]
pub(super) unsafe fn write_quoted(at: *mut u8, value: impl Integer) -> *mut u8 {
    let (negative, amount) = value.split();
    // SAFETY: the caller guarantees `ROOM` bytes; a decimal and two quotes are less.
    unsafe {
        at.write(b'"');
        let end = digits::write(at.add(1), negative, amount);
        end.write(b'"');
        end.add(1)
    }
}

/// A number without fraction.
pub(crate) trait Integer {
    /// True if it is below zero, and its amount.
    fn split(self) -> (bool, u64);
}

impl Integer for i64 {
    #[inline]
    fn split(self) -> (bool, u64) {
        (self < 0, self.unsigned_abs())
    }
}

impl Integer for i32 {
    #[inline]
    fn split(self) -> (bool, u64) {
        i64::from(self).split()
    }
}

impl Integer for u64 {
    #[inline]
    fn split(self) -> (bool, u64) {
        (false, self)
    }
}

impl Integer for u32 {
    #[inline]
    fn split(self) -> (bool, u64) {
        (false, self.into())
    }
}

/// Appends the shortest decimal that is read as the same double.
#[inline]
pub(crate) fn double(out: &mut Vec<u8>, value: f64) {
    // SAFETY: `ROOM` bytes hold any number, and it writes all up to its end.
    unsafe { append(out, ROOM, |at| write_double(at, value)) }
}

/// Appends the shortest decimal that is read as the same single.
#[inline]
pub(crate) fn float(out: &mut Vec<u8>, value: f32) {
    // SAFETY: `ROOM` bytes hold any number, and it writes all up to its end.
    unsafe { append(out, ROOM, |at| write_float(at, value)) }
}

/// Writes what [`double`] appends; returns its end.
///
/// # Safety
/// [`ROOM`] bytes at `at` may be written.
#[inline]
pub(super) unsafe fn write_double(at: *mut u8, value: f64) -> *mut u8 {
    // Decimals of up to fifteen digits are read as different doubles. So one that is read as this
    // double is the shortest: there is no other so short.
    let scaled = value * f64::from(SCALE);
    if scaled.abs() < 1e15 {
        let rounded = (scaled + 0.5f64.copysign(scaled)) as i64;
        // Both operands are exact, so the quotient is the value that the decimal is read as.
        if rounded as f64 / f64::from(SCALE) == value && rounded != 0 {
            // SAFETY: the caller guarantees room for `ROOM` bytes at `at`.
            return unsafe { write_short_decimal(at, rounded) };
        }
    }
    // SAFETY: the caller guarantees room for `ROOM` bytes at `at`.
    unsafe {
        if value.is_finite() {
            write_decimal(at, zmij::Buffer::new().format_finite(value))
        } else {
            write_decimal(at, not_finite(value))
        }
    }
}

/// Writes what [`float`] appends; returns its end.
///
/// # Safety
/// [`ROOM`] bytes at `at` may be written.
#[inline]
pub(super) unsafe fn write_float(at: *mut u8, value: f32) -> *mut u8 {
    // Decimals of up to six digits are read as different singles.
    let scaled = value * f32::from(SCALE);
    if scaled.abs() < 1e6 {
        let rounded = (scaled + 0.5f32.copysign(scaled)) as i32;
        if rounded as f32 / f32::from(SCALE) == value
            && (1..1_000_000).contains(&rounded.unsigned_abs())
        {
            // SAFETY: the caller guarantees room for `ROOM` bytes at `at`.
            return unsafe { write_short_decimal(at, rounded.into()) };
        }
    }
    // SAFETY: the caller guarantees room for `ROOM` bytes at `at`.
    unsafe {
        if value.is_finite() {
            write_decimal(at, zmij::Buffer::new().format_finite(value))
        } else {
            write_decimal(at, not_finite(f64::from(value)))
        }
    }
}

/// The factor that makes decimals of the fast path whole.
const SCALE: u16 = 10_000;

/// Writes a decimal of at most four places after the point.
///
/// # Safety
/// [`ROOM`] bytes at `at` may be written.
#[inline]
unsafe fn write_short_decimal(at: *mut u8, scaled: i64) -> *mut u8 {
    let (amount, scale) = (scaled.unsigned_abs(), u64::from(SCALE));
    // SAFETY: there is room for both parts.
    unsafe {
        let whole = digits::write(at, scaled < 0, amount / scale);
        digits::write_places(whole, amount % scale)
    }
}

/// Writes a number given as a text of at most [`digits::ROOM`] bytes; whole ones need no point.
///
/// # Safety
/// [`ROOM`] bytes at `at` may be written.
#[inline]
unsafe fn write_decimal(at: *mut u8, text: &str) -> *mut u8 {
    debug_assert!(text.len() <= digits::ROOM);
    let bytes = text.as_bytes();
    let bytes = bytes.strip_suffix(b".0").unwrap_or(bytes);
    // SAFETY: they fit the room.
    unsafe {
        copy_few(at, bytes);
        at.add(bytes.len())
    }
}

#[cold]
fn not_finite(value: f64) -> &'static str {
    match value {
        _ if value.is_nan() => "\"NaN\"",
        _ if value > 0.0 => "\"Infinity\"",
        _ => "\"-Infinity\"",
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// An encoder of base64: buffers up to two bytes between pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base64 {
    left: [u8; 3],
    count: usize,
}

impl Base64 {
    /// Appends a piece.
    pub(crate) fn push(&mut self, out: &mut Vec<u8>, mut piece: &[u8]) {
        while self.count > 0 && self.count < 3 {
            let Some((&byte, rest)) = piece.split_first() else { return };
            self.left[self.count] = byte;
            self.count += 1;
            piece = rest;
        }
        if self.count == 3 {
            out.extend_from_slice(&triple(self.left));
            self.count = 0;
        }
        let (triples, rest) = piece.as_chunks::<3>();
        let start = out.len();
        out.resize(start + triples.len() * 4, 0);
        let (letters, _) = out[start..].as_chunks_mut::<4>();
        for (to, &bytes) in letters.iter_mut().zip(triples) {
            *to = triple(bytes);
        }
        self.left[..rest.len()].copy_from_slice(rest);
        self.count = rest.len();
    }

    /// Appends what is left, with padding.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if self.count > 0 {
            self.left[self.count..].fill(0);
            let mut last = triple(self.left);
            last[self.count + 1..].fill(b'=');
            out.extend_from_slice(&last);
            self.count = 0;
        }
    }
}

#[inline]
fn triple([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c);
    [18, 12, 6, 0].map(|shift| BASE64[(bits >> shift & 63) as usize])
}

/// The value of each letter of both alphabets; 64 for others.
const LETTERS: [u8; 256] = {
    let mut table = [64; 256];
    let mut value = 0;
    while value < 64 {
        table[BASE64[value] as usize] = value as u8;
        value += 1;
    }
    table[b'-' as usize] = 62;
    table[b'_' as usize] = 63;
    table
};

/// Appends the bytes that base64 encodes, in either alphabet, padded or not; `None` if it is
/// malformed.
pub(crate) fn unbase64(out: &mut Vec<u8>, text: &str) -> Option<()> {
    let bytes = text.as_bytes();
    let padding = bytes.iter().rev().take_while(|&&byte| byte == b'=').count();
    if padding > 2 || padding > 0 && !bytes.len().is_multiple_of(4) {
        return None;
    }
    let bytes = &bytes[..bytes.len() - padding];
    let (groups, rest) = bytes.as_chunks::<4>();
    let start = out.len();
    out.resize(start + groups.len() * 3, 0);
    let (triples, _) = out[start..].as_chunks_mut::<3>();
    let mut odd = 0;
    for (to, group) in triples.iter_mut().zip(groups) {
        let [a, b, c, d] = group.map(|letter| LETTERS[usize::from(letter)]);
        // A byte that is no letter has the value 64, whose bit stays: one test after the loop.
        odd |= a | b | c | d;
        let bits = u32::from(a) << 18 | u32::from(b) << 12 | u32::from(c) << 6 | u32::from(d);
        let [_, x, y, z] = bits.to_be_bytes();
        *to = [x, y, z];
    }
    if odd >= 64 {
        return None;
    }
    let mut bits = 0u32;
    for &letter in rest {
        let value = LETTERS[usize::from(letter)];
        if value >= 64 {
            return None;
        }
        bits = bits << 6 | u32::from(value);
    }
    match rest.len() {
        0 => {}
        2 => out.push((bits >> 4) as u8),
        3 => out.extend_from_slice(&[(bits >> 10) as u8, (bits >> 2) as u8]),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_comes_back_in_pieces_of_any_size() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in (0..bytes.len()).step_by(if cfg!(miri) { 17 } else { 1 }) {
            let mut whole = Vec::new();
            let mut state = Base64::default();
            for piece in bytes[..length].chunks(length % 7 + 1) {
                state.push(&mut whole, piece);
            }
            state.finish(&mut whole);
            let text = String::from_utf8(whole).unwrap();
            assert_eq!(text.len(), length.div_ceil(3) * 4);
            for text in [&*text, text.trim_end_matches('='), &text.replace('+', "-")] {
                let mut back = Vec::new();
                assert_eq!(unbase64(&mut back, text), Some(()));
                assert_eq!(back, bytes[..length]);
            }
        }
        for bad in ["A", "AA=", "A===", "AA=A", "A A=", "AAAAA", "ä"] {
            assert_eq!(unbase64(&mut Vec::new(), bad), None, "{bad}");
        }
    }

    /// The fast path writes the same as the slow one.
    #[test]
    fn decimals_are_the_shortest() {
        let mut rng = tidemill_stdx::rng::Rng::new(1);
        let plain = |text: &str| text.strip_suffix(".0").unwrap_or(text).to_owned();
        for round in 0..if cfg!(miri) { 10 } else { 400_000u64 } {
            let digits = rng.below(10u64.pow(1 + (round % 17) as u32)) as f64;
            let near = digits / 10f64.powi((round % 7) as i32);
            let next = f64::from_bits(near.to_bits() + round % 3);
            let any = f64::from_bits(rng.next_u64());
            for value in [near, -near, next, any].into_iter().filter(|value| value.is_finite()) {
                let mut out = Vec::new();
                double(&mut out, value);
                let slow = plain(zmij::Buffer::new().format_finite(value));
                assert_eq!(String::from_utf8(out), Ok(slow));
                let single = value as f32;
                if single.is_finite() {
                    let mut out = Vec::new();
                    float(&mut out, single);
                    let slow = plain(zmij::Buffer::new().format_finite(single));
                    assert_eq!(String::from_utf8(out), Ok(slow));
                }
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        let text = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&|out| double(out, 1.0)), "1");
        assert_eq!(text(&|out| double(out, -463.2)), "-463.2");
        assert_eq!(text(&|out| double(out, 0.0001)), "0.0001");
        assert_eq!(text(&|out| double(out, 99_999_999_999.5)), "99999999999.5");
        assert_eq!(text(&|out| float(out, -12.125)), "-12.125");
        assert_eq!(text(&|out| float(out, 0.0)), "0");
        assert_eq!(text(&|out| double(out, -0.0)), "-0");
        assert_eq!(text(&|out| float(out, 0.1)), "0.1");
        assert_eq!(text(&|out| double(out, f64::NAN)), "\"NaN\"");
        assert_eq!(text(&|out| float(out, f32::NEG_INFINITY)), "\"-Infinity\"");
        assert_eq!(text(&|out| quoted_integer(out, i64::MIN)), "\"-9223372036854775808\"");
        assert_eq!(text(&|out| quote(out, "a\"\u{1}\n\u{e9}")), "\"a\\\"\\u0001\\n\u{e9}\"");
    }
}
