//! How long to poll before sleeping, learnt from how long answers take.
//!
//! A sleep and a wake-up cost more than most answers take, so who waits for an answer first looks
//! for it for a short while. The span grows while waits turn out to be short, and shrinks to
//! nothing when they are long: a program that has nothing to do burns nothing.
//!
//! Polls can be in vain however long they are: answers keep coming just after the longest span, or
//! they come *because* the poll has ended, where both sides have one processor between them and
//! each polls at the cost of the other. So one poll in vain has to be made up for by several that
//! pay; who owes too much rests from polling, and each time for longer.
//!
//! Who has polled for a moment gives way: offers its processor to others, for the other side may
//! wait for this very one. If somebody took it, that counts like a poll in vain, more or less: who
//! sleeps instead may be woken on a processor of its own.
//!
//! It reads no clock: its user does, and tells.

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
/// So many polls that pay make up for one in vain.
const DEBT: u32 = 4;
/// Who owes more rests.
const DEBT_MAX: u32 = 6 * DEBT;
/// Waits without a poll, when it rests: first, and at most.
const RESTS: u32 = 4;
const RESTS_MAX: u32 = 1024;
/// Most answers take less; who has polled for so long gives way from then on.
const GIVES_WAY_NS: u64 = 3000;
/// After so long somebody has had the processor meanwhile; and after so long it was not the other
/// side.
const TAKEN_NS: u64 = 2000;
const TAKEN_LONG_NS: u64 = 500_000;
/// Hints to the processor between two looks, some 15 ns each, at most.
const PAUSES: u32 = 6;

/// What was learnt.
#[derive(Clone, Debug)]
pub struct Patience {
    span_ns: u64,
    /// Polls that have to pay for those that were in vain.
    debt: u32,
    /// Waits without a poll that are left, and how many there were the last time.
    resting: u32,
    rests: u32,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { span_ns: SPAN_NS, debt: 0, resting: 0, rests: 0 }
    }
}

impl Patience {
    /// How long to poll now; nothing means to sleep at once.
    pub fn span(&self) -> Duration {
        Duration::from_nanos(if self.resting > 0 { 0 } else { self.span_ns })
    }

    /// Whether to give way now, after having polled for so long.
    pub fn gives_way(&self, polled: Duration) -> bool {
        polled >= Duration::from_nanos(GIVES_WAY_NS)
    }

    /// It did, and had its processor back after so long.
    pub fn gave_way(&mut self, took: Duration) {
        if took >= Duration::from_nanos(TAKEN_LONG_NS) {
            self.debt = DEBT_MAX;
        } else if took >= Duration::from_nanos(TAKEN_NS) {
            // More than is paid back if that helped.
            self.debt += 2;
        }
    }

    /// What was waited for came during the poll.
    pub fn has_paid(&mut self) {
        self.debt = self.debt.saturating_sub(1);
        if self.debt == 0 {
            self.rests = 0;
        }
        self.rest_if_due();
    }

    /// It came after a sleep: the whole wait took so long.
    pub fn has_slept(&mut self, took: Duration) {
        if self.resting > 0 {
            self.resting -= 1;
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
        self.rest_if_due();
    }

    fn rest_if_due(&mut self) {
        if self.debt + 1 >= DEBT_MAX {
            // One more in vain, and it rests again.
            self.debt = DEBT_MAX - DEBT;
            self.rests = (2 * self.rests).clamp(RESTS, RESTS_MAX);
            self.resting = self.rests;
        }
    }
}

/// Between two looks, after so many: each takes the line of memory away from who is about to write
/// it. What does not come soon is looked for less often.
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

    /// Both sides on one processor: each gets it when the other has polled in vain.
    #[test]
    fn polling_against_each_other_is_given_up() {
        let mut sides = [Patience::default(), Patience::default()];
        let mut sum = Duration::ZERO;
        for _ in 0..100_000 {
            let spans = sides.each_ref().map(Patience::span);
            let took = spans[0] + spans[1] + Duration::from_micros(10);
            sum += took;
            sides.each_mut().into_iter().for_each(|side| side.has_slept(took));
        }
        assert!(sum < Duration::from_micros(11 * 100_000), "{sum:?}");
    }

    /// Two sides that sleep, and whose wake-ups are slow, come to find each other awake.
    #[test]
    fn slow_wake_ups_are_polled_through() {
        let mut sides = [Patience::default(), Patience::default()];
        let (wake_up, answer) = (Duration::from_micros(60), Duration::from_micros(3));
        let mut is_awake = false;
        let mut slow = 0;
        for _ in 0..10_000 {
            for side in &mut sides {
                let took = if is_awake { answer } else { wake_up + answer };
                is_awake = took <= side.span();
                match is_awake {
                    true => side.has_paid(),
                    false => side.has_slept(took + wake_up),
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

    /// How many of many waits, each of which gives way for so long and then pays, are polls.
    fn polls_that_give_way(for_us: u64) -> u32 {
        let mut patience = Patience::default();
        let mut polls = 0;
        for _ in 0..100_000 {
            if patience.span().is_zero() {
                patience.has_slept(Duration::from_micros(20));
            } else {
                assert!(patience.gives_way(patience.span()));
                patience.gave_way(Duration::from_micros(for_us));
                patience.has_paid();
                polls += 1;
            }
        }
        polls
    }

    #[test]
    fn who_shares_a_processor_comes_to_sleep() {
        assert_eq!(polls_that_give_way(1), 100_000, "nobody has taken it");
        assert!((10..1000).contains(&polls_that_give_way(10)));
        assert!((10..200).contains(&polls_that_give_way(3000)), "dear");
        assert!(!Patience::default().gives_way(Duration::from_micros(1)));
    }
}
