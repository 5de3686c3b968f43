//! Points in time: nanoseconds since the host's start, never since an epoch.
//!
//! There is one unit. Spans are `std::time::Duration`, so a number without a unit never
//! travels between two functions; the wall clock is a separate `i64` and no `Time`.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Nanoseconds since the start of the loop's host: monotonic, 0 at the start of a simulation.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The host's start.
    pub const ZERO: Time = Time(0);
    /// Later than every deadline (584 years).
    pub const MAX: Time = Time(u64::MAX);

    /// The point `secs` seconds after the start; negative and NaN give 0, too large gives `MAX`.
    pub fn from_secs_f64(secs: f64) -> Time {
        // The cast saturates and turns NaN into 0.
        Time((secs * 1e9).round() as u64)
    }

    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time since `earlier`; zero if this is before it.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Whole nanoseconds of a span, at most `u64::MAX`.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Time {
    type Output = Time;
    /// Saturates: a deadline beyond the end of time is `Time::MAX`.
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(nanos(span)))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Duration;
    /// Saturates at zero, as [`Time::since`].
    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Debug for Time {
    /// Seconds with nine decimals: `1.500000000s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_nanoseconds_everywhere() {
        assert_eq!(Time::ZERO + Duration::from_millis(3), Time(3_000_000));
        assert_eq!(Time::ZERO + Duration::from_micros(3), Time(3_000));
        assert_eq!(Time(3_000_000) - Time(1), Duration::from_nanos(2_999_999));
        assert_eq!(Time::from_secs_f64(1.5), Time(1_500_000_000));
        assert_eq!(format!("{:?}", Time(1_500_000_001)), "1.500000001s");
    }

    #[test]
    fn the_ends_of_time_saturate() {
        assert_eq!(Time::MAX + Duration::from_secs(1), Time::MAX);
        assert_eq!(Time(1) - Time(2), Duration::ZERO);
        assert_eq!(Time::from_secs_f64(-1.0), Time::ZERO);
        assert_eq!(Time::from_secs_f64(f64::NAN), Time::ZERO);
    }
}
