//! The faults of the simulated network.
//!
//! Every message has its own random numbers, one per purpose, that follow from the seed, the
//! purpose, the sender and the message's number there. So a message that is lost does not change
//! the delay of the next, more loss does not change who is duplicated, and what one node sends
//! changes nothing for another.

use std::ops::RangeInclusive;
use std::time::Duration;

use tidemill_stdx::hash::{combine, hash_u64};

use crate::Time;
use crate::time::nanos;

/// Separates the network's random numbers from the program's.
const NETWORK: u64 = 0x006e_6574_776f_726b;

/// The behaviour of the network; probabilities are 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Conditions {
    /// The latency of messages; both ends included.
    pub latency: RangeInclusive<Duration>,
    /// Which of these times are likely.
    pub shape: Shape,
    /// The probability that a message is lost.
    pub loss: f64,
    /// The probability that a message arrives twice.
    pub duplicate: f64,
    /// The probability that a message is held up, for up to the longest latency, so that later ones
    /// overtake it. The others between two nodes keep their order.
    pub reorder: f64,
    /// Messages that may be under way; more are dropped and counted.
    pub in_flight_limit: usize,
    /// Messages that may wait at a node; more are dropped and counted.
    pub inbox_limit: usize,
}

impl Default for Conditions {
    /// 10 to 50 ms, and nothing goes wrong.
    fn default() -> Conditions {
        Conditions {
            latency: Duration::from_millis(10)..=Duration::from_millis(50),
            shape: Shape::Uniform,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            in_flight_limit: 1 << 22,
            inbox_limit: 1 << 16,
        }
    }
}

/// The distribution of latencies between the least and the most.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Shape {
    /// All are as likely.
    #[default]
    Uniform,
    /// Nearly all are near the least, and a few far from it: the fourth power of a uniform one.
    Tail,
    /// Nine of ten are in the first tenth, one is in the last tenth.
    Bimodal,
}

/// The purpose of a random number.
#[derive(Copy, Clone)]
enum Purpose {
    Loss = 1,
    Latency,
    Duplicate,
    DuplicateLatency,
    Reorder,
    Delay,
}

/// The random numbers of one message.
pub(super) struct Draws {
    message: u64,
}

impl Draws {
    pub(super) fn new(seed: u64, sender: u32, number: u64) -> Draws {
        let stream = combine(hash_u64(seed ^ NETWORK), u64::from(sender));
        Draws { message: combine(stream, number) }
    }

    fn word(&self, purpose: Purpose) -> u64 {
        hash_u64(combine(self.message, purpose as u64))
    }

    fn chance(&self, purpose: Purpose, probability: f64) -> bool {
        // The 53 bits that a double holds, as a number in [0, 1).
        let unit = (self.word(purpose) >> 11) as f64 / (1u64 << 53) as f64;
        unit < probability
    }

    /// Uniform in `least..=most` nanoseconds; the bias is below 2^-20 for spans of hours.
    fn span(&self, purpose: Purpose, least: u64, most: u64) -> Duration {
        between(self.word(purpose), least, most)
    }

    /// In `least..=most` nanoseconds, of this shape.
    fn shaped(&self, purpose: Purpose, shape: Shape, (least, most): (u64, u64)) -> Duration {
        let word = self.word(purpose);
        let tenth = most.saturating_sub(least) / 10;
        match shape {
            Shape::Uniform => between(word, least, most),
            Shape::Tail => {
                let square = |word: u64| ((u128::from(word) * u128::from(word)) >> 64) as u64;
                between(square(square(word)), least, most)
            }
            // The last bits say which, as they hardly count for where in a tenth.
            Shape::Bimodal if word.is_multiple_of(10) => between(word, most - tenth, most),
            Shape::Bimodal => between(word, least, least + tenth),
        }
    }
}

/// The place of a word among all, as one in `least..=most` nanoseconds.
fn between(word: u64, least: u64, most: u64) -> Duration {
    let width = u128::from(most.saturating_sub(least)) + 1;
    let above = (u128::from(word) * width) >> 64;
    Duration::from_nanos(least + above as u64)
}

/// The fate of a message.
pub(super) struct Fate {
    /// When it arrives, and whether it keeps its place among the others of its link; nothing
    /// if it is lost.
    pub(super) arrival: Option<(Time, Sequence)>,
    /// When its double arrives.
    pub(super) double: Option<Time>,
}

#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Sequence {
    Kept,
    Overtaken,
}

impl Conditions {
    /// Decides for the message with these draws, sent at `now`.
    pub(super) fn fate(&self, now: Time, draws: &Draws) -> Fate {
        let (least, most) = (nanos(*self.latency.start()), nanos(*self.latency.end()));
        let arrival = (!draws.chance(Purpose::Loss, self.loss)).then(|| {
            let at = now + draws.shaped(Purpose::Latency, self.shape, (least, most));
            if draws.chance(Purpose::Reorder, self.reorder) {
                // A network without delay overtakes within a millisecond.
                let delay = draws.span(Purpose::Delay, 0, most.max(1_000_000));
                (at + delay, Sequence::Overtaken)
            } else {
                (at, Sequence::Kept)
            }
        });
        let double = draws
            .chance(Purpose::Duplicate, self.duplicate)
            .then(|| now + draws.shaped(Purpose::DuplicateLatency, self.shape, (least, most)));
        Fate { arrival, double }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_stay_between_the_least_and_the_most() {
        let times = |shape| {
            let draws = (0..1000).map(|number| Draws::new(7, 1, number));
            let time = |draws: Draws| draws.shaped(Purpose::Latency, shape, (100, 1100)).as_nanos();
            draws.map(time).collect::<Vec<u128>>()
        };
        for shape in [Shape::Uniform, Shape::Tail, Shape::Bimodal] {
            assert!(times(shape).iter().all(|time| (100..=1100).contains(time)), "{shape:?}");
        }
        let below = |shape, most| times(shape).iter().filter(|time| **time <= most).count();
        assert!((450..550).contains(&below(Shape::Uniform, 600)));
        assert!(below(Shape::Tail, 600) > 800 && below(Shape::Tail, 1000) < 1000);
        assert!((860..940).contains(&below(Shape::Bimodal, 200)));
        assert_eq!(below(Shape::Bimodal, 200), below(Shape::Bimodal, 999));
    }
}
