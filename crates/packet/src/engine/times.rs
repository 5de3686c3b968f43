//! The time that each app takes, measured while it is read.
//!
//! Native code runs apps into each other and knows no time of a single one. So the time of all
//! breaths is measured as a whole, and one breath in some is taken by the loop, which measures
//! every app: the time since the last such breath is divided in its proportions. The times of all
//! apps together are therefore those of the graph, also of what lies between apps.

use super::stopwatch::{EVERY, Lap, Stopwatch};
use super::{Engine, Rest};

impl Engine {
    /// Measures the time that apps take, by a clock in ns, until `until_ns`, a time as of
    /// [`set_time`](Engine::set_time).
    pub fn measure_apps(&mut self, clock: fn() -> u64, until_ns: u64) {
        match &mut self.stopwatch {
            Some(stopwatch) => stopwatch.until_ns = until_ns,
            None => self.stopwatch = Some(Stopwatch::new(clock, until_ns)),
        }
    }

    /// The time that an app has taken while it was measured, in ns; none if it never was.
    pub fn app_ns(&self, app: &str) -> Option<u64> {
        let is_measured = self.stopwatch.is_some() || self.slots.iter().any(|it| it.spent_ns > 0);
        let slot = self.slots.iter().find(|slot| slot.name == app);
        slot.filter(|_| is_measured).map(|slot| slot.spent_ns)
    }

    /// What measures a breath by the loop.
    #[inline]
    pub(super) fn lap(&self) -> Lap {
        self.stopwatch.as_ref().map_or(Lap::NONE, Stopwatch::lap)
    }

    /// Takes breaths as [`take_unmeasured`](Engine::take_unmeasured) does, and measures them.
    #[cold]
    pub(super) fn take_measured(&mut self, breaths: u64, idle: u64, packets: u64) -> (Rest, u64) {
        let Some(stopwatch) = &mut self.stopwatch else {
            return self.take_unmeasured(breaths, idle, packets);
        };
        if stopwatch.until_ns < self.common.now_ns.get() {
            self.stopwatch = None;
            return self.take_unmeasured(breaths, idle, packets);
        }
        let begun = (stopwatch.clock)();
        stopwatch.calls += 1;
        let taken = if stopwatch.calls > EVERY {
            self.take_with_laps(breaths, idle, packets)
        } else {
            self.take_unmeasured(breaths, idle, packets)
        };
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.breaths_ns += (stopwatch.clock)().saturating_sub(begun);
        }
        taken
    }

    /// Takes breaths, of which the first is by the loop and measures each app.
    fn take_with_laps(&mut self, breaths: u64, idle: u64, packets: u64) -> (Rest, u64) {
        let freed = self.common.pool.freed();
        self.set_measuring(true);
        let (rest, has_moved) = self.breathe_by_loop();
        self.set_measuring(false);
        self.divide();
        let packets = packets.saturating_sub(self.common.pool.freed() - freed);
        if breaths <= 1 || packets == 0 || !has_moved && idle <= 1 {
            return (rest, 1);
        }
        let (rest, more) = self.take_unmeasured(breaths - 1, idle.saturating_sub(1), packets);
        (rest, more + 1)
    }

    fn set_measuring(&mut self, is_measuring: bool) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.is_measuring = is_measuring;
        }
    }

    /// Divides the time since the last measured breath among the apps; where that breath had
    /// nothing to do, the next one divides it.
    fn divide(&mut self) {
        let Some(stopwatch) = &mut self.stopwatch else { return };
        let laps_ns: u64 = self.slots.iter().map(|slot| slot.breath_ns).sum();
        if laps_ns == 0 {
            return;
        }
        stopwatch.calls = 0;
        // The first has only itself.
        let breaths_ns = std::mem::take(&mut stopwatch.breaths_ns).max(laps_ns);
        for slot in &mut self.slots {
            let lap_ns = std::mem::take(&mut slot.breath_ns);
            let share = u128::from(breaths_ns) * u128::from(lap_ns) / u128::from(laps_ns);
            slot.spent_ns += share as u64;
        }
    }
}
