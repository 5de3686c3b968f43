//! Numbers of scripts and of the command line: times, probabilities, ranges.

use std::time::Duration;

use tidemill_diag::text::number::{BadNumber, nanoseconds};
use tidemill_event::Shape;

use super::error::NumberError;

/// Seconds with up to 9 decimals, as nanoseconds: exactly, without going through a double.
///
/// ```
/// assert_eq!(tidemill::script::seconds("1.5"), Ok(1_500_000_000));
/// assert!(tidemill::script::seconds("-1").is_err());
/// ```
///
/// # Errors
/// The expected form.
pub fn seconds(text: &str) -> Result<u64, NumberError> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    match nanoseconds(whole, decimals) {
        Ok(ns) if ns <= i64::MAX as u64 => Ok(ns),
        Ok(_) | Err(BadNumber::TooLarge) => Err(NumberError::TooLong(text.to_owned())),
        Err(_) => Err(NumberError::Seconds(text.to_owned())),
    }
}

/// Nanoseconds in the form of [`seconds`], with as few decimals as possible.
///
/// ```
/// assert_eq!(tidemill::script::seconds_text(2_500_000_000), "2.5");
/// assert_eq!(tidemill::script::seconds_text(60_000_000_000), "60");
/// ```
pub fn seconds_text(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A positive number of seconds in the form of [`seconds`], as nanoseconds.
///
/// # Errors
/// The expected form.
pub fn some_seconds(text: &str) -> Result<u64, NumberError> {
    seconds(text).and_then(some)
}

/// A positive number of milliseconds with decimals, as nanoseconds.
///
/// # Errors
/// The expected form.
pub fn some_milliseconds(text: &str) -> Result<u64, NumberError> {
    milliseconds(text).and_then(some)
}

fn some(ns: u64) -> Result<u64, NumberError> {
    if ns == 0 { Err(NumberError::NoTime) } else { Ok(ns) }
}

/// A seed of random numbers.
///
/// # Errors
/// The expected form.
pub fn seed(text: &str) -> Result<u64, NumberError> {
    text.parse().map_err(|_| NumberError::Seed(text.to_owned()))
}

/// A number of nodes.
///
/// # Errors
/// The expected form.
pub fn nodes(text: &str) -> Result<u32, NumberError> {
    match text.parse() {
        Ok(nodes @ 1..=1_000_000) => Ok(nodes),
        _ => Err(NumberError::Nodes(text.to_owned())),
    }
}

/// A probability from 0 to 1.
///
/// # Errors
/// The expected form.
pub fn probability(text: &str) -> Result<f64, NumberError> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| (0.0..=1.0).contains(number))
        .ok_or_else(|| NumberError::Probability(text.to_owned()))
}

/// A [`latency`] with the shape of its distribution: `A..B`, `A..B:tail` or `A..B:bimodal`.
///
/// # Errors
/// The expected form.
pub fn latency_of_shape(text: &str) -> Result<(Duration, Duration, Shape), NumberError> {
    let (range, shape) = match text.split_once(':') {
        None => (text, Shape::Uniform),
        Some((range, "uniform")) => (range, Shape::Uniform),
        Some((range, "tail")) => (range, Shape::Tail),
        Some((range, "bimodal")) => (range, Shape::Bimodal),
        Some((_, shape)) => return Err(NumberError::Shape(shape.to_owned())),
    };
    latency(range).map(|(least, most)| (least, most, shape))
}

/// A latency in the form of [`latency_of_shape`].
pub fn latency_text((least, most): (u64, u64), shape: Shape) -> String {
    // The text is in milliseconds: prints the digits of a thousandfold number of seconds.
    let [least, most] = [least, most].map(|ns| seconds_text(ns.saturating_mul(1000)));
    let shape = match shape {
        Shape::Uniform => "",
        Shape::Tail => ":tail",
        Shape::Bimodal => ":bimodal",
    };
    format!("{least}..{most}{shape}")
}

/// Milliseconds with decimals, as nanoseconds.
pub(super) fn milliseconds(text: &str) -> Result<u64, NumberError> {
    let wrong = |_| NumberError::Milliseconds(text.to_owned());
    seconds(text).map(|ns| ns / 1000).map_err(wrong)
}

/// Seconds with an optional sign, as nanoseconds.
pub(super) fn signed_seconds(text: &str) -> Result<i64, NumberError> {
    let (digits, sign) = text.strip_prefix('-').map_or((text, 1), |digits| (digits, -1));
    seconds(digits).map(|ns| sign * ns.cast_signed())
}

/// Nanoseconds in the form of [`signed_seconds`].
pub fn signed_seconds_text(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", seconds_text(ns.unsigned_abs()))
}

/// `A..B` in milliseconds with decimals, both ends included; a single number is both ends.
///
/// # Errors
/// The expected form.
pub fn latency(text: &str) -> Result<(Duration, Duration), NumberError> {
    let wrong = || NumberError::Latency(text.to_owned());
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let milliseconds = |part: &str| {
        // The text is in milliseconds: a thousandth of the same digits as seconds.
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
