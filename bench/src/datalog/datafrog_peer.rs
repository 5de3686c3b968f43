//! The workloads in datafrog: semi-naive loops written by hand.

use super::facts::{Facts, Found};
use super::workload::Workload;
use datafrog::{Iteration, Relation};

pub fn run(workload: Workload, facts: &Facts) -> Result<Found, String> {
    let tuples = match workload {
        Workload::Chain | Workload::Random => closure(facts),
        Workload::SameGeneration => same_generation(facts),
        Workload::PointsTo => points_to(facts),
    };
    Ok(Found { tuples, bytes: None })
}

fn closure(facts: &Facts) -> usize {
    let mut iteration = Iteration::new();
    // Indexed by the end of the path: (y, x).
    let path = iteration.variable::<(i32, i32)>("path");
    path.insert(facts.edges.iter().map(|&(x, y)| (y, x)).collect());
    let edge: Relation<(i32, i32)> = facts.edges.iter().copied().collect();
    while iteration.changed() {
        path.from_join(&path, &edge, |_, &x, &z| (z, x));
    }
    path.complete().len()
}

fn same_generation(facts: &Facts) -> usize {
    let mut iteration = Iteration::new();
    let edge: Relation<(i32, i32)> = facts.edges.iter().copied().collect();
    // sg(a, b), and with its first column replaced by a child x: (b, x).
    let sg = iteration.variable::<(i32, i32)>("sg");
    let half = iteration.variable::<(i32, i32)>("half");
    let mut base = Vec::new();
    for (at, &(parent, x)) in edge.iter().enumerate() {
        let siblings = edge[..at].iter().rev().take_while(|pair| pair.0 == parent);
        for &(_, y) in siblings {
            base.extend([(x, y), (y, x)]);
        }
    }
    base.retain(|(x, y)| x != y);
    sg.insert(base.into());
    while iteration.changed() {
        half.from_join(&sg, &edge, |_, &b, &x| (b, x));
        sg.from_join(&half, &edge, |_, &x, &y| (x, y));
    }
    sg.complete().len()
}

fn points_to(facts: &Facts) -> usize {
    let mut iteration = Iteration::new();
    let pt = iteration.variable::<(i32, i32)>("pt");
    // assign(y, z) as (z, y); load(y, x) as (x, y); store(y, x) as (y, x).
    let assign: Relation<(i32, i32)> = facts.edges.iter().map(|&(y, z)| (z, y)).collect();
    let load: Relation<(i32, i32)> = facts.load.iter().map(|&(y, x)| (x, y)).collect();
    let store: Relation<(i32, i32)> = facts.store.iter().copied().collect();
    // load: (z, y) for pt(x, z); store: (x, z) for pt(y, z).
    let loaded = iteration.variable::<(i32, i32)>("loaded");
    let stored = iteration.variable::<(i32, i32)>("stored");
    pt.insert(facts.address_of.clone().into());
    while iteration.changed() {
        pt.from_join(&pt, &assign, |_, &x, &y| (y, x));
        loaded.from_join(&pt, &load, |_, &z, &y| (z, y));
        pt.from_join(&loaded, &pt, |_, &y, &w| (y, w));
        stored.from_join(&pt, &store, |_, &z, &x| (x, z));
        pt.from_join(&stored, &pt, |_, &z, &w| (z, w));
    }
    pt.complete().len()
}
