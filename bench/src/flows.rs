//! Flow records of a capture: `FlowExport` beside collectors of flows, as distributions have them.
//!
//! The graph reads a capture, counts its flows, and writes their records as IPFIX to a file. It
//! runs through the library as `tidemill run` does, in a process of its own except with `--small`.
//! All end flows after 15 seconds without packets; the collectors treat both directions as one
//! flow. Captures are generated for each run, from a seed that is printed and that `--seed`
//! repeats. The packets and bytes of all records must be those of the generator.
//!
//! | metric | is |
//! |---|---|
//! | `packets_per_cpu_s` | packets of the capture in a CPU second |
//! | `bytes_per_flow` | the increase of memory over a capture of a hundred flows, by flow |

use std::fs::{self, File};
use std::path::Path;

use tidemill::program::{LoadOptions, Program};
use tidemill::run::RunOptions;
use tidemill_apps::capture::{CaptureReader, Frame};
use tidemill_support::ipfix::Session;
use tidemill_support::traffic::Truth;

use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use crate::traffic::{self, CAPTURE, Capture, Case, Isolation, Measurement, Setup, each_case};

/// Its name.
const BENCH: &str = "flows";

const EXPORT: &str = "export.pcap";
/// Headers of Ethernet, IPv4 and UDP before a message.
const HEADERS: usize = 42;
const ETHERNET: u64 = 14;

/// Measures all of it.
///
/// # Errors
/// A program does not run, or its counts differ from those of the generator.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let setup = Setup { bench: BENCH, runs: 5, packets: 1_000_000 };
    each_case(&setup, extent, report, run_case)
}

fn run_case(case: &Case<'_>, report: &mut Report) -> Result<f64, String> {
    let &Case { capture, runs, place, collectors, .. } = case;
    let mut ours: Vec<Measurement> = Vec::new();
    let mut theirs: Vec<_> = collectors.iter().map(|&peer| (peer, Vec::new())).collect();
    for _ in 0..runs {
        ours.push(measure(capture, place)?);
        for (peer, seconds) in &mut theirs {
            seconds.push(peer.measure(capture).map_err(|what| format!("{}: {what}", peer.name))?);
        }
    }
    let packets = (capture.truth.packets + capture.truth.others) as f64;
    let row = |who: &str, seconds: Vec<f64>| {
        let rates = seconds.into_iter().map(|one| packets / one).collect();
        Row::median(BENCH, case.name, who, ("packets_per_cpu_s", "1/s"), rates)
    };
    let mut rows = vec![row("tidemill", ours.iter().map(|one| one.cpu_s).collect())];
    rows.extend(theirs.into_iter().map(|(peer, seconds)| row(peer.name, seconds)));
    report.case(&rows, Better::High);
    Ok(ours.iter().map(|one| one.peak_bytes).fold(f64::MAX, f64::min))
}

/// One run; its records must contain what the generator has made.
fn measure(capture: &Capture, place: Isolation) -> Result<Measurement, String> {
    let inside = || measure_in(capture.folder());
    let (measurement, _) = place.measure((BENCH, "0"), capture, inside)?;
    check(capture)?;
    Ok(measurement)
}

/// Checks the records of a run.
///
/// # Errors
/// Their packets or bytes are not those of the generator.
pub fn check(capture: &Capture) -> Result<(), String> {
    let Truth { packets, bytes, .. } = capture.truth;
    let made = (packets, bytes - ETHERNET * packets);
    let found = exported(&capture.folder().join(EXPORT))?;
    if found == made {
        Ok(())
    } else {
        Err(format!("packets and bytes of its flows are {found:?}, made were {made:?}"))
    }
}

/// Measures the graph on the capture in a folder; prints CPU seconds and bytes.
///
/// # Errors
/// It does not run.
pub fn measure_in(folder: &Path) -> Result<String, String> {
    traffic::run(program(folder)?, RunOptions::default())
}

/// The graph on the capture in a folder.
///
/// # Errors
/// The folder cannot be written.
pub fn program(folder: &Path) -> Result<Program, String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let graph = format!(
        "in :: PcapReader {{ file: {:?} }} -> meter :: FlowExport {{
             collector: \"192.0.2.9\", address: \"192.0.2.1\", inactive: 15 }}
         meter.export -> out :: PcapWriter {{ file: {:?} }}",
        path(CAPTURE),
        path(EXPORT),
    );
    let file = folder.join("meter.flow");
    fs::write(&file, graph).map_err(|error| error.to_string())?;
    Ok(Program::load(&[file], &LoadOptions::default()))
}

/// Packets and bytes of all flows of a capture of messages.
fn exported(path: &Path) -> Result<(u64, u64), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut reader = CaptureReader::new(file).map_err(|error| error.to_string())?;
    let (mut frame, mut session, mut sum) = (Frame::default(), Session::default(), (0, 0));
    while reader.next(&mut frame).is_ok() {
        let message = frame.bytes.get(HEADERS..).unwrap_or_default();
        for record in session.read(message)?.records {
            sum.0 += record.number(2);
            sum.1 += record.number(1);
        }
    }
    Ok(sum)
}
