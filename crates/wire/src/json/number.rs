//! Numbers as JSON writes them, without loss until their type is known.

use super::digits;
use super::error::Fault;

/// A number of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number<'a> {
    /// The text that it is a part of, and its position.
    source: &'a str,
    start: usize,
    end: usize,
    pub(crate) negative: bool,
    /// The digits, as one integer, if [`Number::exact`].
    mantissa: u64,
    /// The power of ten that the digits are to be multiplied with.
    exponent: i32,
    /// All digits are in `mantissa`.
    exact: bool,
    /// There is neither a point nor an exponent.
    pub(crate) whole: bool,
}

/// Digits that a `u64` has room for, whatever they are.
const DIGITS_MAX: usize = 19;

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Powers of ten that a single holds exactly.
const SINGLE_POWERS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

impl<'a> Number<'a> {
    /// The number at `start`; else what is wrong and where.
    #[inline]
    pub(crate) fn read(source: &'a str, start: usize) -> Result<Number<'a>, BadNumber> {
        let bytes = source.as_bytes();
        let negative = bytes.get(start) == Some(&b'-');
        let first = start + usize::from(negative);
        // May be wrong if there are too many digits, which is seen below.
        let (mantissa, at) = digits::read(bytes, first, 0);
        let digits = at - first;
        if digits == 0 {
            return Err(BadNumber { at, what: "a digit is expected" });
        }
        if digits > 1 && bytes[first] == b'0' {
            return Err(BadNumber { at: first, what: "a number begins with a useless 0" });
        }
        let next = bytes.get(at).copied().unwrap_or(0);
        if !matches!(next, b'.' | b'e' | b'E') && digits <= DIGITS_MAX {
            let (end, exponent, exact, whole) = (at, 0, true, true);
            return Ok(Number { source, start, end, negative, mantissa, exponent, exact, whole });
        }
        if next == b'.' {
            let (mantissa, end) = digits::read(bytes, at + 1, mantissa);
            let fraction = end - at - 1;
            let more = matches!(bytes.get(end), Some(b'e' | b'E'));
            if fraction > 0 && digits + fraction <= DIGITS_MAX && !more {
                let (exponent, exact, whole) = (-(fraction as i32), true, false);
                return Ok(Number {
                    source,
                    start,
                    end,
                    negative,
                    mantissa,
                    exponent,
                    exact,
                    whole,
                });
            }
        }
        Number::read_rest(source, start, (first, at))
    }

    /// Reads on after the whole part.
    #[inline(never)]
    fn read_rest(
        source: &'a str,
        start: usize,
        whole: (usize, usize),
    ) -> Result<Number<'a>, BadNumber> {
        let bytes = source.as_bytes();
        let mut digits = Digits::default();
        digits.add(&bytes[whole.0..whole.1]);
        let mut end = whole.1;
        let mut exponent = 0i32;
        if bytes.get(end) == Some(&b'.') {
            let fraction = end + 1;
            end = after_digits(bytes, fraction)?;
            digits.add(&bytes[fraction..end]);
            exponent = i32::try_from(end - fraction).map_or(i32::MIN, |count| -count);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            end += 1;
            let negative = bytes.get(end) == Some(&b'-');
            end += usize::from(matches!(bytes.get(end), Some(b'-' | b'+')));
            let first = end;
            end = after_digits(bytes, first)?;
            // Beyond any type there is no need to be exact.
            let value = bytes[first..end].iter().fold(0i32, |value, digit| {
                value.saturating_mul(10).saturating_add(i32::from(digit - b'0'))
            });
            exponent = exponent.saturating_add(if negative { -value } else { value });
        }
        let Digits { mantissa, exact, .. } = digits;
        let (negative, whole) = (bytes[start] == b'-', end == whole.1);
        Ok(Number { source, start, end, negative, mantissa, exponent, exact, whole })
    }

    /// Its end.
    #[inline]
    pub(crate) fn end(self) -> usize {
        self.end
    }

    /// As it is written.
    pub(crate) fn text(self) -> &'a str {
        &self.source[self.start..self.end]
    }

    /// The double next to it; `None` if it is too large for any.
    #[inline]
    pub(crate) fn to_f64(self) -> Option<f64> {
        let power = self.exponent.unsigned_abs() as usize;
        let value = if self.exact && self.mantissa <= 1 << 53 && power < POWERS.len() {
            // One operation on exact operands rounds once.
            let mantissa = self.mantissa as f64;
            let value =
                if self.exponent < 0 { mantissa / POWERS[power] } else { mantissa * POWERS[power] };
            if self.negative { -value } else { value }
        } else {
            return self.parse();
        };
        Some(value)
    }

    /// The value that std parses, if it is not too large.
    #[inline(never)]
    fn parse<F: std::str::FromStr + Into<f64> + Copy>(self) -> Option<F> {
        let value: F = self.text().parse().ok()?;
        value.into().is_finite().then_some(value)
    }

    /// The single next to it; `None` if it is too large for any.
    #[inline]
    pub(crate) fn to_f32(self) -> Option<f32> {
        let power = self.exponent.unsigned_abs() as usize;
        let exact = self.exact && self.mantissa <= 1 << 24 && power < SINGLE_POWERS.len();
        let value = if exact {
            // One operation on exact operands rounds once.
            let mantissa = self.mantissa as f32;
            let value = if self.exponent < 0 {
                mantissa / SINGLE_POWERS[power]
            } else {
                mantissa * SINGLE_POWERS[power]
            };
            if self.negative { -value } else { value }
        } else {
            return self.parse();
        };
        Some(value)
    }

    /// True if it is not too large for a double.
    #[inline]
    pub(crate) fn is_double(self) -> bool {
        // Twenty digits times `1e280` stay below the largest double.
        self.exact && self.exponent < 280 || self.to_f64().is_some()
    }

    /// Its amount as an integer; `None` if it is none or too large.
    #[inline]
    fn amount(self) -> Option<u64> {
        if self.exponent == 0 && self.exact {
            return Some(self.mantissa);
        }
        self.shifted_amount()
    }

    #[inline(never)]
    fn shifted_amount(self) -> Option<u64> {
        if !self.exact {
            return None;
        }
        let (mut mantissa, mut exponent) = (self.mantissa, self.exponent);
        if mantissa == 0 {
            return Some(0);
        }
        while exponent < 0 {
            if mantissa % 10 != 0 {
                return None;
            }
            mantissa /= 10;
            exponent += 1;
        }
        mantissa.checked_mul(10u64.checked_pow(exponent.unsigned_abs())?)
    }

    /// As an integer, if it is one of that type.
    #[inline]
    pub(crate) fn to_u64(self) -> Option<u64> {
        let amount = self.amount()?;
        (!self.negative || amount == 0).then_some(amount)
    }

    /// As an integer, if it is one of that type.
    #[inline]
    pub(crate) fn to_i64(self) -> Option<i64> {
        let amount = self.amount()?;
        match self.negative {
            false => i64::try_from(amount).ok(),
            true if amount <= 1 << 63 => Some((amount as i64).wrapping_neg()),
            true => None,
        }
    }
}

/// Why there is no number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BadNumber {
    pub(crate) at: usize,
    pub(crate) what: &'static str,
}

impl BadNumber {
    #[cold]
    pub(crate) fn fault(self) -> Fault {
        Fault::new(self.at, self.what)
    }
}

#[inline]
fn digit(bytes: &[u8], at: usize) -> Option<u64> {
    let digit = bytes.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

fn after_digits(bytes: &[u8], start: usize) -> Result<usize, BadNumber> {
    let mut at = start;
    while digit(bytes, at).is_some() {
        at += 1;
    }
    if at == start { Err(BadNumber { at, what: "a digit is expected" }) } else { Ok(at) }
}

/// Digits gathered into an integer.
struct Digits {
    mantissa: u64,
    /// Without zeros in front.
    count: usize,
    exact: bool,
}

impl Default for Digits {
    fn default() -> Digits {
        Digits { mantissa: 0, count: 0, exact: true }
    }
}

impl Digits {
    #[inline]
    fn add(&mut self, digits: &[u8]) {
        for digit in digits {
            let digit = u64::from(digit - b'0');
            if self.count == DIGITS_MAX {
                match self.mantissa.checked_mul(10).and_then(|all| all.checked_add(digit)) {
                    Some(all) if self.exact => self.mantissa = all,
                    _ => self.exact = false,
                }
                continue;
            }
            self.mantissa = self.mantissa * 10 + digit;
            self.count += usize::from(self.count > 0 || digit > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number<'_> {
        let number = Number::read(text, 0).unwrap();
        assert_eq!(number.text(), text);
        number
    }

    #[test]
    fn integers_may_have_points_and_exponents() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("1.0", 1),
            ("1e2", 100),
            ("100e-2", 1),
            ("-1.5e1", -15),
            ("1.000000000000000000", 1),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("-9.223372036854775808e18", i64::MIN),
            ("0.0e99999999999", 0),
        ] {
            assert_eq!(number(text).to_i64(), Some(value), "{text}");
        }
        for text in ["1.5", "1e-1", "9223372036854775808", "1e19", "1e999999999999", "-1e20"] {
            assert_eq!(number(text).to_i64(), None, "{text}");
        }
        assert_eq!(number("18446744073709551615").to_u64(), Some(u64::MAX));
        assert_eq!(number("18446744073709551616").to_u64(), None);
        assert_eq!(number("-1").to_u64(), None);
    }

    #[test]
    fn doubles_are_those_of_std() {
        for text in [
            "0.1",
            "-0",
            "123456789.123456789",
            "9007199254740993",
            "1e22",
            "1e23",
            "1e-22",
            "1.7976931348623157e308",
            "4.9e-324",
            "65.613616999999977",
            "2.2250738585072011e-308",
            "123456789012345678901234567890",
            "0.000000000000000000000000000123",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(number(text).to_f64().map(f64::to_bits), Some(expected.to_bits()), "{text}");
            let expected: f32 = text.parse().unwrap();
            let expected = expected.is_finite().then_some(expected);
            assert_eq!(number(text).to_f32(), expected, "{text}");
            assert!(number(text).is_double());
        }
        let zeros = format!("1{}", "0".repeat(309));
        for text in ["1e309", "18446744073709551615e300", &zeros, "-1e99999999999"] {
            assert_eq!(number(text).to_f64(), None);
            assert!(!number(text).is_double());
        }
        assert!(number(&zeros[..300]).is_double() && number("0e999").is_double());
        assert_eq!(number("3.5e38").to_f32(), None);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", "01", "-01", ".5", "1.", "1.e1", "1e", "1e+", "+1", "a"] {
            assert!(Number::read(text, 0).is_err(), "{text}");
        }
    }
}
