//! Simulated faults of time: clocks of nodes that differ from that of the loop, and turns that are
//! slow or paused.

use tidemill_event::Time;

/// The difference between the clock of a node and that of the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Skew {
    /// It is ahead by this, nanoseconds.
    pub offset_ns: i64,
    /// The clock gains this number of millionths.
    pub drift_ppm: i64,
    /// From here on the drift counts.
    pub since: Time,
}

/// A million.
const MILLION: i128 = 1_000_000;

impl Skew {
    /// The time of this clock at a time of the loop's.
    fn wall(self, now: Time, wall_ns: i64) -> i64 {
        let passed = i128::from(now.0.saturating_sub(self.since.0));
        let gained = passed * i128::from(self.drift_ppm) / MILLION;
        let wall = i128::from(wall_ns) + i128::from(self.offset_ns) + gained;
        wall.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// The length of a span of this clock on that of the loop.
    fn span_ns(self, ns: u64) -> u64 {
        let rate = (MILLION + i128::from(self.drift_ppm)).max(1);
        (i128::from(ns) * MILLION / rate).min(u64::MAX.into()) as u64
    }
}

/// The faults of time of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    pub(super) skew: Skew,
    /// The time that each turn takes.
    pub(super) turn_ns: u64,
    /// No turn begins before this time.
    pub(super) until: Time,
    /// Events of the loop that were deferred.
    pub(super) waiting: usize,
    /// A timer that resumes them is set.
    pub(super) is_armed: bool,
}

/// Whether a turn may begin.
#[derive(Clone, Copy, Debug)]
pub(super) enum May {
    /// It begins, at this time of the node's clock.
    Begin { wall_ns: i64 },
    /// It must wait.
    Wait,
}

impl Pace {
    /// The same after a restart: a slow machine is still slow, and a wrong clock wrong.
    pub(super) fn of_next_life(&self) -> Pace {
        Pace { skew: self.skew, turn_ns: self.turn_ns, ..Pace::default() }
    }

    /// Asks whether a turn may begin.
    pub(super) fn begin(&mut self, now: Time, wall_ns: i64) -> May {
        if now < self.until {
            self.waiting += 1;
            return May::Wait;
        }
        self.until = Time(now.0.saturating_add(self.turn_ns));
        May::Begin { wall_ns: self.skew.wall(now, wall_ns) }
    }

    /// Takes the number of deferred events that may run now.
    pub(super) fn release(&mut self) -> usize {
        let count = if self.turn_ns > 0 { self.waiting.min(1) } else { self.waiting };
        self.waiting -= count;
        count
    }

    /// The length of a span of the node's clock on that of the loop.
    pub(super) fn span_ns(&self, ns: u64) -> u64 {
        self.skew.span_ns(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_be_ahead_and_gain() {
        let skew = Skew { offset_ns: -500, drift_ppm: 100_000, since: Time(1000) };
        assert_eq!(skew.wall(Time(1000), 1000), 500);
        assert_eq!(skew.wall(Time(2000), 2000), 1600);
        assert_eq!(skew.span_ns(1100), 1000);
        assert_eq!(Skew::default().span_ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn turns_wait_for_each_other() {
        let mut pace = Pace { turn_ns: 10, ..Pace::default() };
        assert!(matches!(pace.begin(Time(5), 5), May::Begin { wall_ns: 5 }));
        assert!(matches!(pace.begin(Time(14), 14), May::Wait));
        assert!(matches!(pace.begin(Time(14), 14), May::Wait));
        assert_eq!((pace.release(), pace.release(), pace.release()), (1, 1, 0));
        assert!(matches!(pace.begin(Time(15), 15), May::Begin { .. }));
    }
}
