//! Number literals: their ends and values.

use super::Cursor;

/// Digits after the point of seconds, whose unit is the nanosecond.
pub const DECIMALS_MAX: usize = 9;

/// Why digits are no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadNumber {
    /// There is none, or one of another radix or none at all.
    Digit,
    /// More decimals than [`DECIMALS_MAX`].
    Decimals,
    /// Too large for its type.
    TooLarge,
}

/// The value of digits, without sign.
///
/// # Errors
/// Another digit, none at all, or too many of them.
#[inline]
pub fn whole(digits: &str, radix: u32) -> Result<u64, BadNumber> {
    // Rust would read a sign.
    if digits.starts_with('+') {
        return Err(BadNumber::Digit);
    }
    u64::from_str_radix(digits, radix).map_err(|_| refuse(digits, radix))
}

/// Why digits have no value; an invalid digit takes precedence over their number.
#[cold]
fn refuse(digits: &str, radix: u32) -> BadNumber {
    if !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix)) {
        BadNumber::TooLarge
    } else {
        BadNumber::Digit
    }
}

/// The digits of a number of C and their radix: hexadecimal after `0x`, octal after `0`.
#[inline]
pub fn radix_of_c(text: &str) -> (&str, u32) {
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    }
}

/// The value of a number with a point or an exponent.
///
/// # Errors
/// Text that Rust does not parse, or a number too large for a double.
pub fn double(text: &str) -> Result<f64, BadNumber> {
    let value: f64 = text.parse().map_err(|_| BadNumber::Digit)?;
    if value.is_finite() { Ok(value) } else { Err(BadNumber::TooLarge) }
}

/// Seconds and what stands behind their point, in nanoseconds: exactly, without a double.
///
/// # Errors
/// Something else than digits, or too many of them.
pub fn nanoseconds(seconds: &str, decimals: &str) -> Result<u64, BadNumber> {
    if decimals.len() > DECIMALS_MAX {
        return Err(BadNumber::Decimals);
    }
    let missing = (DECIMALS_MAX - decimals.len()) as u32;
    let fraction = whole(decimals, 10)? * 10_u64.pow(missing);
    let whole = whole(seconds, 10)?.checked_mul(10_u64.pow(DECIMALS_MAX as u32));
    whole.and_then(|whole| whole.checked_add(fraction)).ok_or(BadNumber::TooLarge)
}

/// Pieces of numbers.
impl<'t> Cursor<'t> {
    /// Reads decimal digits.
    #[inline]
    pub fn digits(&mut self) -> &'t str {
        self.take_while(|byte| byte.is_ascii_digit())
    }

    /// Reads a point and digits after it, and gives the digits; nothing where no digit follows.
    pub fn fraction(&mut self) -> Option<&'t str> {
        let found = self.peek(0) == b'.' && self.peek(1).is_ascii_digit();
        found.then(|| {
            self.skip(1);
            self.digits()
        })
    }

    /// Reads `e9`, `E+9`, `e-9`, and says whether there was one; nothing where no digit follows.
    pub fn exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        let found = matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit();
        if found {
            self.skip(1 + sign);
            self.digits();
        }
        found
    }

    /// Reads all that may belong to a number that begins here: letters, digits, `_`, points, and
    /// the sign of an exponent.
    pub fn number_like(&mut self) -> &'t str {
        let hexadecimal = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X');
        let (start, mut before) = (self.at(), 0);
        loop {
            let byte = self.peek(0);
            let sign = matches!(byte, b'+' | b'-') && matches!(before, b'e' | b'E') && !hexadecimal;
            if !(super::is_word(byte) || byte == b'.' || sign) {
                return self.since(start);
            }
            self.skip(1);
            before = byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_have_a_radix() {
        assert_eq!(whole("18446744073709551615", 10), Ok(u64::MAX));
        assert_eq!(whole("18446744073709551616", 10), Err(BadNumber::TooLarge));
        assert_eq!(whole("18446744073709551616x", 10), Err(BadNumber::Digit));
        assert_eq!(whole("fF", 16), Ok(255));
        for (digits, radix) in [("", 10), ("08", 8), ("+1", 10), ("-1", 10), ("1_0", 10)] {
            assert_eq!(whole(digits, radix), Err(BadNumber::Digit), "{digits}");
        }
        assert_eq!(
            ["0", "010", "0X1f", "12"].map(radix_of_c),
            [("0", 10), ("10", 8), ("1f", 16), ("12", 10)]
        );
    }

    #[test]
    fn seconds_are_exact() {
        assert_eq!(nanoseconds("0", "000000001"), Ok(1));
        assert_eq!(nanoseconds("12", "5"), Ok(12_500_000_000));
        assert_eq!(nanoseconds("1", "0000000001"), Err(BadNumber::Decimals));
        assert_eq!(nanoseconds("1", ""), Err(BadNumber::Digit));
        assert_eq!(nanoseconds("99999999999", "0"), Err(BadNumber::TooLarge));
        assert_eq!([double("1.5e3"), double("1e999")], [Ok(1500.0), Err(BadNumber::TooLarge)]);
    }

    #[test]
    fn numbers_end_where_they_should() {
        let read = |text| {
            let mut cursor = Cursor::new(text);
            let whole = cursor.digits();
            (whole, cursor.fraction(), cursor.exponent(), cursor.rest())
        };
        assert_eq!(read("1.5e-3;"), ("1", Some("5"), true, ";"));
        assert_eq!(read("1."), ("1", None, false, "."));
        assert_eq!(read("2e+"), ("2", None, false, "e+"));
        let like = |text| Cursor::new(text).number_like();
        assert_eq!(["1e-5+1", "0xe-1", "-1", "1_0.x)"].map(like), ["1e-5", "0xe", "", "1_0.x"]);
    }
}
