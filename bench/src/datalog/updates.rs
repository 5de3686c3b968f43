//! The closure of a random graph under changes of edges: a hundredth of them at once, and single
//! ones.
//!
//! Peers without incremental updates start anew, with the current edges.

use super::differential_peer::{Changed, Differential};
use super::engine::Engine;
use super::facts::{Facts, Files};
use super::ours::{self, Rows, Tables};
use super::workload::{Workload, pairs};
use crate::clock::cpu_seconds;
use crate::report::{Better, Report, Row};
use tidemill_stdx::rng::Rng;

/// The number of single edges that are inserted and deleted.
const SINGLE: usize = 5;

type Figure = fn(&Changed) -> f64;

const CASES: [(&str, Figure); 3] = [
    ("update-1pct", |one| one.all_s),
    ("edge-put", |one| one.put_s),
    ("edge-taken", |one| one.taken_s),
];

/// The files of the graph, with the changes, and those of the graph after them.
struct Graph {
    workload: &'static Workload,
    changes: Files,
    after: Files,
}

impl Graph {
    fn new(small: bool, seed: u64) -> Result<Graph, String> {
        let workload = Workload::random();
        let facts = workload.facts(small);
        let rows = facts.iter().flat_map(|edges| edges.cells.chunks_exact(2));
        let edges: Vec<[i32; 2]> = rows.map(|row| [row[0], row[1]]).collect();
        let few = edges.len().div_ceil(100);
        let (off, rest) = edges.split_at(few);
        let nodes = edges.iter().flatten().max().map_or(1, |most| *most as u32 + 1);
        let drawn = pairs(&mut Rng::new(43), nodes, 2 * few as u32);
        let on = drawn.into_iter().filter(|edge| !edges.contains(edge)).take(few);
        let on: Vec<[i32; 2]> = on.collect();
        let single = off.iter().take(SINGLE).copied();
        let changes = facts
            .with("off", off.iter().copied())
            .with("on", on.iter().copied())
            .with("single", single);
        let after = Facts::default().with("edge", rest.iter().chain(&on).copied());
        let write = |name, facts| Files::write(name, facts, workload.keys, seed);
        let (changes, after) = (write("changes", &changes)?, write("after", &after)?);
        Ok(Graph { workload, changes, after })
    }

    fn rows(&self, name: &str) -> Result<Rows, String> {
        ours::rows(self.workload, &self.changes, name)
    }

    /// Measures ours.
    fn change(&self) -> Result<Changed, String> {
        let (edges, off, on) = (self.rows("edge")?, self.rows("off")?, self.rows("on")?);
        let mut tables = Tables::new(self.workload.rules)?;
        tables.insert("edge", &edges)?;
        tables.commit()?;
        let (all_s, done) = cpu_seconds(|| {
            tables.delete("edge", &off)?;
            tables.insert("edge", &on)?;
            tables.commit()
        });
        done?;
        let tuples = tables.result().0;
        let (mut put_s, mut taken_s) = (0.0, 0.0);
        let single = self.rows("single")?;
        for edge in &single {
            let edge = vec![edge.clone()];
            let (seconds, done) = cpu_seconds(|| {
                tables.insert("edge", &edge)?;
                tables.commit()
            });
            put_s += seconds;
            done?;
            let (seconds, done) = cpu_seconds(|| {
                tables.delete("edge", &edge)?;
                tables.commit()
            });
            taken_s += seconds;
            done?;
        }
        if tables.result().0 != tuples {
            return Err("edges that came and went have changed the closure".to_owned());
        }
        let edges = single.len() as f64;
        Ok(Changed { tuples, all_s, put_s: put_s / edges, taken_s: taken_s / edges })
    }
}

/// Measures ours, differential dataflow, and the other engines, which start anew.
pub fn run(
    small: bool,
    (seed, runs): (u64, usize),
    differential: Option<&Differential>,
    others: &[(&str, Engine)],
    report: &mut Report,
) -> Result<(), String> {
    let graph = Graph::new(small, seed)?;
    let mut changed: Vec<(&str, Vec<Changed>)> = vec![("tidemill", Vec::new())];
    changed.extend(differential.map(|_| ("differential", Vec::new())));
    let mut anew: Vec<(&str, Vec<f64>)> = Vec::new();
    let mut found = Vec::new();
    for _ in 0..runs {
        for (who, figures) in &mut changed {
            let one = match (*who, differential) {
                ("differential", Some(peer)) => peer.change(graph.workload, &graph.changes)?,
                _ => graph.change()?,
            };
            found.push((*who, one.tuples));
            figures.push(one);
        }
        for (who, engine) in others {
            let Some(one) = engine(graph.workload, &graph.after)? else { continue };
            found.push((*who, one.tuples));
            let Some(cpu_s) = one.cpu_s else { continue };
            match anew.iter_mut().find(|(other, _)| other == who) {
                Some((_, figures)) => figures.push(cpu_s),
                None => anew.push((*who, vec![cpu_s])),
            }
        }
    }
    if found.iter().any(|one| one.1 != found[0].1) {
        return Err(format!("after the changes they found {found:?}"));
    }
    let row = |case: &str, who: &str, figures: Vec<f64>| {
        Row::median("datalog", case, who, ("cpu_s", "s"), figures)
    };
    for (case, figure) in CASES {
        let of = |(who, figures): &(&str, Vec<Changed>)| {
            row(case, who, figures.iter().map(figure).collect())
        };
        let mut rows: Vec<Row> = changed.iter().map(of).collect();
        if case == "update-1pct" {
            rows.extend(anew.iter().map(|(who, figures)| row(case, who, figures.clone())));
        }
        report.case(&rows, Better::Low);
    }
    Ok(())
}
