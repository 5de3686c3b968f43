//! The costs of rules: their runs, derivations, rows read, and time.
//!
//! Costs are measured only while a caller asks for them, by a clock that the caller brings: nothing
//! here reads one of its own.

use std::ops::AddAssign;

/// A monotonic clock: nanoseconds since any fixed point.
pub type Clock = fn() -> u64;

/// The cost of a rule, or of a part of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Tuples that started it; of a view, the rows of its body that came or went.
    pub fired: u64,
    /// Tuples that it derived; of a view, also those that it took back.
    pub derived: u64,
    /// Rows that its look-ups and scans examined, without those that started it.
    pub probes: u64,
    /// The run time in nanoseconds.
    pub ns: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.fired += other.fired;
        self.derived += other.derived;
        self.probes += other.probes;
        self.ns += other.ns;
    }
}
