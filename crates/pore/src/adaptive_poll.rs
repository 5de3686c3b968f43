//! Adaptive polling: how long to poll before sleeping, learnt from how long answers take.
//!
//! A sleep and a wake-up cost more than most answers take, so a waiter polls for a short span
//! first. The span grows while waits turn out to be short, and shrinks to nothing when they are
//! long: an idle program burns nothing.
//!
//! Polls of any length can be fruitless: answers keep arriving just after the longest span, or they
//! arrive *because* the poll has ended, where both sides share one processor and each polls at the
//! cost of the other. So a fruitless poll costs credit and a successful one earns it. Out of
//! credit, the waiter skips polling for an exponentially growing number of waits.
//!
//! A waiter that has polled for a moment yields its processor, as the other side may wait for this
//! very one. If another thread took it, that counts like a fruitless poll, more or less: a waiter
//! that sleeps instead may be woken on a processor of its own.
//!
//! The policy takes times as arguments and reads no clock.

use std::time::Duration;

/// The first span: enough for the other side to be woken and to answer, so that the first waits
/// are none that have to teach it that.
const SPAN_NS: u64 = 100_000;
/// The longest span: what two wake-ups may cost, of the other side and then of ours, where idle
/// processors have to be woken by a hypervisor. With a shorter one, two sides that sleep would
/// never find each other awake.
const SPAN_NS_MAX: u64 = 200_000;
/// Shorter waits, the poll and the wake-up included, would have been spared the wake-up by
/// polling, or nearly.
const SHORT_NS: u64 = 2 * SPAN_NS_MAX;
/// Successful polls that make up for a fruitless one.
const DEBT: u32 = 4;
/// With more debt polling is suspended.
const DEBT_MAX: u32 = 6 * DEBT;
/// Waits without a poll while polling is suspended: the first time, and at most.
const SUSPENDED_WAITS: u32 = 4;
const SUSPENDED_WAITS_MAX: u32 = 1024;
/// Most answers take less; from then on a poll yields the processor between looks.
const YIELD_AFTER_NS: u64 = 3000;
/// A yield that took longer than this gave the processor to another thread; one that took longer
/// than that, to one that is not the other side.
const TAKEN_NS: u64 = 2000;
const TAKEN_LONG_NS: u64 = 500_000;
/// Hints to the processor between two looks, some 15 ns each, at most.
const PAUSES: u32 = 6;

/// The policy of one waiter, and what it has learnt.
#[derive(Clone, Debug)]
pub struct AdaptivePoll {
    span_ns: u64,
    /// Successful polls that are due for those that were fruitless.
    debt: u32,
    /// Waits without a poll that are left, and how many there were the last time.
    suspended: u32,
    suspended_last: u32,
}

impl Default for AdaptivePoll {
    fn default() -> AdaptivePoll {
        AdaptivePoll { span_ns: SPAN_NS, debt: 0, suspended: 0, suspended_last: 0 }
    }
}

impl AdaptivePoll {
    /// How long to poll now; nothing means to sleep at once.
    pub fn span(&self) -> Duration {
        Duration::from_nanos(if self.suspended > 0 { 0 } else { self.span_ns })
    }

    /// Whether to yield the processor now, after having polled for this long.
    pub fn should_yield(&self, polled: Duration) -> bool {
        polled >= Duration::from_nanos(YIELD_AFTER_NS)
    }

    /// It has yielded, and had the processor back after this time.
    pub fn yielded(&mut self, took: Duration) {
        if took >= Duration::from_nanos(TAKEN_LONG_NS) {
            self.debt = DEBT_MAX;
        } else if took >= Duration::from_nanos(TAKEN_NS) {
            // More than a success earns, if that helped.
            self.debt += 2;
        }
    }

    /// The answer arrived during the poll.
    pub fn succeeded(&mut self) {
        self.debt = self.debt.saturating_sub(1);
        if self.debt == 0 {
            self.suspended_last = 0;
        }
        self.suspend_if_due();
    }

    /// The answer arrived after a sleep; the whole wait took this long.
    pub fn slept(&mut self, took: Duration) {
        if self.suspended > 0 {
            self.suspended -= 1;
            return;
        }
        if self.span_ns > 0 {
            self.debt += DEBT;
        }
        if took.as_nanos() >= u128::from(SHORT_NS) {
            self.span_ns = if self.span_ns < 2000 { 0 } else { self.span_ns / 2 };
        } else {
            self.span_ns = (2 * self.span_ns).clamp(SPAN_NS, SPAN_NS_MAX);
        }
        self.suspend_if_due();
    }

    fn suspend_if_due(&mut self) {
        if self.debt + 1 >= DEBT_MAX {
            // One more fruitless poll, and it is suspended again.
            self.debt = DEBT_MAX - DEBT;
            self.suspended_last =
                (2 * self.suspended_last).clamp(SUSPENDED_WAITS, SUSPENDED_WAITS_MAX);
            self.suspended = self.suspended_last;
        }
    }
}

/// Pauses between two reads of the index, after `looks` of them: each takes the cache line from the
/// writer, so the reads become less frequent.
pub fn pause(looks: u32) {
    for _ in 0..(1 + looks / 4).min(PAUSES) {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What waits of these lengths cost in polling, microseconds each.
    fn polled(waits_us: impl Iterator<Item = u64>) -> u64 {
        let mut policy = AdaptivePoll::default();
        let mut sum = 0;
        for wait in waits_us {
            let (span, wait) = (policy.span(), Duration::from_micros(wait));
            sum += span.min(wait).as_micros() as u64;
            if wait <= span { policy.succeeded() } else { policy.slept(wait) }
        }
        sum
    }

    #[test]
    fn short_waits_are_polled_through() {
        assert_eq!(polled(std::iter::repeat_n(15, 1000)), 15_000);
        assert_eq!(polled(std::iter::repeat_n(3, 1000)), 3000);
        // All but the first, which teaches it.
        assert_eq!(polled(std::iter::repeat_n(150, 1000)), 100 + 999 * 150);
    }

    #[test]
    fn long_waits_cost_nothing_in_the_end() {
        assert!(polled(std::iter::repeat_n(1000, 1_000_000)) < 200);
    }

    #[test]
    fn waits_just_too_long_cost_little() {
        assert!(polled(std::iter::repeat_n(300, 100_000)) < 100_000 * 300 / 1000);
    }

    /// Both sides on one processor: each gets it when the poll of the other has failed.
    #[test]
    fn polling_against_each_other_is_given_up() {
        let mut sides = [AdaptivePoll::default(), AdaptivePoll::default()];
        let mut sum = Duration::ZERO;
        for _ in 0..100_000 {
            let spans = sides.each_ref().map(AdaptivePoll::span);
            let took = spans[0] + spans[1] + Duration::from_micros(10);
            sum += took;
            sides.each_mut().into_iter().for_each(|side| side.slept(took));
        }
        assert!(sum < Duration::from_micros(11 * 100_000), "{sum:?}");
    }

    /// Two sides that sleep, and whose wake-ups are slow, converge to polling.
    #[test]
    fn slow_wake_ups_are_polled_through() {
        let mut sides = [AdaptivePoll::default(), AdaptivePoll::default()];
        let (wake_up, answer) = (Duration::from_micros(60), Duration::from_micros(3));
        let mut is_awake = false;
        let mut slow = 0;
        for _ in 0..10_000 {
            for side in &mut sides {
                let took = if is_awake { answer } else { wake_up + answer };
                is_awake = took <= side.span();
                if is_awake {
                    side.succeeded()
                } else {
                    side.slept(took + wake_up)
                }
                slow += u32::from(!is_awake);
            }
        }
        assert!(slow < 100, "{slow}");
    }

    #[test]
    fn what_was_given_up_is_tried_again() {
        let long = std::iter::repeat_n(100_000, 1000);
        let short = std::iter::repeat_n(10, 1000);
        assert!(polled(long.chain(short)) > 9000);
    }

    /// Polls among many waits, each of which yields for this long before its answer arrives.
    fn polls_that_give_way(for_us: u64) -> u32 {
        let mut policy = AdaptivePoll::default();
        let mut polls = 0;
        for _ in 0..100_000 {
            if policy.span().is_zero() {
                policy.slept(Duration::from_micros(20));
            } else {
                assert!(policy.should_yield(policy.span()));
                policy.yielded(Duration::from_micros(for_us));
                policy.succeeded();
                polls += 1;
            }
        }
        polls
    }

    #[test]
    fn polls_on_a_shared_processor_are_suspended() {
        assert_eq!(polls_that_give_way(1), 100_000, "the processor is free");
        assert!((10..1000).contains(&polls_that_give_way(10)));
        assert!((10..200).contains(&polls_that_give_way(3000)), "dear");
        assert!(!AdaptivePoll::default().should_yield(Duration::from_micros(1)));
    }
}
