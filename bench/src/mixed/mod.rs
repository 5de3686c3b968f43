//! The program that shows the purpose of the whole, `examples/flows`, with a component for each
//! flow: packets per CPU second, bytes per flow, and the share of each part.
//!
//! `program` has the program, and the same without some of its parts.
//!
//! Captures are generated for each run, from a seed that is printed and that `--seed` repeats.
//! Every reader must find the counts of the generator. The share of a part is the saving without
//! it: the program is run without the rules that sum up, then also without components, and so on.
//! Bytes per flow are the increase of memory over a capture of a hundred flows. Each run is a
//! process of its own, except with `--small`.
//!
//! `simulated` is a simulation of a thousand nodes with all parts, for a minute of virtual time:
//! CPU seconds and peak memory.

mod program;
pub mod simulated;

use tidemill_support::traffic::Truth;

use crate::clock::median;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use crate::traffic::{Case, Collector, Measurement, Setup, each_case};
use program::Variant;
pub use program::measure_in;

/// Its name.
const BENCH: &str = "mixed";

/// Measures all of it.
///
/// # Errors
/// A program does not run, or its counts differ from those of the generator.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let setup = Setup { bench: BENCH, runs: 3, packets: 500_000 };
    each_case(&setup, extent, report, |case, report| {
        let figures = measure(case)?;
        figures.report(case.name, &case.capture.truth, report);
        Ok(figures.peak_bytes())
    })?;
    simulated::run(BENCH, extent, report)
}

/// The figures for one capture, with all contenders in turns.
struct Figures {
    /// By variant, the whole program first.
    ours: Vec<Vec<Measurement>>,
    peers: Vec<(&'static Collector, Vec<f64>)>,
}

fn measure(case: &Case<'_>) -> Result<Figures, String> {
    let &Case { capture, runs, place, collectors, .. } = case;
    let mut ours = vec![Vec::new(); Variant::ALL.len()];
    let mut theirs: Vec<_> = collectors.iter().map(|&peer| (peer, Vec::new())).collect();
    for _ in 0..runs {
        for (variant, ours) in Variant::ALL.into_iter().zip(&mut ours) {
            ours.push(
                variant.measure(capture, place).map_err(|what| format!("{variant:?}: {what}"))?,
            );
        }
        for (peer, theirs) in &mut theirs {
            theirs.push(peer.measure(capture).map_err(|what| format!("{}: {what}", peer.name))?);
        }
    }
    Ok(Figures { ours, peers: theirs })
}

impl Figures {
    fn cpu_s(&self, variant: usize) -> f64 {
        median(self.ours[variant].iter().map(|one| one.cpu_s).collect())
    }

    fn peak_bytes(&self) -> f64 {
        median(self.ours[0].iter().map(|one| one.peak_bytes).collect())
    }

    fn report(&self, case: &str, truth: &Truth, report: &mut Report) {
        let packets = (truth.packets + truth.others) as f64;
        let rates = |seconds: Vec<f64>| seconds.into_iter().map(|one| packets / one).collect();
        let row = |who: &str, seconds| {
            Row::median(BENCH, case, who, ("packets_per_cpu_s", "1/s"), rates(seconds))
        };
        let whole = self.ours[0].iter().map(|one| one.cpu_s).collect();
        let mut rows = vec![row("tidemill", whole)];
        rows.extend(self.peers.iter().map(|(peer, seconds)| row(peer.name, seconds.clone())));
        report.case(&rows, Better::High);
        // Each variant lacks one part more than the previous one.
        let all_s = self.cpu_s(0);
        for (number, variant) in Variant::ALL.into_iter().enumerate() {
            let less_s = Variant::ALL.get(number + 1).map_or(0.0, |_| self.cpu_s(number + 1));
            let percent = (self.cpu_s(number) - less_s) / all_s * 100.0;
            let metric = (variant.share(), "%");
            report.row(&Row::median(BENCH, case, "tidemill", metric, vec![percent]));
        }
    }
}
