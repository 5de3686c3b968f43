//! The rates of each contender over all rounds.

use super::case::Case;
use super::peers::{Peers, What};
use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};

/// Rates by contender, in the order of their first measurement.
pub struct Rates {
    bytes: usize,
    /// The number of passes over a message in a run.
    passes: usize,
    runs: usize,
    all: Vec<(&'static str, Vec<f64>)>,
    /// Peers that failed this case, and why. Their rates are not shown.
    failed: Vec<(&'static str, String)>,
}

impl Rates {
    /// For messages of `bytes` bytes.
    pub fn new(bytes: usize, extent: Extent) -> Rates {
        let (volume, runs) = if extent.small { (1 << 17, 1) } else { (150 << 20, 5) };
        Rates { bytes, passes: volume / bytes + 1, runs, all: Vec::new(), failed: Vec::new() }
    }

    /// Rounds in which each contender runs once.
    pub fn rounds(&self) -> std::ops::Range<usize> {
        0..self.runs
    }

    /// Measures `work`, which returns false if its result is wrong.
    ///
    /// # Errors
    /// The result was wrong.
    pub fn measure(
        &mut self,
        who: &'static str,
        mut work: impl FnMut() -> bool,
    ) -> Result<(), String> {
        let passes = self.passes;
        let (seconds, good) = cpu_seconds(|| (0..passes).all(|_| work()));
        self.add(who, passes, seconds);
        good.then_some(()).ok_or_else(|| format!("{who}: a pass gave another result"))
    }

    /// Measures the peers that support this. A peer that fails is left out of this case from then
    /// on.
    pub fn measure_peers(&mut self, case: &Case, peers: &Peers, what: What) {
        for peer in peers.all().filter(|peer| peer.does(case, what)) {
            if self.failed.iter().any(|(who, _)| *who == peer.name()) {
                continue;
            }
            let passes = self.passes / peer.slower() + 1;
            match peer.run(case, passes, what) {
                Ok(seconds) => self.add(peer.name(), passes, seconds),
                Err(reason) => self.failed.push((peer.name(), reason)),
            }
        }
    }

    fn add(&mut self, who: &'static str, passes: usize, seconds: f64) {
        let rate = (passes * self.bytes) as f64 / seconds / 1e6;
        match self.all.iter_mut().find(|(known, _)| *known == who) {
            Some((_, rates)) => rates.push(rate),
            None => self.all.push((who, vec![rate])),
        }
    }

    /// Prints the medians.
    pub fn report(self, case: &str, report: &mut Report) {
        for (who, reason) in &self.failed {
            report.note(&format!("{case}: {who} is left out: {reason}"));
        }
        let failed = |who| self.failed.iter().any(|(peer, _)| *peer == who);
        let rows: Vec<Row> = self
            .all
            .into_iter()
            .filter(|(who, _)| !failed(*who))
            .map(|(who, rates)| Row::median("proto", case, who, ("mb_per_s", "MB/s"), rates))
            .collect();
        report.case(&rows, Better::High);
    }
}
