//! What the simulated network does to messages.
//!
//! Every message has its own random numbers, one per purpose, that follow from the seed, the
//! purpose, the sender and the message's number there. So a message that is lost does not change
//! the delay of the next, more loss does not change who is duplicated, and what one node sends
//! changes nothing for another.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::Time;
use crate::random::{mix, scale, unit};
use crate::time::nanos;

/// How the network behaves; probabilities are 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Conditions {
    /// How long messages take; both ends included, each message as likely short as long.
    pub latency: RangeInclusive<Duration>,
    /// How likely a message is lost.
    pub loss: f64,
    /// How likely a message arrives twice.
    pub duplicate: f64,
    /// How likely a message is held up, for up to the longest latency, so that later ones
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
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            in_flight_limit: 1 << 22,
            inbox_limit: 1 << 16,
        }
    }
}

/// What a random number is for.
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
        let stream = mix(mix(seed ^ 0x6E65_7477_6F72_6B00).wrapping_add(u64::from(sender)));
        Draws { message: mix(stream.wrapping_add(number)) }
    }

    fn word(&self, purpose: Purpose) -> u64 {
        mix(self.message ^ (purpose as u64) << 56)
    }

    fn chance(&self, purpose: Purpose, probability: f64) -> bool {
        unit(self.word(purpose)) < probability
    }
}

/// What becomes of a message.
pub(super) struct Fate {
    /// When it arrives, and whether it keeps its place among the others of its link; nothing
    /// if it is lost.
    pub(super) arrival: Option<(Time, Order)>,
    /// When its double arrives.
    pub(super) double: Option<Time>,
}

#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Order {
    Kept,
    Overtaken,
}

impl Conditions {
    /// Decides for the message with these draws, sent at `now`.
    pub(super) fn fate(&self, now: Time, draws: &Draws) -> Fate {
        let arrival = (!draws.chance(Purpose::Loss, self.loss)).then(|| {
            let at = now + self.latency(draws.word(Purpose::Latency));
            if draws.chance(Purpose::Reorder, self.reorder) {
                (at + self.delay(draws.word(Purpose::Delay)), Order::Overtaken)
            } else {
                (at, Order::Kept)
            }
        });
        let double = draws
            .chance(Purpose::Duplicate, self.duplicate)
            .then(|| now + self.latency(draws.word(Purpose::DuplicateLatency)));
        Fate { arrival, double }
    }

    fn latency(&self, word: u64) -> Duration {
        let (least, most) = (nanos(*self.latency.start()), nanos(*self.latency.end()));
        let width = most.saturating_sub(least).saturating_add(1);
        Duration::from_nanos(least + scale(word, width))
    }

    fn delay(&self, word: u64) -> Duration {
        Duration::from_nanos(scale(word, nanos(*self.latency.end()).saturating_add(1)))
    }
}
