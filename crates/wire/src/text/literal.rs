//! Numbers in text.

use tidemill_diag::text::number::{BadNumber, radix_of_c, whole};

/// Appends a double.
pub(super) fn double(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        crate::json::print::double(out, value)
    } else {
        out.extend_from_slice(not_finite(value))
    }
}

/// Appends a float.
pub(super) fn float(out: &mut Vec<u8>, value: f32) {
    if value.is_finite() {
        crate::json::print::float(out, value)
    } else {
        out.extend_from_slice(not_finite(f64::from(value)))
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
    let (digits, radix) = radix_of_c(text);
    match whole(digits, radix) {
        Ok(value) => Some(value.into()),
        Err(BadNumber::TooLarge) => Some(u128::MAX),
        Err(_) => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
