//! The counters of a loop.

use std::time::Duration;

/// Counters of a loop since its start; longest spans are exact, not sampled.
#[derive(Clone, Debug, Default)]
pub struct LoopStats {
    /// Turns finished.
    pub turns: u64,
    /// Closures run in them: events, deferred calls, actions, and checkpoints charged.
    pub steps: u64,
    /// Times a turn was suspended because its slice was over.
    pub suspensions: u64,
    /// Turns ended early because they queued more than the limit.
    pub turns_abandoned: u64,
    /// Closures dropped with them.
    pub dropped_calls: u64,
    /// Events refused because the queue was full.
    pub dropped_events: u64,
    /// Closures dropped because their scope had ended.
    pub dropped_ended: u64,
    /// Events dropped with their owner.
    pub discarded_events: u64,
    /// The longest the event queue has been.
    pub queue_high_water: usize,
    /// Polls of the descriptors without waiting.
    pub polls: u64,
    /// Polls of the descriptors that were allowed to wait.
    pub waits: u64,
    /// Waits ended by a signal.
    pub interrupts: u64,
    /// Reports of descriptors handled.
    pub served: u64,
    /// Errors of descriptors reported.
    pub errors: u64,
    /// Timers fired.
    pub timers: u64,
    /// Periods of repeating timers skipped because the loop was too late.
    pub periods_missed: u64,
    /// The latest a timer has fired after its deadline.
    pub timer_late_max: Duration,
    /// Closures taken over from other threads.
    pub remote: u64,
    /// Closures from other threads refused because their queue was full.
    pub dropped_remote: u64,
    /// By kind of owner, in the order the kinds were first named; the loop itself first.
    pub kinds: Vec<KindStats>,
}

/// Counters of the turns of one kind of owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindStats {
    /// As given to [`Loop::owner`](crate::Loop::owner).
    pub kind: String,
    /// Turns finished.
    pub turns: u64,
    /// Closures run in them.
    pub steps: u64,
    /// Time they took.
    pub total: Duration,
    /// The longest turn, over all its slices.
    pub longest: Duration,
    /// The most closures of one turn.
    pub steps_max: u64,
    /// The longest an event has waited for its turn.
    pub delay_max: Duration,
}

impl LoopStats {
    /// The longest an event of any owner has waited for its turn.
    pub fn delay_max(&self) -> Duration {
        self.kinds.iter().map(|kind| kind.delay_max).max().unwrap_or_default()
    }
}
