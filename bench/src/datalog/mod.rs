//! Datalog: rules loaded at run time against rules compiled ahead of time.
//!
//! Four workloads, each over facts from a seeded generator; all engines must find the same number
//! of tuples. What is measured: putting the facts in and reaching the fixed point.

mod ascent_peer;
mod datafrog_peer;
mod facts;
mod ours;
mod program;
mod workload;

use crate::clock::{cpu_seconds, median};
use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use facts::{Facts, Found};
use workload::Workload;

type Engine = fn(Workload, &Facts) -> Result<Found, String>;

pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let runs = if extent.small { 1 } else { 5 };
    let mut engines: Vec<(&str, Engine)> = vec![("tidemill", ours::run)];
    if extent.peers {
        engines.push(("ascent", ascent_peer::run));
        engines.push(("datafrog", datafrog_peer::run));
    }
    for workload in Workload::ALL {
        let facts = workload.facts(extent.small);
        let mut seconds = vec![Vec::new(); engines.len()];
        let mut found = None;
        let mut bytes_per_tuple = None;
        for _ in 0..runs {
            for (engine, seconds) in engines.iter().zip(&mut seconds) {
                let (taken, result) = cpu_seconds(|| engine.1(workload, &facts));
                let result = result?;
                seconds.push(taken);
                let tuples = *found.get_or_insert(result.tuples);
                if tuples != result.tuples {
                    let (case, who) = (workload.name(), engine.0);
                    let got = result.tuples;
                    return Err(format!("{case}: {who} found {got} tuples, others {tuples}"));
                }
                if let Some(bytes) = result.bytes {
                    bytes_per_tuple = Some(bytes as f64 / tuples.max(1) as f64);
                }
            }
        }
        let row = |who: &str, metric, value, unit| {
            Row::new("datalog", workload.name(), who, (metric, unit), (value, runs))
        };
        let rows: Vec<Row> = engines
            .iter()
            .zip(seconds)
            .map(|((who, _), seconds)| row(who, "cpu_s", median(seconds), "s"))
            .collect();
        report.case(&rows, Better::Low);
        if let Some(bytes) = bytes_per_tuple {
            report.row(&row("tidemill", "bytes_per_tuple", bytes, "bytes"));
        }
        let tuples = found.unwrap_or(0);
        report.note(&format!("{}: {tuples} tuples, equal for all", workload.name()));
    }
    Ok(())
}
