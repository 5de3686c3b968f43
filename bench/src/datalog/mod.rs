//! Datalog: rules loaded at run time against rules compiled ahead of time.
//!
//! Each workload has facts from a seeded generator; all engines must find the same number of
//! tuples. Measured are the time to the fixed point from facts in memory (`cpu_s`), and from the
//! text of the program and its facts, as users have them (`door_s`): for peers from files, for us
//! by a simulation of the program. Then edges of a graph are inserted and deleted ([`updates`]).
//!
//! ```text
//! workload   rules, keys, facts      [program] the facts of points-to
//! facts      as files, which all engines read
//! engine     the interface of engines
//! ours, ascent_peer, datafrog_peer   in this process
//! differential_peer, souffle_peer    programs
//! ```

mod ascent_peer;
mod datafrog_peer;
mod differential_peer;
mod engine;
mod facts;
mod ours;
mod program;
mod rules;
mod souffle_peer;
mod updates;
mod workload;

use crate::clock::cpu_time;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use differential_peer::Differential;
use engine::{Engine, Found};
use facts::Files;
use workload::Workload;

pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let runs = if extent.small { 1 } else { 5 };
    // The seed of random keys.
    let seed = extent.seed.unwrap_or(cpu_time().as_nanos() as u64);
    let mut engines: Vec<(&str, Engine)> = vec![("tidemill", Box::new(ours::run))];
    let mut differential = None;
    if extent.peers {
        engines.push(("ascent", Box::new(ascent_peer::run)));
        engines.push(("datafrog", Box::new(datafrog_peer::run)));
        match souffle_peer::installed() {
            Ok(()) => engines.push(("souffle", Box::new(souffle_peer::run))),
            Err(reason) => report.note(&format!("souffle absent: {reason}")),
        }
    }
    // It takes minutes to build, too long for tests.
    if extent.peers && !extent.small {
        match Differential::new() {
            Ok(peer) => {
                differential = Some(peer.clone());
                let run = move |workload: &Workload, files: &Files| peer.run(workload, files);
                engines.push(("differential", Box::new(run)));
            }
            Err(reason) => report.note(&format!("differential absent: {reason}")),
        }
    }
    for workload in &Workload::ALL {
        let files =
            Files::write(workload.name, &workload.facts(extent.small), workload.keys, seed)?;
        measure(workload, &files, &engines, runs, report)?;
    }
    let others = &engines[1..];
    let incremental = |(who, _): &&(&str, Engine)| *who == "differential";
    let anew = others.len() - others.iter().filter(incremental).count();
    updates::run(extent.small, (seed, runs), differential.as_ref(), &others[..anew], report)
}

/// Measures a workload in all engines, in turns.
fn measure(
    workload: &Workload,
    files: &Files,
    engines: &[(&str, Engine)],
    runs: usize,
    report: &mut Report,
) -> Result<(), String> {
    let mut found: Vec<(&str, Vec<Found>)> =
        engines.iter().map(|(who, _)| (*who, Vec::new())).collect();
    for _ in 0..runs {
        for ((_, engine), (_, found)) in engines.iter().zip(&mut found) {
            found.extend(engine(workload, files)?);
        }
    }
    let all = || found.iter().flat_map(|(who, found)| found.iter().map(move |one| (who, one)));
    let tuples = all().next().map_or(0, |(_, first)| first.tuples);
    if let Some((who, one)) = all().find(|(_, one)| one.tuples != tuples) {
        let (case, got) = (workload.name, one.tuples);
        return Err(format!("{case}: {who} found {got} tuples, others {tuples}"));
    }
    for (metric, figure) in [
        ("cpu_s", (|one| one.cpu_s) as fn(&Found) -> Option<f64>),
        ("door_s", |one| Some(one.door_s)),
    ] {
        let row = |(who, found): &(&str, Vec<Found>)| {
            let figures: Vec<f64> = found.iter().filter_map(figure).collect();
            (!figures.is_empty())
                .then(|| Row::median("datalog", workload.name, who, (metric, "s"), figures))
        };
        report.case(&found.iter().filter_map(row).collect::<Vec<_>>(), Better::Low);
    }
    if let Some(bytes) = all().find_map(|(_, one)| one.bytes) {
        let per_tuple = bytes as f64 / tuples.max(1) as f64;
        let metric = ("bytes_per_tuple", "bytes");
        report.row(&Row::new("datalog", workload.name, "tidemill", metric, (per_tuple, runs)));
    }
    report.note(&format!("{}: {tuples} tuples, equal for all", workload.name));
    Ok(())
}
