//! What the simulated network does to datagrams.
//!
//! Every datagram has its own random numbers, one per purpose, that follow from the seed, the
//! purpose, the sender and the datagram's number there. So one that is lost does not change the
//! delay of the next, more loss does not change which come twice, and what one node sends changes
//! nothing for another.

use std::ops::RangeInclusive;
use std::time::Duration;

use tidemill_stdx::hash::{combine, hash_u64};

use crate::Time;
use crate::time::nanos;

/// Sets the network's random numbers apart from the program's.
const NETWORK: u64 = 0x006e_6574_776f_726b;

/// What the network does to datagrams. Probabilities are 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Faults {
    /// How long a datagram takes: uniform, both ends included.
    pub latency: RangeInclusive<Duration>,
    /// Probability that a datagram is lost.
    pub loss: f64,
    /// Probability that a datagram comes twice.
    pub duplicate: f64,
    /// Probability that a datagram does not keep its place among those from the same node to the
    /// same node: it takes up to twice the longest latency, and others pass it.
    pub reorder: f64,
}

impl Default for Faults {
    /// No delay, and nothing goes wrong.
    fn default() -> Faults {
        let latency = Duration::ZERO..=Duration::ZERO;
        Faults { latency, loss: 0.0, duplicate: 0.0, reorder: 0.0 }
    }
}

/// What a random number is for.
#[derive(Copy, Clone)]
enum Purpose {
    Loss,
    Latency,
    Duplicate,
    DuplicateLatency,
    Reorder,
    Detour,
}

/// The random numbers of one datagram.
pub(super) struct Draws {
    datagram: u64,
}

impl Draws {
    pub(super) fn new(seed: u64, sender: u32, number: u64) -> Draws {
        let stream = combine(hash_u64(seed ^ NETWORK), u64::from(sender));
        Draws { datagram: combine(stream, number) }
    }

    fn word(&self, purpose: Purpose) -> u64 {
        hash_u64(combine(self.datagram, purpose as u64))
    }

    fn chance(&self, purpose: Purpose, probability: f64) -> bool {
        // The 53 bits that a double holds, as a number in [0, 1).
        let unit = (self.word(purpose) >> 11) as f64 / (1u64 << 53) as f64;
        unit < probability
    }

    /// Uniform in `least..=most` nanoseconds; the bias is below 2^-20 for spans of hours.
    fn span(&self, purpose: Purpose, least: u64, most: u64) -> Duration {
        let width = u128::from(most.saturating_sub(least)) + 1;
        let above = (u128::from(self.word(purpose)) * width) >> 64;
        Duration::from_nanos(least + above as u64)
    }
}

/// Whether a datagram keeps its place among those of its sender and receiver.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Order {
    Kept,
    Overtaken,
}

/// What becomes of a datagram: when it arrives, and when its double does.
pub(super) struct Fate {
    pub(super) arrival: Option<(Time, Order)>,
    pub(super) double: Option<Time>,
}

impl Faults {
    /// Decides for the datagram with these draws, sent at `now`.
    pub(super) fn fate(&self, now: Time, draws: &Draws) -> Fate {
        let (least, most) = (nanos(*self.latency.start()), nanos(*self.latency.end()));
        let arrival = (!draws.chance(Purpose::Loss, self.loss)).then(|| {
            let at = now + draws.span(Purpose::Latency, least, most);
            if draws.chance(Purpose::Reorder, self.reorder) {
                // A network without delay overtakes within a millisecond.
                let detour = draws.span(Purpose::Detour, 0, most.max(1_000_000));
                (at + detour, Order::Overtaken)
            } else {
                (at, Order::Kept)
            }
        });
        let double = draws
            .chance(Purpose::Duplicate, self.duplicate)
            .then(|| now + draws.span(Purpose::DuplicateLatency, least, most));
        Fate { arrival, double }
    }
}
