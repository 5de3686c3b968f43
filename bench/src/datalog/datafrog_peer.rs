//! The workloads in datafrog: semi-naive loops written by hand.

use super::ascent_peer::measured;
use super::engine::Found;
use super::facts::{Files, Key, Keys};
use super::workload::{Rules, Workload};
use datafrog::{Iteration, Relation};

pub fn run(workload: &Workload, files: &Files) -> Result<Option<Found>, String> {
    match (workload.rules, workload.keys) {
        (Rules::Closure, Keys::Near) => measured(|| files.pairs::<i32>("edge"), closure),
        (Rules::Closure, Keys::Far) => measured(|| files.pairs::<i64>("edge"), closure),
        (Rules::Closure, Keys::Text) => measured(|| files.pairs::<&'static str>("edge"), closure),
        (Rules::Closure3, _) => measured(
            || files.rows::<i32, 3>("edge"),
            |edges| closure_of(edges.into_iter().map(|[c, x, y]| (c, x, y)).collect()),
        ),
        (Rules::Closure4, _) => measured(
            || files.rows::<i32, 4>("edge"),
            |edges| closure_of(edges.into_iter().map(|[c, d, x, y]| ((c, d), x, y)).collect()),
        ),
        (Rules::SameGeneration, _) => measured(|| files.pairs("edge"), same_generation),
        (Rules::PointsTo, _) => measured(|| statements(files), points_to),
        // It has no aggregates.
        (Rules::Shortest, _) => Ok(None),
    }
}

fn closure<K: Key>(edges: Vec<(K, K)>) -> usize {
    let mut iteration = Iteration::new();
    // Indexed by the end of the path: (y, x).
    let path = iteration.variable::<(K, K)>("path");
    path.insert(edges.iter().map(|&(x, y)| (y, x)).collect());
    let edge: Relation<(K, K)> = edges.into();
    while iteration.changed() {
        path.from_join(&path, &edge, |_, &x, &z| (z, x));
    }
    path.complete().len()
}

/// Closure among nodes of one colour.
fn closure_of<C: Copy + Ord + 'static>(edges: Vec<(C, i32, i32)>) -> usize {
    let mut iteration = Iteration::new();
    let path = iteration.variable::<((C, i32), i32)>("path");
    path.insert(edges.iter().map(|&(c, x, y)| ((c, y), x)).collect());
    let edge: Relation<((C, i32), i32)> = edges.iter().map(|&(c, x, y)| ((c, x), y)).collect();
    while iteration.changed() {
        path.from_join(&path, &edge, |&(c, _), &x, &z| ((c, z), x));
    }
    path.complete().len()
}

fn same_generation(edges: Vec<(i32, i32)>) -> usize {
    let mut iteration = Iteration::new();
    let edge: Relation<(i32, i32)> = edges.into();
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

/// The relations of points-to: address of, assign, load, store.
type Statements = [Vec<(i32, i32)>; 4];

fn statements(files: &Files) -> Result<Statements, String> {
    let pairs = |relation| files.pairs(relation);
    Ok([pairs("addressOf")?, pairs("edge")?, pairs("load")?, pairs("store")?])
}

fn points_to([address_of, assign, load, store]: Statements) -> usize {
    let mut iteration = Iteration::new();
    let pt = iteration.variable::<(i32, i32)>("pt");
    // assign(y, z) as (z, y); load(y, x) as (x, y); store(y, x) as (y, x).
    let assign: Relation<(i32, i32)> = assign.iter().map(|&(y, z)| (z, y)).collect();
    let load: Relation<(i32, i32)> = load.iter().map(|&(y, x)| (x, y)).collect();
    let store: Relation<(i32, i32)> = store.into();
    // load: (z, y) for pt(x, z); store: (x, z) for pt(y, z).
    let loaded = iteration.variable::<(i32, i32)>("loaded");
    let stored = iteration.variable::<(i32, i32)>("stored");
    pt.insert(address_of.into());
    while iteration.changed() {
        pt.from_join(&pt, &assign, |_, &x, &y| (y, x));
        loaded.from_join(&pt, &load, |_, &z, &y| (z, y));
        pt.from_join(&loaded, &pt, |_, &y, &w| (y, w));
        stored.from_join(&pt, &store, |_, &z, &x| (x, z));
        pt.from_join(&stored, &pt, |_, &z, &w| (z, w));
    }
    pt.complete().len()
}
