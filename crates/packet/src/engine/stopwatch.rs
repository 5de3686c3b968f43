//! Measures the time of breaths, and of apps in some of them.

/// A clock of the machine, in ns.
type Clock = fn() -> u64;

/// Calls of the engine of which one begins with a measured breath.
pub(super) const EVERY: u32 = 16;

/// Measures the time of apps.
#[derive(Debug)]
pub(super) struct Stopwatch {
    pub(super) clock: Clock,
    /// When it ends, as the engine knows the time.
    pub(super) until_ns: u64,
    /// The time of breaths since the last measured one.
    pub(super) breaths_ns: u64,
    /// Calls since then.
    pub(super) calls: u32,
    /// The breath that is taken is measured.
    pub(super) is_measuring: bool,
}

impl Stopwatch {
    /// Measures until `until_ns`, first the next call.
    pub(super) fn new(clock: Clock, until_ns: u64) -> Stopwatch {
        Stopwatch { clock, until_ns, breaths_ns: 0, calls: EVERY, is_measuring: false }
    }

    /// What measures the breath that is taken.
    pub(super) fn lap(&self) -> Lap {
        Lap(self.is_measuring.then_some(self.clock))
    }
}

/// Measures parts of a breath, if that is to be measured.
#[derive(Clone, Copy)]
pub(super) struct Lap(Option<Clock>);

impl Lap {
    /// Measures nothing.
    pub(super) const NONE: Lap = Lap(None);

    /// Does this, and adds the time that it takes to `ns`.
    #[inline(always)]
    pub(super) fn of<R>(self, ns: &mut u64, work: impl FnOnce() -> R) -> R {
        let Some(clock) = self.0 else { return work() };
        let begun = clock();
        let result = work();
        *ns += clock().saturating_sub(begun);
        result
    }
}
