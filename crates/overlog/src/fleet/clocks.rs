//! The clock of the loop, and the wall clock.

use tidemill_event::Loop;

/// Two clocks at one time.
#[derive(Clone, Copy)]
pub(super) struct Clocks {
    pub(super) now_ns: u64,
    /// Since the epoch.
    pub(super) wall_ns: i64,
}

impl Clocks {
    pub(super) fn of<W: 'static>(events: &mut Loop<W>) -> Clocks {
        Clocks { now_ns: events.now().0, wall_ns: events.wall() }
    }

    /// Converts a time on the clock of the loop to the wall clock, since the epoch.
    pub(super) fn wall_of(self, at_ns: u64) -> i64 {
        let ago = i64::try_from(self.now_ns.saturating_sub(at_ns)).unwrap_or(i64::MAX);
        self.wall_ns.saturating_sub(ago)
    }
}
