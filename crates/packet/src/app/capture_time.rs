//! When packets of captures are due.

/// When packets of captures are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaptureTime {
    /// The time of a packet, in nanoseconds since the epoch,
    pub wall_ns: i64,
    /// and when it is due, in nanoseconds of the event loop.
    pub loop_ns: u64,
}

impl CaptureTime {
    /// When a packet of this time is due.
    pub fn due_ns(self, time_ns: i64) -> u64 {
        let after = i128::from(time_ns) - i128::from(self.wall_ns);
        u64::try_from(i128::from(self.loop_ns) + after.max(0)).unwrap_or(u64::MAX)
    }
}
