//! The loop's entry for a timer: `T` is a closure to run once, `H` one to run repeatedly.

use std::time::Duration;

use crate::scope::Scope;

/// A timer of a scope.
pub(crate) struct TimerEntry<T, H> {
    pub(crate) scope: Scope,
    pub(crate) alarm: Alarm<T, H>,
}

/// The action of a timer.
pub(crate) enum Alarm<T, H> {
    /// Runs once; the timer is gone before it does.
    Once(T),
    /// Rests until armed again, at once if it has a period. The handler is absent while it runs.
    Lasting { handler: Option<H>, period: Option<Duration> },
}
