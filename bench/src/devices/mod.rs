//! Frames from one interface to another, through packet sockets, their rings, and AF_XDP.
//!
//! ```text
//! sender (CPU 0)  ==veth==>  forwarder (CPU 1)  ==veth==>  a sink that only counts
//! ```
//! Each stands in a network namespace of its own, which needs root. The frames are UDP of a
//! thousand flows, whose ports come from a seed. The forwarder is a graph of two `RawSocket` or
//! `XdpSocket` apps, as `tidemill run` runs it, or C on the same kind of device; `nat` has `Nat44`
//! between them. The highest rate of which less than 0.1% is lost is searched for by halving.
//!
//! | metric | is |
//! |---|---|
//! | `packets_per_cpu_s` | frames at that rate in a CPU second of the forwarder and the kernel |
//! | `rate` | frames a second, as the clock goes |
//! | `uncounted` | frames of a flood that are lost and that no counter has |
//!
//! The kernel's work is what it does within the forwarder's calls, and in `ksoftirqd` of its CPU.

mod forwarder;
mod lab;
mod sender;

use std::time::Duration;

use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use crate::tool::{Temporary, built};
use forwarder::{Forwarder, Way, Work};
use lab::Lab;
use sender::Load;

/// Its name.
const BENCH: &str = "devices";

/// The share of frames that may be lost.
const LOSS_MAX: f64 = 0.001;

/// Bytes of a frame without its check sequence, by their names.
const SIZES: [(&str, usize); 2] = [("64 B", 60), ("1500 B", 1514)];
const WORKS: [(&str, Work); 2] = [("bridge", Work::Bridge), ("nat", Work::Nat)];

/// How long things take.
struct Times {
    runs: usize,
    halvings: u32,
    search: Duration,
    measure: Duration,
}

/// A measured run.
struct Outcome {
    rate: f64,
    packets_per_cpu_s: f64,
    /// Only of ours.
    uncounted: Option<f64>,
}

/// Measures all of it.
///
/// # Errors
/// A forwarder does not run, or frames arrive that were not sent.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let seed = extent.seed_or_time();
    let lab = match Lab::new() {
        Ok(lab) => lab,
        Err(reason) => {
            report.note(&format!("{BENCH}: no devices: {reason}"));
            return Ok(());
        }
    };
    report.note(&format!("frames are made with --seed {seed}"));
    let (times, sizes) = if extent.small {
        let short = Duration::from_millis(50);
        (Times { runs: 1, halvings: 1, search: short, measure: short }, &SIZES[..1])
    } else {
        let (search, measure) = (Duration::from_millis(500), Duration::from_secs(2));
        (Times { runs: 3, halvings: 6, search, measure }, &SIZES[..])
    };
    let mut ways = Way::ALL.to_vec();
    if let Err(reason) = lab.has_xdp() {
        report.note(&format!("xdp: absent: {reason}"));
        ways.retain(|way| *way != Way::Xdp);
    }
    let flags = ["-Wall"];
    let c = built(extent, report, "c", || Temporary::program("forward", "c/forward.c", &flags));
    for (work_name, work) in WORKS {
        for &(size_name, size) in sizes {
            for &way in &ways {
                let case = format!("{work_name} {size_name} {}", way.name());
                let mut contenders = vec![("tidemill", Forwarder::Ours { way, work })];
                let of_c = |program| Forwarder::C { program, way, work };
                contenders.extend(c.as_ref().map(|program| ("c", of_c(program.path()))));
                run_case(&lab, &case, &contenders, (Load { size, seed }, &times), report)?;
            }
        }
    }
    Ok(())
}

fn run_case(
    lab: &Lab,
    case: &str,
    contenders: &[(&str, Forwarder<'_>)],
    (load, times): (Load, &Times),
    report: &mut Report,
) -> Result<(), String> {
    let mut all: Vec<Vec<Outcome>> = contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..times.runs {
        for ((name, forwarder), outcomes) in contenders.iter().zip(&mut all) {
            let outcome = measure(lab, forwarder, load, times);
            outcomes.push(outcome.map_err(|what| format!("{case}: {name}: {what}"))?);
        }
    }
    let mut rows = Vec::new();
    for ((name, _), outcomes) in contenders.iter().zip(&all) {
        let figures = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).collect();
        let row = |metric, figures| Row::median(BENCH, case, name, metric, figures);
        rows.push(row(("packets_per_cpu_s", "1/s"), figures(|it| it.packets_per_cpu_s)));
        report.row(&row(("rate", "1/s"), figures(|it| it.rate)));
        let uncounted: Vec<f64> = outcomes.iter().filter_map(|it| it.uncounted).collect();
        if !uncounted.is_empty() {
            report.row(&row(("uncounted", "frames"), uncounted));
        }
    }
    report.case(&rows, Better::High);
    Ok(())
}

/// Finds the highest rate, and measures at it.
fn measure(
    lab: &Lab,
    forwarder: &Forwarder<'_>,
    load: Load,
    times: &Times,
) -> Result<Outcome, String> {
    let running = forwarder.start(lab)?;
    // Code is made, caches are filled, addresses known.
    lab.send(load, 1000.0, times.search)?;
    let flood = lab.send(load, f64::INFINITY, times.search)?;
    let counted = running.counted_losses();
    let uncounted = counted.map(|counted| flood.lost() as f64 - counted as f64);
    let (mut good, mut bad) = (0.0, flood.rate());
    for _ in 0..times.halvings {
        // The first guess is near what came through.
        let rate = if good == 0.0 { bad * 0.7 } else { f64::midpoint(good, bad) };
        if lab.send(load, rate, times.search)?.loss() <= LOSS_MAX {
            good = rate
        } else {
            bad = rate
        }
    }
    let rate = if good == 0.0 { bad / 2.0 } else { good };
    let before = running.cpu_s()?;
    let sent = lab.send(load, rate, times.measure)?;
    let cpu_s = running.cpu_s()? - before;
    running.stop()?;
    Ok(Outcome {
        rate: sent.rate() * (1.0 - sent.loss()),
        packets_per_cpu_s: sent.arrived as f64 / cpu_s,
        uncounted,
    })
}
