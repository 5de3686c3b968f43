//! Collections by key: `maps`.
//!
//! Ours is `bench/cl/maps.com`; Go's map and those of Rust's library do the same, case by case.
//! Keys are drawn at run time from a seed that changes with each measurement. Memory is the
//! increase to the peak of the process.

mod rust;

use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::cl;
use crate::extent::Extent;
use crate::measure::{Measured, measured};
use crate::report::Report;
use crate::serial::{self, Bench, Case};

const SOURCE: &str = include_str!("../../cl/maps.com");

pub const BENCH: Bench = Bench {
    name: "maps",
    own: &["tidemill", "hashmap", "btreemap"],
    measure: measure_own,
    memory: true,
};

/// Measures all cases.
///
/// # Errors
/// A contender fails, or has another result.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let seed = (now % 1_000_000_007) as u64 + 1;
    let case = |name, number, count, rounds| {
        let parameters = vec![number, seed, count, rounds];
        Ok(Case { name, expected: with_btreemap(&parameters)?, parameters })
    };
    let cases: Result<Vec<Case>, String> = if extent.small {
        [case("sparse", 1, 3000, 2), case("text", 2, 1000, 5), case("foreach", 3, 3000, 4)]
    } else {
        [
            case("sparse", 1, 1_000_000, 2),
            case("text", 2, 300_000, 10),
            case("foreach", 3, 500_000, 4),
        ]
    }
    .into_iter()
    .collect();
    serial::run(&BENCH, &cases?, Vec::new, extent, report)
}

fn measure_own(who: &str, parameters: &[u64]) -> Result<Measured, String> {
    match who {
        "tidemill" => cl::run(SOURCE, parameters, cl::Options { checkpoints: true, workers: 1 }),
        "hashmap" => measured(|| with_hashmap(parameters)),
        "btreemap" => measured(|| with_btreemap(parameters)),
        _ => Err(format!("nobody is called {who}")),
    }
}

fn with_hashmap(parameters: &[u64]) -> Result<u64, String> {
    match *parameters {
        [1, seed, count, rounds] => Ok(rust::sparse::<HashMap<_, _>>(seed, count, rounds)),
        [2, seed, count, rounds] => {
            let (words, x) = rust::drawn_words(seed, count);
            Ok(rust::words::<HashMap<_, _>>(&words, x, rounds))
        }
        [3, seed, count, rounds] => Ok(rust::ordered::<HashMap<_, _>>(seed, count, rounds)),
        _ => Err("there is no such case".to_owned()),
    }
}

fn with_btreemap(parameters: &[u64]) -> Result<u64, String> {
    match *parameters {
        [1, seed, count, rounds] => Ok(rust::sparse::<BTreeMap<_, _>>(seed, count, rounds)),
        [2, seed, count, rounds] => {
            let (words, x) = rust::drawn_words(seed, count);
            Ok(rust::words::<BTreeMap<_, _>>(&words, x, rounds))
        }
        [3, seed, count, rounds] => Ok(rust::ordered::<BTreeMap<_, _>>(seed, count, rounds)),
        _ => Err("there is no such case".to_owned()),
    }
}
