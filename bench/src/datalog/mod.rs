//! Datalog: rules loaded at run time against rules compiled ahead of time.
//!
//! Four workloads, each over facts from a seeded generator; everybody must find the same number
//! of tuples. What is measured: putting the facts in and reaching the fixed point.

mod ascent_peer;
mod datafrog_peer;
mod ours;
mod program;

use crate::clock::{cpu_seconds, median};
use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use tidemill_stdx::rng::Rng;

/// Facts as pairs, by relation.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The edges; for points-to, `assign(to, from)`.
    pub edges: Vec<(i32, i32)>,
    /// Points-to: `addressOf(variable, object)`.
    pub address_of: Vec<(i32, i32)>,
    /// Points-to: `load(to, pointer)`.
    pub load: Vec<(i32, i32)>,
    /// Points-to: `store(pointer, from)`.
    pub store: Vec<(i32, i32)>,
}

/// One workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// Transitive closure of a chain.
    Chain,
    /// Transitive closure of a random graph.
    Random,
    /// Same generation on a random graph.
    SameGeneration,
    /// Andersen's points-to analysis of a program ([`program`]).
    PointsTo,
}

impl Workload {
    const ALL: [Workload; 4] =
        [Workload::Chain, Workload::Random, Workload::SameGeneration, Workload::PointsTo];

    fn name(self) -> &'static str {
        match self {
            Workload::Chain => "chain",
            Workload::Random => "random",
            Workload::SameGeneration => "same-generation",
            Workload::PointsTo => "points-to",
        }
    }

    fn facts(self, small: bool) -> Facts {
        let scale = |large: i32, little: i32| if small { little } else { large };
        let mut random = Rng::new(42);
        match self {
            Workload::Chain => {
                let nodes = scale(2000, 60);
                let edges = (0..nodes - 1).map(|node| (node, node + 1)).collect();
                Facts { edges, ..Facts::default() }
            }
            Workload::Random => {
                let edges = pairs(&mut random, scale(1500, 60), scale(3000, 120));
                Facts { edges, ..Facts::default() }
            }
            Workload::SameGeneration => {
                let edges = pairs(&mut random, scale(1200, 50), scale(2400, 100));
                Facts { edges, ..Facts::default() }
            }
            Workload::PointsTo => program::facts(&mut random, scale(1000, 40) as u64),
        }
    }
}

/// `count` different pairs of numbers below `below`.
fn pairs(random: &mut Rng, below: i32, count: i32) -> Vec<(i32, i32)> {
    let mut seen = std::collections::BTreeSet::new();
    let mut pairs = Vec::new();
    while pairs.len() < count as usize {
        let mut next = || random.below(below as u64) as i32;
        let pair = (next(), next());
        if seen.insert(pair) {
            pairs.push(pair);
        }
    }
    pairs
}

/// What one engine found: tuples, and bytes per tuple where it can tell.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    tuples: usize,
    bytes: Option<usize>,
}

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
        let row = |who: &str, metric, value, unit| Row {
            bench: "datalog",
            case: workload.name().to_owned(),
            who: who.to_owned(),
            metric,
            value,
            unit,
            runs,
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
