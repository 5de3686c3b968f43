//! The counters of an engine, in files that other processes read.
//!
//! ```text
//! engine/packets/breaths           breaths_busy, faults, allocated, freed, dropped_unlinked
//! app/<name>/packets               restarts, drop_<reason>, what the app itself counts
//! app/<name>/latency_ns            of sinks: from the birth of a batch's oldest packet to its end
//! link/<from>-><to>/tx_packets     tx_bytes, tx_drops, rx_packets, rx_bytes
//! ```
//! Packets are counted where they pass; the files follow when the driver publishes.

use tidemill_stat::{Counter, Histogram, Registry};

use crate::link::LinkStats;
use crate::packet::PoolStats;

/// Counts of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EngineStats {
    /// Breaths taken.
    pub breaths: u64,
    /// Breaths in which something moved.
    pub breaths_busy: u64,
    /// Packets of links that were removed.
    pub dropped_unlinked: u64,
    /// Faults of apps.
    pub faults: u64,
}

impl EngineStats {
    /// Adds those of another engine.
    pub fn add(&mut self, other: &EngineStats) {
        self.breaths += other.breaths;
        self.breaths_busy += other.breaths_busy;
        self.dropped_unlinked += other.dropped_unlinked;
        self.faults += other.faults;
    }
}

pub(super) struct Meters {
    counters: [Counter; 6],
}

impl Meters {
    pub fn new(registry: &Registry) -> Meters {
        let names = ["breaths", "breaths_busy", "faults", "dropped_unlinked", "allocated", "freed"];
        Meters { counters: names.map(|name| registry.counter(&format!("engine/packets/{name}"))) }
    }

    pub fn publish(&self, stats: &EngineStats, pool: &PoolStats) {
        let values = [
            stats.breaths,
            stats.breaths_busy,
            stats.faults,
            stats.dropped_unlinked,
            pool.allocated,
            pool.freed,
        ];
        self.counters.iter().zip(values).for_each(|(counter, value)| counter.set(value));
    }
}

pub(super) struct LinkMeters {
    counters: [Counter; 5],
}

impl LinkMeters {
    pub fn new(registry: &Registry, link: &str) -> LinkMeters {
        let names = ["tx_packets", "tx_bytes", "tx_drops", "rx_packets", "rx_bytes"];
        LinkMeters { counters: names.map(|name| registry.counter(&format!("link/{link}/{name}"))) }
    }

    pub fn publish(&self, stats: &LinkStats) {
        let values =
            [stats.tx_packets, stats.tx_bytes, stats.tx_drops, stats.rx_packets, stats.rx_bytes];
        self.counters.iter().zip(values).for_each(|(counter, value)| counter.set(value));
    }
}

pub(super) struct AppMeters {
    packets: Counter,
    restarts: Counter,
    latency_ns: Option<Histogram>,
    /// The app's own counters, as they appear.
    own: Vec<(String, Counter)>,
}

impl AppMeters {
    pub fn new(registry: &Registry, app: &str) -> AppMeters {
        AppMeters {
            packets: registry.counter(&format!("app/{app}/packets")),
            restarts: registry.counter(&format!("app/{app}/restarts")),
            latency_ns: None,
            own: Vec::new(),
        }
    }

    /// The app is a sink: its latency is measured.
    pub fn measure_latency(&mut self, registry: &Registry, app: &str) {
        let name = format!("app/{app}/latency_ns");
        self.latency_ns.get_or_insert_with(|| registry.histogram(&name));
    }

    pub fn latency(&self, ns: u64) {
        if let Some(histogram) = &self.latency_ns {
            histogram.record(ns);
        }
    }

    pub fn publish(
        &mut self,
        registry: &Registry,
        app: &str,
        packets: u64,
        restarts: u64,
        counts: &[(String, u64)],
    ) {
        self.packets.set(packets);
        self.restarts.set(restarts);
        for (name, value) in counts {
            match self.own.iter().find(|(known, _)| known == name) {
                Some((_, counter)) => counter.set(*value),
                None => {
                    let counter = registry.counter(&format!("app/{app}/{name}"));
                    counter.set(*value);
                    self.own.push((name.clone(), counter));
                }
            }
        }
    }
}
