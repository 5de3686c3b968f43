//! Strings, bytes and numbers as JSON has them.

use super::scan;

/// What follows the backslash for control characters, quotes and backslashes; 0 for none, `u`
/// for those that are written by number.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[0x08] = b'b';
    table[b'\t' as usize] = b't';
    table[b'\n' as usize] = b'n';
    table[0x0c] = b'f';
    table[b'\r' as usize] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a text without quotes around it.
#[inline]
pub(crate) fn escape(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    loop {
        let plain = scan::copy_plain(out, rest);
        let Some(&byte) = rest.get(plain) else { return };
        escape_byte(out, byte);
        rest = &rest[plain + 1..];
    }
}

#[cold]
fn escape_byte(out: &mut Vec<u8>, byte: u8) {
    match ESCAPES[usize::from(byte)] {
        b'u' => {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
        letter => out.extend_from_slice(&[b'\\', letter]),
    }
}

/// Appends a text in quotes.
#[inline]
pub(crate) fn quote(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escape(out, text);
    out.push(b'"');
}

/// Likewise, to a `String`.
pub(crate) fn quote_into(out: &mut String, text: &str) {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    quote(&mut bytes, text);
    out.push_str(&String::from_utf8_lossy(&bytes));
}

/// Appends a decimal.
#[inline]
pub(crate) fn integer<I: itoa::Integer>(out: &mut Vec<u8>, value: I) {
    scan::push(out, itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a decimal in quotes, as 64-bit numbers are written.
#[inline]
pub(crate) fn quoted_integer<I: itoa::Integer>(out: &mut Vec<u8>, value: I) {
    out.push(b'"');
    integer(out, value);
    out.push(b'"');
}

/// Appends the shortest decimal that is read as the same double.
#[inline]
pub(crate) fn double(out: &mut Vec<u8>, value: f64) {
    match value.is_finite() {
        true => decimal(out, zmij::Buffer::new().format_finite(value)),
        false => out.extend_from_slice(not_finite(value)),
    }
}

/// Appends the shortest decimal that is read as the same single.
#[inline]
pub(crate) fn float(out: &mut Vec<u8>, value: f32) {
    match value.is_finite() {
        true => decimal(out, zmij::Buffer::new().format_finite(value)),
        false => out.extend_from_slice(not_finite(f64::from(value))),
    }
}

/// Whole numbers need no point.
#[inline]
fn decimal(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    scan::push(out, bytes.strip_suffix(b".0").unwrap_or(bytes));
}

#[cold]
fn not_finite(value: f64) -> &'static [u8] {
    match value {
        _ if value.is_nan() => b"\"NaN\"",
        _ if value > 0.0 => b"\"Infinity\"",
        _ => b"\"-Infinity\"",
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes on their way into base64: what is left of pieces until three are there.
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
        out.reserve(piece.len() / 3 * 4);
        let (triples, rest) = piece.as_chunks::<3>();
        for &bytes in triples {
            out.extend_from_slice(&triple(bytes));
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

/// Appends what base64 stands for, of either alphabet, padded or not; `None` if it is none.
pub(crate) fn unbase64(out: &mut Vec<u8>, text: &str) -> Option<()> {
    let bytes = text.as_bytes();
    let padding = bytes.iter().rev().take_while(|&&byte| byte == b'=').count();
    if padding > 2 || padding > 0 && !bytes.len().is_multiple_of(4) {
        return None;
    }
    let bytes = &bytes[..bytes.len() - padding];
    out.reserve(bytes.len() / 4 * 3 + 3);
    let (groups, rest) = bytes.as_chunks::<4>();
    for group in groups {
        let [a, b, c, d] = group.map(|letter| LETTERS[usize::from(letter)]);
        if (a | b | c | d) >= 64 {
            return None;
        }
        let bits = u32::from(a) << 18 | u32::from(b) << 12 | u32::from(c) << 6 | u32::from(d);
        let [_, x, y, z] = bits.to_be_bytes();
        out.extend_from_slice(&[x, y, z]);
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
        for length in 0..bytes.len() {
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

    #[test]
    fn numbers_are_short() {
        let text = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&|out| double(out, 1.0)), "1");
        assert_eq!(text(&|out| double(out, -0.0)), "-0");
        assert_eq!(text(&|out| float(out, 0.1)), "0.1");
        assert_eq!(text(&|out| double(out, f64::NAN)), "\"NaN\"");
        assert_eq!(text(&|out| float(out, f32::NEG_INFINITY)), "\"-Infinity\"");
        assert_eq!(text(&|out| quoted_integer(out, i64::MIN)), "\"-9223372036854775808\"");
        assert_eq!(text(&|out| quote(out, "a\"\u{1}\n\u{e9}")), "\"a\\\"\\u0001\\n\u{e9}\"");
    }
}
