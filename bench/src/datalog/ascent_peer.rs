//! The workloads in ascent: rules compiled by a macro.

#![allow(missing_docs, clippy::all)]

use std::hash::Hash;

use super::engine::Found;
use super::facts::{Files, Key, Keys};
use super::workload::{Rules, Workload};
use crate::clock::cpu_seconds;
use ascent::{Dual, ascent};

ascent! {
    struct Closure<N: Clone + Eq + Hash>;
    relation edge(N, N);
    relation path(N, N);
    path(x, y) <-- edge(x, y);
    path(x, z) <-- path(x, y), edge(y, z);
}

ascent! {
    struct Closure3;
    relation edge(i32, i32, i32);
    relation path(i32, i32, i32);
    path(c, x, y) <-- edge(c, x, y);
    path(c, x, z) <-- path(c, x, y), edge(c, y, z);
}

ascent! {
    struct Closure4;
    relation edge(i32, i32, i32, i32);
    relation path(i32, i32, i32, i32);
    path(c, d, x, y) <-- edge(c, d, x, y);
    path(c, d, x, z) <-- path(c, d, x, y), edge(c, d, y, z);
}

ascent! {
    struct SameGeneration;
    relation edge(i32, i32);
    relation sg(i32, i32);
    sg(x, y) <-- edge(p, x), edge(p, y), if x != y;
    sg(x, y) <-- edge(a, x), sg(a, b), edge(b, y);
}

ascent! {
    struct PointsTo;
    relation address_of(i32, i32);
    relation assign(i32, i32);
    relation load(i32, i32);
    relation store(i32, i32);
    relation pt(i32, i32);
    pt(y, x) <-- address_of(y, x);
    pt(y, x) <-- assign(y, z), pt(z, x);
    pt(y, w) <-- load(y, x), pt(x, z), pt(z, w);
    pt(z, w) <-- store(y, x), pt(y, z), pt(x, w);
}

ascent! {
    struct Shortest;
    relation arc(i32, i32, i32);
    lattice cost(i32, i32, Dual<i32>);
    cost(x, y, Dual(*c)) <-- arc(x, y, c);
    cost(x, z, Dual(a.0 + b)) <-- cost(x, y, a), arc(y, z, b);
}

pub fn run(workload: &Workload, files: &Files) -> Result<Option<Found>, String> {
    match (workload.rules, workload.keys) {
        (Rules::Closure, Keys::Near) => closure::<i32>(files),
        (Rules::Closure, Keys::Far) => closure::<i64>(files),
        (Rules::Closure, Keys::Text) => closure::<&'static str>(files),
        (Rules::Closure3, _) => measured(
            || files.rows::<i32, 3>("edge"),
            |edges| {
                let edge = edges.into_iter().map(|[c, x, y]| (c, x, y)).collect();
                let mut program = Closure3 { edge, ..Closure3::default() };
                program.run();
                program.path.len()
            },
        ),
        (Rules::Closure4, _) => measured(
            || files.rows::<i32, 4>("edge"),
            |edges| {
                let edge = edges.into_iter().map(|[c, d, x, y]| (c, d, x, y)).collect();
                let mut program = Closure4 { edge, ..Closure4::default() };
                program.run();
                program.path.len()
            },
        ),
        (Rules::SameGeneration, _) => measured(
            || files.pairs("edge"),
            |edge| {
                let mut program = SameGeneration { edge, ..SameGeneration::default() };
                program.run();
                program.sg.len()
            },
        ),
        (Rules::PointsTo, _) => measured(
            || {
                Ok(PointsTo {
                    address_of: files.pairs("addressOf")?,
                    assign: files.pairs("edge")?,
                    load: files.pairs("load")?,
                    store: files.pairs("store")?,
                    ..PointsTo::default()
                })
            },
            |mut program| {
                program.run();
                program.pt.len()
            },
        ),
        (Rules::Shortest, _) => measured(
            || files.rows::<i32, 3>("arc"),
            |arcs| {
                let arc = arcs.into_iter().map(|[x, y, c]| (x, y, c)).collect();
                let mut program = Shortest { arc, ..Shortest::default() };
                program.run();
                program.cost.len()
            },
        ),
    }
}

fn closure<K: Key>(files: &Files) -> Result<Option<Found>, String> {
    measured(
        || files.pairs::<K>("edge"),
        |edge| {
            let mut program = Closure { edge, ..Closure::default() };
            program.run();
            program.path.len()
        },
    )
}

/// Measures with and without reading.
pub fn measured<F>(
    read: impl FnOnce() -> Result<F, String>,
    run: impl FnOnce(F) -> usize,
) -> Result<Option<Found>, String> {
    let (read_s, facts) = cpu_seconds(read);
    let facts = facts?;
    let (cpu_s, tuples) = cpu_seconds(|| run(facts));
    Ok(Some(Found { tuples, bytes: None, cpu_s: Some(cpu_s), door_s: read_s + cpu_s }))
}
