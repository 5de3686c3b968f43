//! How long to poll before sleeping, learnt from how long answers take.
//!
//! A sleep and a wake-up cost more than most answers take, so who waits for an answer first looks
//! for it for a short while. The span grows while sleeps turn out to be short, and shrinks to
//! nothing when they are long: a program that has nothing to do burns nothing. Where answers keep
//! coming just after the longest span, polling rests, each time for longer.
//!
//! It reads no clock: its user does, and tells.

use std::time::Duration;

/// The first span.
const SPAN_NS: u64 = 10_000;
/// The longest span. It is also the most that a poll can hold anything else up.
const SPAN_NS_MAX: u64 = 50_000;
/// Shorter sleeps, the poll before and the wake-up included, would have been spared by polling,
/// or nearly.
const SHORT_NS: u64 = 2 * SPAN_NS_MAX;
/// Waits without a poll after polls of the longest span in vain: first, and at most.
const RESTS: u32 = 4;
/// Hints to the processor between two looks, some 15 ns each.
const PAUSES: u32 = 6;
const RESTS_MAX: u32 = 1024;

/// What was learnt.
#[derive(Clone, Debug)]
pub struct Patience {
    span_ns: u64,
    /// Waits without a poll that are left, and how many there were the last time.
    resting: u32,
    rests: u32,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { span_ns: SPAN_NS, resting: 0, rests: 0 }
    }
}

impl Patience {
    /// How long to poll now; nothing means to sleep at once.
    pub fn span(&self) -> Duration {
        Duration::from_nanos(if self.resting > 0 { 0 } else { self.span_ns })
    }

    /// What was waited for came during the poll.
    pub fn has_paid(&mut self) {
        self.rests = 0;
    }

    /// It came after a sleep: the whole wait took so long.
    pub fn has_slept(&mut self, took: Duration) {
        if self.resting > 0 {
            self.resting -= 1;
        } else if took.as_nanos() >= u128::from(SHORT_NS) {
            self.span_ns = if self.span_ns < 2000 { 0 } else { self.span_ns / 2 };
        } else if self.span_ns < SPAN_NS_MAX {
            self.span_ns = (2 * self.span_ns).clamp(SPAN_NS, SPAN_NS_MAX);
        } else {
            self.rests = (2 * self.rests).clamp(RESTS, RESTS_MAX);
            self.resting = self.rests;
        }
    }
}

/// Between two looks: each takes the line of memory away from who is about to write it.
pub fn pause() {
    for _ in 0..PAUSES {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What waits of these lengths cost in polling, microseconds each.
    fn polled(waits_us: impl Iterator<Item = u64>) -> u64 {
        let mut patience = Patience::default();
        let mut sum = 0;
        for wait in waits_us {
            let (span, wait) = (patience.span(), Duration::from_micros(wait));
            sum += span.min(wait).as_micros() as u64;
            match wait <= span {
                true => patience.has_paid(),
                false => patience.has_slept(wait),
            }
        }
        sum
    }

    #[test]
    fn short_waits_are_polled_through() {
        // All but the first, which teaches it.
        assert_eq!(polled(std::iter::repeat_n(15, 1000)), 10 + 999 * 15);
        assert_eq!(polled(std::iter::repeat_n(3, 1000)), 3000);
    }

    #[test]
    fn long_waits_cost_nothing_in_the_end() {
        assert!(polled(std::iter::repeat_n(1000, 1_000_000)) < 30);
    }

    #[test]
    fn waits_just_too_long_cost_little() {
        assert!(polled(std::iter::repeat_n(80, 100_000)) < 100_000 * 80 / 1000);
    }

    #[test]
    fn what_was_given_up_is_tried_again() {
        let long = std::iter::repeat_n(100_000, 1000);
        let short = std::iter::repeat_n(10, 1000);
        assert!(polled(long.chain(short)) > 9000);
    }
}
