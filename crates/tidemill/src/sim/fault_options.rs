//! Faults of a simulation, as options: how likely they are, how frequent and how strong.

use std::time::Duration;

use tidemill_event::{Conditions, Shape};

use crate::script::{NumberError, latency_of_shape, latency_text, probability};
use crate::script::{seconds_text, some_milliseconds, some_seconds};

/// The faults of a run, or of a [phase](super::Phase) of it.
#[derive(Clone, PartialEq, Debug)]
pub struct FaultOptions {
    /// The minimum and maximum latency of a datagram.
    pub latency: (Duration, Duration),
    /// The shape of its distribution.
    pub latency_shape: Shape,
    /// The probability that a datagram is lost.
    pub loss: f64,
    /// The probability that a datagram is duplicated.
    pub duplicate: f64,
    /// The probability that a datagram is reordered.
    pub reorder: f64,
    /// The mean life of a node but the first, in nanoseconds; `None`: unlimited.
    pub churn_ns: Option<u64>,
    /// The mean time between two faults of components and apps of a node, in nanoseconds.
    pub kill_ns: Option<u64>,
    /// The mean time between partitions, in nanoseconds.
    pub partition_ns: Option<u64>,
    /// The mean time between two pauses of a node, in nanoseconds.
    pub pause_ns: Option<u64>,
    /// The duration of the turns of slow nodes, in nanoseconds.
    pub slow_ns: Option<u64>,
    /// The maximum offset of clocks at the start, in nanoseconds.
    pub skew_ns: Option<u64>,
}

impl Default for FaultOptions {
    /// No faults, and the default latency.
    fn default() -> FaultOptions {
        let Conditions { latency, shape, .. } = Conditions::default();
        FaultOptions {
            latency: latency.into_inner(),
            latency_shape: shape,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            churn_ns: None,
            kill_ns: None,
            partition_ns: None,
            pause_ns: None,
            slow_ns: None,
            skew_ns: None,
        }
    }
}

impl FaultOptions {
    /// The names of faults, as options of `sim`.
    pub const NAMES: [&str; 10] = [
        "latency",
        "loss",
        "duplicate",
        "reorder",
        "churn",
        "kill",
        "partition",
        "pause",
        "slow",
        "skew",
    ];

    /// The faults that there are, by name, with their values as text.
    pub fn words(&self) -> Vec<(&'static str, String)> {
        let mut words = Vec::new();
        if self.has_latency() {
            let (least, most) = self.latency_ns();
            words.push(("latency", latency_text((least, most), self.latency_shape)));
        }
        let chances =
            [("loss", self.loss), ("duplicate", self.duplicate), ("reorder", self.reorder)];
        for (name, chance) in chances.into_iter().filter(|(_, chance)| *chance > 0.0) {
            // The shortest digits that denote the same number.
            words.push((name, chance.to_string()));
        }
        let times = [
            ("churn", self.churn_ns),
            ("kill", self.kill_ns),
            ("partition", self.partition_ns),
            ("pause", self.pause_ns),
            // In milliseconds: the digits of a thousandfold number of seconds.
            ("slow", self.slow_ns.map(|ns| ns.saturating_mul(1000))),
            ("skew", self.skew_ns),
        ];
        for (name, time) in times {
            words.extend(time.map(|ns| (name, seconds_text(ns))));
        }
        words
    }

    /// Sets a fault by its name; `None` if none has this name.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Option<Result<(), NumberError>> {
        let some = |ns: Result<u64, NumberError>| ns.map(Some);
        Some(match name {
            "latency" => latency_of_shape(value).map(|(least, most, shape)| {
                (self.latency, self.latency_shape) = ((least, most), shape);
            }),
            "loss" => probability(value).map(|it| self.loss = it),
            "duplicate" => probability(value).map(|it| self.duplicate = it),
            "reorder" => probability(value).map(|it| self.reorder = it),
            "churn" => some(some_seconds(value)).map(|ns| self.churn_ns = ns),
            "kill" => some(some_seconds(value)).map(|ns| self.kill_ns = ns),
            "partition" => some(some_seconds(value)).map(|ns| self.partition_ns = ns),
            "pause" => some(some_seconds(value)).map(|ns| self.pause_ns = ns),
            "slow" => some(some_milliseconds(value)).map(|ns| self.slow_ns = ns),
            "skew" => some(some_seconds(value)).map(|ns| self.skew_ns = ns),
            _ => return None,
        })
    }

    /// Whether datagrams have another latency than without faults.
    pub(super) fn has_latency(&self) -> bool {
        let default = FaultOptions::default();
        (self.latency, self.latency_shape) != (default.latency, default.latency_shape)
    }

    /// The minimum and maximum latency of a datagram, in nanoseconds.
    pub(super) fn latency_ns(&self) -> (u64, u64) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        (ns(self.latency.0), ns(self.latency.1))
    }

    /// The conditions of the network.
    pub(super) fn conditions(&self) -> Conditions {
        Conditions {
            latency: self.latency.0..=self.latency.1,
            shape: self.latency_shape,
            loss: self.loss,
            duplicate: self.duplicate,
            reorder: self.reorder,
            ..Conditions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_read_as_it_is_printed() {
        let all = FaultOptions {
            latency: (Duration::from_micros(500), Duration::from_millis(200)),
            latency_shape: Shape::Tail,
            loss: 0.1,
            duplicate: 0.003,
            reorder: 0.5,
            churn_ns: Some(20_000_000_000),
            kill_ns: Some(7_000_000_000),
            partition_ns: Some(4_500_000_000),
            pause_ns: Some(10_000_000_000),
            slow_ns: Some(20_500_000),
            skew_ns: Some(417_000_000),
        };
        let words = all.words();
        assert!(words.iter().map(|(name, _)| *name).eq(FaultOptions::NAMES));
        let mut read = FaultOptions::default();
        assert_eq!(read.words(), []);
        for (name, value) in &words {
            assert_eq!(read.set(name, value), Some(Ok(())), "{name} {value}");
        }
        assert_eq!(read, all);
        assert_eq!(read.set("clock", "1"), None);
        for (name, value) in [("loss", "2"), ("churn", "0"), ("slow", "x"), ("latency", "5..1")] {
            assert!(matches!(read.set(name, value), Some(Err(_))), "{name} {value}");
        }
    }
}
