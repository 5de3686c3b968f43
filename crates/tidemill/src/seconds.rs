//! The form of times in output.

use std::fmt;

/// A second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds as seconds with 6 decimals, truncated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seconds(pub u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000_000, self.0 % 1_000_000_000 / 1000)
    }
}
