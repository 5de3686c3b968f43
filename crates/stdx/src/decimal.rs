//! Integers as decimal digits, without a formatter between: rows and lines are full of them.

/// Characters of the longest integer: a sign and 19 digits.
const LENGTH_MAX: usize = 20;

/// The digits of two-digit numbers, one after the other.
const PAIRS: [u8; 200] = {
    let (mut pairs, mut number) = ([0; 200], 0);
    while number < 100 {
        pairs[2 * number] = b'0' + (number / 10) as u8;
        pairs[2 * number + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

/// An integer in its text form.
///
/// ```
/// use tidemill_stdx::decimal::Decimal;
/// assert_eq!(Decimal::of(-1234).as_str(), "-1234");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    bytes: [u8; LENGTH_MAX],
    start: usize,
}

impl Decimal {
    /// The text form of `value`.
    pub fn of(value: i64) -> Decimal {
        let mut decimal = Decimal { bytes: [0; LENGTH_MAX], start: LENGTH_MAX };
        let mut rest = value.unsigned_abs();
        while rest >= 100 {
            decimal.pair((rest % 100) as usize);
            rest /= 100;
        }
        match rest {
            10.. => decimal.pair(rest as usize),
            _ => decimal.put(b'0' + rest as u8),
        }
        if value < 0 {
            decimal.put(b'-');
        }
        decimal
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        // Digits and a sign are ASCII.
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The characters, all of one byte.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Puts one character before the others.
    fn put(&mut self, byte: u8) {
        self.start -= 1;
        self.bytes[self.start] = byte;
    }

    fn pair(&mut self, number: usize) {
        self.put(PAIRS[2 * number + 1]);
        self.put(PAIRS[2 * number]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_library_prints_them() {
        let edges = [0, 1, 9, 10, 99, 100, 101, 999, 1000, i64::MAX, i64::MAX - 1];
        let mut values: Vec<i64> = edges.iter().flat_map(|&edge| [edge, -edge, !edge]).collect();
        values.extend((0..63).flat_map(|bits| [1 << bits, (1 << bits) - 1, -(1 << bits)]));
        for value in values {
            assert_eq!(Decimal::of(value).as_str(), value.to_string());
        }
    }
}
