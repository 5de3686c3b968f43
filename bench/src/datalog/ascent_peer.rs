//! The workloads in ascent: rules compiled by a macro.

#![allow(missing_docs, clippy::all)]

use super::facts::{Facts, Found};
use super::workload::Workload;
use ascent::ascent;

ascent! {
    struct Closure;
    relation edge(i32, i32);
    relation path(i32, i32);
    path(x, y) <-- edge(x, y);
    path(x, z) <-- path(x, y), edge(y, z);
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

pub fn run(workload: Workload, facts: &Facts) -> Result<Found, String> {
    let tuples = match workload {
        Workload::Chain | Workload::Random => {
            let mut program = Closure { edge: facts.edges.clone(), ..Closure::default() };
            program.run();
            program.path.len()
        }
        Workload::SameGeneration => {
            let mut program =
                SameGeneration { edge: facts.edges.clone(), ..SameGeneration::default() };
            program.run();
            program.sg.len()
        }
        Workload::PointsTo => {
            let mut program = PointsTo {
                address_of: facts.address_of.clone(),
                assign: facts.edges.clone(),
                load: facts.load.clone(),
                store: facts.store.clone(),
                ..PointsTo::default()
            };
            program.run();
            program.pt.len()
        }
    };
    Ok(Found { tuples, bytes: None })
}
