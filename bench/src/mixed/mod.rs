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

mod program;

use tidemill_support::traffic::{Plan, Truth};

use crate::clock::median;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use crate::traffic::{CASES, Capture, Collector, Isolation, Measurement, there};
use program::Variant;
pub use program::measure_in;

/// Its name.
const BENCH: &str = "mixed";

/// Measures all of it.
///
/// # Errors
/// A program does not run, or its counts differ from those of the generator.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let seed = extent.seed_or_time();
    report.note(&format!("captures are made with --seed {seed}"));
    let (runs, packets) = if extent.small { (1, 3000) } else { (3, 500_000) };
    let place = if extent.small { Isolation::Inside } else { Isolation::Process };
    let smaller = if extent.small { 500 } else { 1 };
    let there = there(extent, report);
    let mut base_bytes = None;
    for (number, (case, flows, bytes_max)) in (0..).zip(CASES) {
        let flows = (flows / smaller).max(10);
        let plan = Plan { seed: seed + number, flows, packets, seconds: 40, bytes_max, pauses: 10 };
        let capture = Capture::make(case, &plan)?;
        let failed = |what| format!("{BENCH} {case}: {what}");
        let figures = measure(&capture, (runs, place), &there).map_err(failed)?;
        figures.report(case, &capture.truth, report);
        let peak_bytes = figures.peak_bytes();
        let base_bytes = *base_bytes.get_or_insert(peak_bytes);
        if number > 0 {
            let bytes = (peak_bytes - base_bytes) / f64::from(flows);
            let metric = ("bytes_per_flow", "bytes");
            report.row(&Row::median(BENCH, case, "tidemill", metric, vec![bytes]));
        }
    }
    Ok(())
}

/// The figures for one capture, with all contenders in turns.
struct Figures {
    /// By variant, the whole program first.
    ours: Vec<Vec<Measurement>>,
    peers: Vec<(&'static Collector, Vec<f64>)>,
}

fn measure(
    capture: &Capture,
    (runs, place): (usize, Isolation),
    peers: &[&'static Collector],
) -> Result<Figures, String> {
    let mut ours = vec![Vec::new(); Variant::ALL.len()];
    let mut theirs: Vec<_> = peers.iter().map(|&peer| (peer, Vec::new())).collect();
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
