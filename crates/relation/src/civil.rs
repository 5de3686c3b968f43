//! Times as dates of the Gregorian calendar, in UTC, and as text.
//!
//! Times count nanoseconds since the epoch in 64 bits, so years go from 1677 to 2262.

use std::fmt::{self, Write};

use tidemill_stdx::calendar::{civil_from_days, days_from_civil};

/// Nanoseconds of a second.
const SECOND_NS: i64 = 1_000_000_000;
/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// A time in UTC by the calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Civil {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
    /// The hour.
    pub hour: i64,
    /// The minute.
    pub minute: i64,
    /// The second; there are no leap seconds.
    pub second: i64,
    /// The rest.
    pub nanosecond: i64,
}

/// Days of a month.
fn month_days(year: i64, month: i64) -> i64 {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_from_civil(next.0, next.1, 1) - days_from_civil(year, month, 1)
}

impl Civil {
    /// The time `ns` nanoseconds from the epoch.
    pub fn from_ns(ns: i64) -> Civil {
        let seconds = ns.div_euclid(SECOND_NS);
        let (year, month, day) = civil_from_days(seconds.div_euclid(DAY_S));
        let of_day = seconds.rem_euclid(DAY_S);
        Civil {
            year,
            month,
            day,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            nanosecond: ns.rem_euclid(SECOND_NS),
        }
    }

    /// Nanoseconds from the epoch; `None` if that is no time, or out of range.
    pub fn to_ns(self) -> Option<i64> {
        let Civil { year, month, day, hour, minute, second, nanosecond } = self;
        let exists = (0..=9_999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=month_days(year, month)).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..SECOND_NS).contains(&nanosecond);
        if !exists {
            return None;
        }
        let seconds =
            days_from_civil(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second;
        let ns = i128::from(seconds) * i128::from(SECOND_NS) + i128::from(nanosecond);
        i64::try_from(ns).ok()
    }

    /// The day of the year, from 1.
    fn day_of_year(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day) - days_from_civil(self.year, 1, 1) + 1
    }
}

/// The conversions of a time format, for documents and errors.
pub const FORMAT_LETTERS: &str = "%Y %m %d %H %M %S %N %j %F %T %s %%";

/// Why a text is no format of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormatError {
    /// No conversion has this letter.
    Letter(char),
    /// It ends with a percent sign.
    Unfinished,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::Letter(letter) => write!(f, "`%{letter}` is none of {FORMAT_LETTERS}"),
            FormatError::Unfinished => f.write_str("a `%` at the end"),
        }
    }
}

impl std::error::Error for FormatError {}

/// A time as text: RFC 3339 in UTC, with 9 decimals.
pub fn rfc3339(ns: i64) -> String {
    let mut out = String::new();
    // The pattern is right.
    let _ = push_formatted(&mut out, ns, "%FT%T.%NZ");
    out
}

/// Appends a time, in UTC, as `pattern` says: `%Y` year, `%m` month, `%d` day, `%H` hour, `%M`
/// minute, `%S` second, `%N` nanoseconds with 9 digits, `%j` day of the year, `%F` for
/// `%Y-%m-%d`, `%T` for `%H:%M:%S`, `%s` seconds since the epoch, `%%` a percent sign; anything
/// else is copied.
///
/// # Errors
/// What follows a percent sign is none of these.
pub fn push_formatted(out: &mut String, ns: i64, pattern: &str) -> Result<(), FormatError> {
    let civil = Civil::from_ns(ns);
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        // Writing to a string cannot fail.
        let _ = match characters.next() {
            Some('Y') => write!(out, "{:04}", civil.year),
            Some('m') => write!(out, "{:02}", civil.month),
            Some('d') => write!(out, "{:02}", civil.day),
            Some('H') => write!(out, "{:02}", civil.hour),
            Some('M') => write!(out, "{:02}", civil.minute),
            Some('S') => write!(out, "{:02}", civil.second),
            Some('N') => write!(out, "{:09}", civil.nanosecond),
            Some('j') => write!(out, "{:03}", civil.day_of_year()),
            Some('F') => {
                let Civil { year, month, day, .. } = civil;
                write!(out, "{year:04}-{month:02}-{day:02}")
            }
            Some('T') => {
                let Civil { hour, minute, second, .. } = civil;
                write!(out, "{hour:02}:{minute:02}:{second:02}")
            }
            Some('s') => write!(out, "{}", ns.div_euclid(SECOND_NS)),
            Some('%') => out.write_char('%'),
            Some(other) => return Err(FormatError::Letter(other)),
            None => return Err(FormatError::Unfinished),
        };
    }
    Ok(())
}

/// The time that a text of RFC 3339 is: `2026-11-24T12:00:00.5+01:00`; decimals may be left out,
/// those after the ninth are dropped, and a blank may replace the `T`.
///
/// `None` if it is none, or out of range. A leap second is the second before it.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |at: usize, length: usize| -> Option<i64> {
        let digits = bytes.get(at..at + length)?;
        digits.iter().try_fold(0, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
        })
    };
    let sign = |at: usize, signs: &[u8]| bytes.get(at).filter(|byte| signs.contains(byte));
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, mut second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    sign(4, b"-").and(sign(7, b"-")).and(sign(10, b"Tt ")).and(sign(13, b":"))?;
    sign(16, b":")?;
    if (hour, minute, second) == (23, 59, 60) {
        second = 59;
    }
    let mut at = 19;
    let mut nanosecond = 0;
    if sign(at, b".").is_some() {
        let decimals = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let kept = decimals.min(9);
        nanosecond = number(at + 1, kept).filter(|_| kept > 0)? * 10i64.pow(9 - kept as u32);
        at += 1 + decimals;
    }
    let offset_s = match bytes.get(at)? {
        b'Z' | b'z' if bytes.len() == at + 1 => 0,
        sign_of @ (b'+' | b'-') if bytes.len() == at + 6 && bytes[at + 3] == b':' => {
            let (hours, minutes) = (number(at + 1, 2)?, number(at + 4, 2)?);
            let seconds = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60)?;
            if *sign_of == b'-' { -seconds } else { seconds }
        }
        _ => return None,
    };
    let civil = Civil { year, month, day, hour, minute, second, nanosecond };
    civil.to_ns()?.checked_sub(offset_s * SECOND_NS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The date `days` days from the epoch, by counting.
    fn counted(days: i64) -> (i64, i64, i64) {
        let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = |year: i64, month: i64| match month {
            2 if is_leap(year) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let (mut year, mut month, mut left) = (1970, 1, days);
        while left < 0 {
            (year, month) = if month == 1 { (year - 1, 12) } else { (year, month - 1) };
            left += length(year, month);
        }
        while left >= length(year, month) {
            left -= length(year, month);
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
        (year, month, left + 1)
    }

    #[test]
    fn every_day_of_the_range_is_as_counted() {
        // Counting afresh each time takes too long: each day is counted from the one before.
        let (first, last) = (i64::MIN / SECOND_NS / DAY_S - 1, i64::MAX / SECOND_NS / DAY_S);
        let first = if cfg!(miri) { last - 500 } else { first };
        let mut expected = counted(first);
        for days in first..=last {
            assert_eq!(civil_from_days(days), expected, "{days}");
            let (year, month, day) = expected;
            assert_eq!(days_from_civil(year, month, day), days);
            expected = if day == month_days(year, month) {
                counted(days + 1)
            } else {
                (year, month, day + 1)
            };
        }
    }

    #[test]
    fn texts_of_rfc_3339() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01t00:00:00.000000001z", Some(1)),
            ("1970-01-01 01:00:00.5+01:00", Some(500_000_000)),
            ("1969-12-31T23:59:59.9999999999-00:00", Some(-1)),
            ("2262-04-11T23:47:16.854775807Z", Some(i64::MAX)),
            ("1677-09-21T00:12:43.145224192Z", Some(i64::MIN)),
            ("2262-04-11T23:47:16.854775808Z", None),
            ("2000-02-29T00:00:00Z", Some(951_782_400 * SECOND_NS)),
            ("1900-02-29T00:00:00Z", None),
            ("2016-12-31T23:59:60Z", Some(1_483_228_799 * SECOND_NS)),
            ("2016-12-31T23:58:60Z", None),
            ("2000-00-01T00:00:00Z", None),
            ("2000-13-01T00:00:00Z", None),
            ("2000-01-01T24:00:00Z", None),
            ("2000-01-01T00:00:00", None),
            ("2000-01-01T00:00:00.Z", None),
            ("2000-01-01T00:00:00+0100", None),
            ("2000-01-01T00:00:00+01.00", None),
            ("2000-01-01T00:00:00+01:000", None),
            ("2000-01-01T00:00:00+24:00", None),
            ("2000-1-01T00:00:00Z", None),
            ("+000-01-01T00:00:00Z", None),
            ("2000-01-01T00:00:00Zx", None),
            ("", None),
            ("ü", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_rfc3339(text), expected, "{text}");
        }
    }

    #[test]
    fn patterns() {
        let format = |pattern: &str| {
            let mut out = String::new();
            push_formatted(&mut out, 951_782_399_000_000_042, pattern).map(|()| out)
        };
        assert_eq!(format("%Y%m%d-%H").as_deref(), Ok("20000228-23"));
        assert_eq!(
            format("%F %T.%N %j %s %%é").as_deref(),
            Ok("2000-02-28 23:59:59.000000042 059 951782399 %é")
        );
        let error = |pattern| format(pattern).map_err(|error| error.to_string());
        let letters = "`%q` is none of %Y %m %d %H %M %S %N %j %F %T %s %%";
        assert_eq!(error("%q"), Err(letters.to_owned()));
        assert_eq!(error("%"), Err("a `%` at the end".to_owned()));
    }

    proptest! {
        #[test]
        fn times_survive(ns in any::<i64>()) {
            prop_assert_eq!(Civil::from_ns(ns).to_ns(), Some(ns));
            prop_assert_eq!(parse_rfc3339(&rfc3339(ns)), Some(ns));
        }

        #[test]
        fn no_text_is_too_strange(text in "[0-9TZ:.+ -]{0,32}|.{0,32}") {
            if let Some(ns) = parse_rfc3339(&text) {
                prop_assert_eq!(parse_rfc3339(&rfc3339(ns)), Some(ns));
            }
        }
    }
}
