//! Strings and numbers as text has them.

/// Appends a text in the form of C: what is not printable by octal number.
pub(super) fn escape_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        match byte {
            0x20..=0x7e if !matches!(byte, b'"' | b'\'' | b'\\') => out.push(byte),
            _ => escape_byte(out, byte),
        }
    }
}

/// Likewise, but characters beyond ASCII stay.
pub(super) fn escape_text(out: &mut Vec<u8>, text: &str) {
    for &byte in text.as_bytes() {
        match byte {
            0x20..=0xff if !matches!(byte, b'"' | b'\'' | b'\\' | 0x7f) => out.push(byte),
            _ => escape_byte(out, byte),
        }
    }
}

#[cold]
fn escape_byte(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        b'"' | b'\'' | b'\\' => byte,
        _ => {
            let digits = [byte >> 6, byte >> 3 & 7, byte & 7].map(|digit| b'0' + digit);
            out.push(b'\\');
            out.extend_from_slice(&digits);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// Appends a double.
pub(super) fn double(out: &mut Vec<u8>, value: f64) {
    match value.is_finite() {
        true => crate::json::print::double(out, value),
        false => out.extend_from_slice(not_finite(value)),
    }
}

/// Appends a single.
pub(super) fn float(out: &mut Vec<u8>, value: f32) {
    match value.is_finite() {
        true => crate::json::print::float(out, value),
        false => out.extend_from_slice(not_finite(f64::from(value))),
    }
}

fn not_finite(value: f64) -> &'static [u8] {
    match value {
        _ if value.is_nan() => b"nan",
        _ if value > 0.0 => b"inf",
        _ => b"-inf",
    }
}

/// An integer literal: decimal, octal after `0`, hexadecimal after `0x`. None if it is no
/// integer; [`u128::MAX`] if it is larger than any type.
pub(super) fn integer(text: &str) -> Option<u128> {
    let (digits, base) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    let fits = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    fits.then(|| u128::from_str_radix(digits, base).unwrap_or(u128::MAX))
}

/// The decimal of a float literal, for `parse`: without the suffix. None for octal and
/// hexadecimal numbers.
pub(super) fn decimal(text: &str) -> Option<&str> {
    let digits = text.strip_suffix(['f', 'F']).unwrap_or(text);
    let bytes = digits.as_bytes();
    if matches!(bytes, [b'0', b'0'..=b'9' | b'x' | b'X', ..]) {
        return None;
    }
    let fits = bytes.iter().any(u8::is_ascii_digit)
        && bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    fits.then_some(digits)
}

/// Appends what the inside of a string literal stands for; else where it is wrong.
pub(super) fn unescape(out: &mut Vec<u8>, text: &str) -> Result<(), (usize, &'static str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
            continue;
        }
        at = escape(out, bytes, at)?;
    }
    Ok(())
}

fn escape(out: &mut Vec<u8>, bytes: &[u8], at: usize) -> Result<usize, (usize, &'static str)> {
    let number = |from: usize, base: u32, most: usize| {
        let digits = bytes[from..].iter().take(most);
        let mut values = digits.map_while(|&byte| char::from(byte).to_digit(base));
        let (mut value, mut end) = (0u32, from);
        for digit in &mut values {
            value = value << base.trailing_zeros() | digit;
            end += 1;
        }
        (value, end)
    };
    let simple = match bytes.get(at + 1) {
        Some(b'a') => 7,
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'v') => 11,
        Some(&byte @ (b'\\' | b'\'' | b'"' | b'?')) => byte,
        Some(b'0'..=b'7') => {
            let (value, end) = number(at + 1, 8, 3);
            out.push(u8::try_from(value).map_err(|_| (at, "the octal number is above 255"))?);
            return Ok(end);
        }
        Some(b'x' | b'X') => {
            let (value, end) = number(at + 2, 16, 2);
            if end == at + 2 {
                return Err((at, "hexadecimal digits are missing"));
            }
            out.push(value as u8);
            return Ok(end);
        }
        Some(&kind @ (b'u' | b'U')) => {
            let digits = if kind == b'u' { 4 } else { 8 };
            let (value, end) = number(at + 2, 16, digits);
            if end != at + 2 + digits {
                return Err((at, "hexadecimal digits are missing"));
            }
            let c = char::from_u32(value).ok_or((at, "there is no such character"))?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(end);
        }
        _ => return Err((at, "there is no such escape")),
    };
    out.push(simple);
    Ok(at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_go_both_ways() {
        let all: Vec<u8> = (0..=255).collect();
        let mut text = Vec::new();
        escape_bytes(&mut text, &all);
        let mut back = Vec::new();
        assert_eq!(unescape(&mut back, std::str::from_utf8(&text).unwrap()), Ok(()));
        assert_eq!(back, all);
        let mut out = Vec::new();
        let text = r"\a\b\f\v\?\x4\u00e9\U0001F600\101";
        assert_eq!(unescape(&mut out, text), Ok(()));
        assert_eq!(out, "\u{7}\u{8}\u{c}\u{b}?\u{4}\u{e9}\u{1f600}A".as_bytes());
        for bad in [r"\", r"\x", r"\u12", r"\ud83d\ude00", r"\U00110000", r"\8", r"\400"] {
            assert!(unescape(&mut Vec::new(), bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn integers_have_three_bases() {
        assert_eq!(integer("10"), Some(10));
        assert_eq!(integer("010"), Some(8));
        assert_eq!(integer("0X1f"), Some(31));
        assert_eq!(integer("0"), Some(0));
        for bad in ["", "08", "0x", "1.0", "1f", "-1"] {
            assert_eq!(integer(bad), None, "{bad}");
        }
    }
}
