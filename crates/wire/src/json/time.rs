//! Timestamps, durations and field masks in their string forms of JSON.

use tidemill_stdx::calendar::{civil_from_days, days_from_civil};

/// Seconds of 0001-01-01T00:00:00Z.
const TIMESTAMP_MIN: i64 = -62_135_596_800;
/// Seconds of 9999-12-31T23:59:59Z.
const TIMESTAMP_MAX: i64 = 253_402_300_799;
/// Ten thousand years.
const DURATION_MAX: i64 = 315_576_000_000;

const SECONDS_OF_DAY: i64 = 86_400;
const NANOS: i32 = 1_000_000_000;

/// Appends `2006-01-02T15:04:05.123Z` without quotes; `None` if it is out of range.
pub(crate) fn write_timestamp(out: &mut Vec<u8>, seconds: i64, nanos: i32) -> Option<()> {
    if !(TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(&seconds) || !(0..NANOS).contains(&nanos) {
        return None;
    }
    let (days, second) = (seconds.div_euclid(SECONDS_OF_DAY), seconds.rem_euclid(SECONDS_OF_DAY));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let mut text = *b"0000-00-00T00:00:00";
    for (at, value) in [(5, month), (8, day), (11, hour), (14, minute), (17, second)] {
        text[at] += (value / 10) as u8;
        text[at + 1] += (value % 10) as u8;
    }
    let mut year = year;
    for at in (0..4).rev() {
        text[at] += (year % 10) as u8;
        year /= 10;
    }
    out.extend_from_slice(&text);
    write_nanos(out, nanos.unsigned_abs());
    out.push(b'Z');
    Some(())
}

/// Appends `-1.500s` without quotes; `None` if it is out of range.
pub(crate) fn write_duration(out: &mut Vec<u8>, seconds: i64, nanos: i32) -> Option<()> {
    // Not `abs`, which the lowest numbers have none of.
    let in_range =
        (-DURATION_MAX..=DURATION_MAX).contains(&seconds) && (1 - NANOS..NANOS).contains(&nanos);
    let one_sign = seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0);
    if !in_range || !one_sign {
        return None;
    }
    if seconds < 0 || nanos < 0 {
        out.push(b'-');
    }
    super::print::integer(out, seconds.unsigned_abs());
    write_nanos(out, nanos.unsigned_abs());
    out.push(b's');
    Some(())
}

/// Nothing, or a point with 3, 6 or 9 digits.
fn write_nanos(out: &mut Vec<u8>, nanos: u32) {
    if nanos == 0 {
        return;
    }
    let mut digits = [b'0'; 9];
    let mut rest = nanos;
    for digit in digits.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    let count = match nanos {
        _ if nanos.is_multiple_of(1_000_000) => 3,
        _ if nanos.is_multiple_of(1_000) => 6,
        _ => 9,
    };
    out.push(b'.');
    out.extend_from_slice(&digits[..count]);
}

/// Seconds and nanoseconds of RFC 3339.
pub(crate) fn read_timestamp(text: &str) -> Option<(i64, i32)> {
    let mut rest = Digits(text.as_bytes());
    let year = rest.number(4)?;
    let month = rest.after(b'-')?.number(2)?;
    let day = rest.after(b'-')?.number(2)?;
    let hour = rest.after(b'T')?.number(2)?;
    let minute = rest.after(b':')?.number(2)?;
    let second = rest.after(b':')?.number(2)?;
    let nanos = rest.fraction()?;
    let zone = rest.zone()?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let fits = (1..=days_in_month).contains(&day) && hour < 24 && minute < 60 && second < 60;
    if !fits || !rest.0.is_empty() {
        return None;
    }
    let seconds =
        days_from_civil(year, month, day) * SECONDS_OF_DAY + hour * 3600 + minute * 60 + second
            - zone;
    (TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(&seconds).then_some((seconds, nanos))
}

/// Seconds and nanoseconds of `-1.5s`.
pub(crate) fn read_duration(text: &str) -> Option<(i64, i32)> {
    let number = text.strip_suffix('s')?;
    let (negative, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number),
    };
    let whole = number.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, fraction) = number.split_at(whole);
    let seconds: i64 = whole.parse().ok()?;
    let mut rest = Digits(fraction.as_bytes());
    let nanos = rest.fraction()?;
    if !rest.0.is_empty() || seconds > DURATION_MAX {
        return None;
    }
    Some(if negative { (-seconds, -nanos) } else { (seconds, nanos) })
}

struct Digits<'t>(&'t [u8]);

impl Digits<'_> {
    fn after(&mut self, byte: u8) -> Option<&mut Self> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        (first == byte).then_some(self)
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        number.iter().try_fold(0, |value, digit| {
            digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
        })
    }

    /// Nothing, or a point and one to nine digits, as nanoseconds.
    fn fraction(&mut self) -> Option<i32> {
        if self.0.first() != Some(&b'.') {
            return Some(0);
        }
        self.after(b'.')?;
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&count) {
            return None;
        }
        let value = self.number(count)?;
        Some((value * 10i64.pow(9 - count as u32)) as i32)
    }

    /// `Z`, or the offset to be subtracted, in seconds.
    fn zone(&mut self) -> Option<i64> {
        let (&sign, rest) = self.0.split_first()?;
        self.0 = rest;
        let sign = match sign {
            b'Z' => return Some(0),
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let hours = self.number(2)?;
        let minutes = self.after(b':')?.number(2)?;
        (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

/// Appends a path of a field mask in the form of JSON, `a_b.c` as `aB.c`; `None` where reading
/// would not restore it.
pub(crate) fn write_path(out: &mut Vec<u8>, path: &str) -> Option<()> {
    let mut after_underscore = false;
    for c in path.chars() {
        match c {
            'A'..='Z' => return None,
            '_' if after_underscore => return None,
            '_' => after_underscore = true,
            'a'..='z' if after_underscore => {
                out.push(c.to_ascii_uppercase() as u8);
                after_underscore = false;
            }
            _ if after_underscore => return None,
            _ => super::print::escape(out, c.encode_utf8(&mut [0; 4])),
        }
    }
    (!after_underscore).then_some(())
}

/// Appends a path of a field mask in the form of the message.
pub(crate) fn read_path(out: &mut Vec<u8>, path: &str) -> Option<()> {
    for c in path.chars() {
        match c {
            '_' => return None,
            'A'..='Z' => out.extend_from_slice(&[b'_', c.to_ascii_lowercase() as u8]),
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(seconds: i64, nanos: i32) -> Option<String> {
        let mut out = Vec::new();
        write_timestamp(&mut out, seconds, nanos)?;
        String::from_utf8(out).ok()
    }

    #[test]
    fn days_go_both_ways() {
        for days in (-719_162..=2_932_896).step_by(11) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(11_016), (2000, 2, 29));
    }

    #[test]
    fn timestamps_have_their_range_and_their_zones() {
        let first = "0001-01-01T00:00:00Z";
        let last = "9999-12-31T23:59:59.999999999Z";
        assert_eq!(timestamp(TIMESTAMP_MIN, 0).as_deref(), Some(first));
        assert_eq!(timestamp(TIMESTAMP_MAX, 999_999_999).as_deref(), Some(last));
        assert_eq!(read_timestamp(last), Some((TIMESTAMP_MAX, 999_999_999)));
        assert_eq!(timestamp(TIMESTAMP_MAX + 1, 0), None);
        assert_eq!(timestamp(0, -1), None);
        assert_eq!(timestamp(0, 10_000_000).as_deref(), Some("1970-01-01T00:00:00.010Z"));
        assert_eq!(read_timestamp("1970-01-01T01:30:00.5+01:30"), Some((0, 500_000_000)));
        assert_eq!(read_timestamp("1969-12-31T22:30:00-01:30"), Some((0, 0)));
        for bad in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-01-01t00:00:00z",
            "1970-02-30T00:00:00Z",
            "1970-00-01T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:00:60Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00Z ",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59-00:01",
        ] {
            assert_eq!(read_timestamp(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_have_one_sign() {
        let mut out = Vec::new();
        assert_eq!(write_duration(&mut out, 0, -1_500), Some(()));
        assert_eq!(out, b"-0.000001500s");
        assert_eq!(read_duration("-0.0000015s"), Some((0, -1_500)));
        assert_eq!(read_duration("315576000000.999999999s"), Some((DURATION_MAX, 999_999_999)));
        for bad in ["", "s", "1", "1.s", ".5s", "1.0000000001s", "--1s", "+1s", "315576000001s"] {
            assert_eq!(read_duration(bad), None, "{bad}");
        }
        assert_eq!(write_duration(&mut out, 1, -1), None);
        assert_eq!(write_duration(&mut out, DURATION_MAX + 1, 0), None);
    }

    #[test]
    fn paths_come_back_or_are_refused() {
        let mut out = Vec::new();
        assert_eq!(write_path(&mut out, "foo_bar.baz"), Some(()));
        assert_eq!(out, b"fooBar.baz");
        let mut back = Vec::new();
        assert_eq!(read_path(&mut back, "fooBar.baz"), Some(()));
        assert_eq!(back, b"foo_bar.baz");
        for bad in ["fooBar", "foo_", "foo__bar", "foo_3", "_Foo"] {
            assert_eq!(write_path(&mut Vec::new(), bad), None, "{bad}");
        }
        assert_eq!(read_path(&mut Vec::new(), "foo_bar"), None);
    }
}
