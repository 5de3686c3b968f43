//! Numbers of scripts and of the command line: times, probabilities, ranges.

use std::time::Duration;

use tidemill_diag::text::number::{BadNumber, nanoseconds};

/// Seconds with up to 9 decimals, as nanoseconds: exactly, without going through a double.
///
/// ```
/// assert_eq!(tidemill::script::seconds("1.5"), Ok(1_500_000_000));
/// assert!(tidemill::script::seconds("-1").is_err());
/// ```
///
/// # Errors
/// What is expected instead.
pub fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no time: seconds with up to 9 decimals, such as `2.5`");
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    match nanoseconds(whole, decimals) {
        Ok(ns) if ns <= i64::MAX as u64 => Ok(ns),
        Ok(_) | Err(BadNumber::TooLarge) => Err(format!("`{text}` is over 292 years")),
        Err(_) => Err(wrong()),
    }
}

/// Nanoseconds as [`seconds`] reads them, with no more decimals than it takes.
///
/// ```
/// assert_eq!(tidemill::script::seconds_text(2_500_000_000), "2.5");
/// assert_eq!(tidemill::script::seconds_text(60_000_000_000), "60");
/// ```
pub fn seconds_text(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A probability from 0 to 1.
///
/// # Errors
/// What is expected instead.
pub fn probability(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| (0.0..=1.0).contains(number))
        .ok_or_else(|| format!("`{text}` is no probability: a number from 0 to 1"))
}

/// `A..B` in milliseconds with decimals, both ends included; a single number is both ends.
///
/// # Errors
/// What is expected instead.
pub fn latency(text: &str) -> Result<(Duration, Duration), String> {
    let wrong = || format!("`{text}` is no latency: milliseconds A..B with A <= B, such as 10..50");
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let milliseconds = |part: &str| {
        // A thousandth of what the same digits are as seconds.
        seconds(part.trim()).map(|ns| Duration::from_nanos(ns / 1000)).map_err(|_| wrong())
    };
    let (least, most) = (milliseconds(least)?, milliseconds(most)?);
    if least <= most { Ok((least, most)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(seconds("0"), Ok(0));
        assert_eq!(seconds("0.000000001"), Ok(1));
        assert_eq!(seconds("3840"), Ok(3_840_000_000_000));
        for wrong in ["", "1.", ".5", "1e3", "-1", "1.0000000001", "inf", "99999999999"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn latencies_are_ranges_of_milliseconds() {
        let ms = Duration::from_millis;
        assert_eq!(latency("10..50"), Ok((ms(10), ms(50))));
        assert_eq!(latency("7"), Ok((ms(7), ms(7))));
        assert_eq!(latency("0.5..1"), Ok((Duration::from_micros(500), ms(1))));
        assert!(latency("5..1").is_err());
        assert!(latency("a..b").is_err());
    }

    #[test]
    fn probabilities_lie_between_0_and_1() {
        assert_eq!(probability("0.25"), Ok(0.25));
        for wrong in ["1.01", "-0.1", "nan", "x"] {
            assert!(probability(wrong).is_err(), "{wrong}");
        }
    }
}
