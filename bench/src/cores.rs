//! A packet graph on several cores: the flow records of `flows`, by one worker and by more.
//!
//! Each worker reads the whole capture and counts the flows of its part; all write one file. The
//! records are checked as in `flows`. Wall time counts, from the loaded program to the end of its
//! run, so there is nothing to gain on a machine that has one core or is busy.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Instant;

use tidemill::run::RunOptions;

use crate::extent::Extent;
use crate::flows;
use crate::report::{Better, Report, Row};
use crate::traffic::{self, Capture, Sample};

/// Its name.
const BENCH: &str = "cores";

/// The measured captures: name, flows, maximum size of a packet.
const CASES: [(&str, u32, u32); 2] = [("100 flows", 100, 1500), ("100000 short", 100_000, 100)];

/// Workers at most.
const WORKERS_MAX: u32 = 8;

/// Measures all cases.
///
/// # Errors
/// The program does not run, or its records differ from what the generator has made.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (runs, packets) = if extent.small { (1, 3000) } else { (5, 1_000_000) };
    let samples = traffic::samples(&CASES, packets, extent, report);
    let cores = available_parallelism().map_or(1, NonZero::get) as u32;
    let counts = [cores.clamp(2, WORKERS_MAX), 1];
    report.note(&format!("tidemill: {} workers on {cores} cores", counts[0]));
    for sample in samples {
        let Sample { name, capture, .. } = sample?;
        let mut rates = counts.map(|workers| (workers, Vec::new()));
        for _ in 0..runs {
            for (workers, rates) in &mut rates {
                let rate = measure(&capture, *workers);
                rates.push(rate.map_err(|what| format!("{name}, {workers} workers: {what}"))?);
            }
        }
        let row = |(workers, rates): (u32, Vec<f64>)| {
            let who = if workers == 1 { "one-worker" } else { "tidemill" };
            Row::median(BENCH, name, who, ("packets_per_s", "1/s"), rates)
        };
        report.case(&rates.map(row), Better::High);
    }
    Ok(())
}

/// Packets a second of wall time.
fn measure(capture: &Capture, workers: u32) -> Result<f64, String> {
    let program = flows::program(capture.folder())?;
    let mut options = RunOptions::default();
    options.nodes.workers = workers;
    let begin = Instant::now();
    traffic::run(program, options)?;
    let seconds = begin.elapsed().as_secs_f64();
    flows::check(capture)?;
    Ok((capture.truth.packets + capture.truth.others) as f64 / seconds)
}
