//! The costs of counting.
//!
//! The same loop is run over a plain variable and over each thing that counts, in turns, and the
//! best turn of each is kept: what disturbs a turn only makes it slower.

use crate::registry::Registry;
use std::hint::black_box;
use std::time::Instant;

/// Nanoseconds per operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Adding 1 to a variable in memory.
    pub plain_ns: f64,
    /// [`Counter::add`](crate::Counter::add).
    pub counter_ns: f64,
    /// [`Histogram::record`](crate::Histogram::record).
    pub histogram_ns: f64,
    /// [`RingLog::append`](crate::RingLog::append) of a short text.
    pub log_ns: f64,
    /// The counts equal those that the registry then showed.
    pub is_correct: bool,
}

/// Measures `turns` turns of `operations` operations each.
pub fn costs(registry: &Registry, turns: u64, operations: u64) -> Costs {
    let counter = registry.counter("measure/costs/counter");
    let histogram = registry.histogram("measure/costs/histogram");
    let log = registry.log("measure/costs/log", 1024);
    let mut plain = 0u64;
    let mut costs = Costs {
        plain_ns: f64::INFINITY,
        counter_ns: f64::INFINITY,
        histogram_ns: f64::INFINITY,
        log_ns: f64::INFINITY,
        is_correct: true,
    };
    for _ in 0..turns {
        keep_best(&mut costs.plain_ns, operations, |_| *black_box(&mut plain) += 1);
        keep_best(&mut costs.counter_ns, operations, |_| black_box(&counter).add(1));
        keep_best(&mut costs.histogram_ns, operations, |i| black_box(&histogram).record(i));
        keep_best(&mut costs.log_ns, operations, |i| log.append(i as i64, 1, "turn of 12 us"));
    }
    let seen = registry.snapshot();
    let total = turns * operations;
    costs.is_correct = plain == total
        && seen.counter("measure/costs/counter") == Some(total)
        && seen.histograms["measure/costs/histogram"].count() == total
        && log.appended() == total;
    costs
}

fn keep_best(best_ns: &mut f64, operations: u64, mut operation: impl FnMut(u64)) {
    let start = Instant::now();
    for i in 0..operations {
        operation(i);
    }
    let ns = start.elapsed().as_nanos() as f64 / operations as f64;
    *best_ns = best_ns.min(ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_is_correct_and_not_absurdly_slow() {
        let costs = costs(&Registry::in_memory(), 20, 1000);
        assert!(costs.is_correct);
        // A bound for any machine and any build. The figures of a release build are printed by
        // the benchmark.
        assert!(costs.counter_ns < 1000.0 && costs.histogram_ns < 5000.0, "{costs:?}");
    }
}
