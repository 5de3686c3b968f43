//! What benchmarks of flows share.
//!
//! | part | holds |
//! |---|---|
//! | `capture` | captures that are made for a run |
//! | `collectors` | collectors of flows, as distributions have them |
//! | `measurement` | a program on a capture, in a process of its own |

mod capture;
mod collectors;
mod measurement;

use tidemill_support::traffic::Plan;

use crate::extent::Extent;
use crate::report::{Report, Row};
pub use capture::{CAPTURE, Capture};
pub use collectors::Collector;
pub use measurement::{Isolation, Measurement, run};

/// The measured captures: name, flows, maximum size of a packet.
const CASES: [(&str, u32, u32); 4] = [
    ("100 flows", 100, 1500),
    ("10000 flows", 10_000, 1500),
    ("100000 flows", 100_000, 1500),
    ("100000 short", 100_000, 100),
];

/// How a benchmark measures.
pub struct Setup {
    pub bench: &'static str,
    /// Runs of each contender, and packets of a capture; with `--small`, one and a few thousand.
    pub runs: usize,
    pub packets: u32,
}

/// How a case is measured.
pub struct Case<'c> {
    pub name: &'static str,
    pub capture: &'c Capture,
    pub runs: usize,
    pub place: Isolation,
    /// The collectors that are installed, if peers are asked for.
    pub collectors: &'c [&'static Collector],
}

/// A capture to measure with.
pub struct Sample {
    pub name: &'static str,
    pub flows: u32,
    pub capture: Capture,
}

/// Makes captures from a seed, each when it is asked for: of these names, numbers of flows and
/// maximum sizes of a packet; with `--small`, of fewer flows.
pub fn samples<'c>(
    cases: &'c [(&'static str, u32, u32)],
    packets: u32,
    extent: Extent,
    report: &mut Report,
) -> impl Iterator<Item = Result<Sample, String>> + use<'c> {
    let seed = extent.seed_or_time();
    report.note(&format!("captures are made with --seed {seed}"));
    let smaller = if extent.small { 500 } else { 1 };
    (0..).zip(cases).map(move |(number, &(name, flows, bytes_max))| {
        let flows = (flows / smaller).max(10);
        let plan = Plan { seed: seed + number, flows, packets, seconds: 40, bytes_max, pauses: 10 };
        Ok(Sample { name, flows, capture: Capture::make(name, &plan)? })
    })
}

/// Measures all cases on captures from a seed. `measure` reports a case, and returns the most bytes
/// of memory that our program took; bytes by flow are the increase over the first case.
///
/// # Errors
/// A capture cannot be written, or `measure` fails.
pub fn each_case(
    setup: &Setup,
    extent: Extent,
    report: &mut Report,
    measure: impl Fn(&Case<'_>, &mut Report) -> Result<f64, String>,
) -> Result<(), String> {
    let bench = setup.bench;
    let (runs, packets) = if extent.small { (1, 3000) } else { (setup.runs, setup.packets) };
    let samples = samples(&CASES, packets, extent, report);
    let place = if extent.small { Isolation::Inside } else { Isolation::Process };
    let collectors = collectors::there(extent, report);
    let mut base_bytes = None;
    for (number, sample) in samples.enumerate() {
        let Sample { name, flows, capture } = sample?;
        let case = Case { name, capture: &capture, runs, place, collectors: &collectors };
        let measured = measure(&case, report);
        let peak_bytes = measured.map_err(|what| format!("{bench} {name}: {what}"))?;
        let base_bytes = *base_bytes.get_or_insert(peak_bytes);
        if number > 0 {
            let bytes = (peak_bytes - base_bytes) / f64::from(flows);
            let metric = ("bytes_per_flow", "bytes");
            report.row(&Row::median(bench, name, "tidemill", metric, vec![bytes]));
        }
    }
    Ok(())
}
