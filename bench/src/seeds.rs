//! Simulations that `tidemill test` runs in a minute: `seeds`.
//!
//! Paxos of five nodes for 60 virtual seconds, under faults of the network and slow nodes: three
//! nodes propose at the same time, every five seconds for another instance, until the faults are to
//! end. All runs must be right.

use tidemill::program::{LoadOptions, Program};
use tidemill::script;
use tidemill::sim::{Settle, SimOptions};
use tidemill::test::{Faults, Test, TestOptions};
use tidemill_diag::Sources;

use crate::clock::{cpu_seconds, median};
use crate::extent::Extent;
use crate::report::{Report, Row};

const PAXOS: &str = include_str!("../../examples/paxos/paxos.olg");
const NODES: u32 = 5;
const SECONDS: u64 = 60;
const FAULTS: &str = "latency,loss,duplicate,reorder,slow";

/// Measures the CPU time of a seed, and the seeds in a minute of a processor.
///
/// # Errors
/// A run fails, or the program cannot be tested.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (seeds, runs) = if extent.small { (20, 1) } else { (1000, 5) };
    let test = test(seeds)?;
    let mut seconds = Vec::new();
    for _ in 0..runs {
        let (taken, done) = cpu_seconds(|| test.run(|_| {}));
        let done = done.map_err(|error| error.to_string())?;
        if (done.runs, done.failures) != (seeds, 0) {
            return Err(format!("{} of {} runs fail", done.failures, done.runs));
        }
        seconds.push(taken / seeds as f64);
    }
    let of_seed = median(seconds);
    let row = |metric, value| Row::new("seeds", "paxos-5", "tidemill", metric, (value, runs));
    report.row(&row(("cpu_s", "s"), of_seed));
    report.row(&row(("per_cpu_minute", "/min"), 60.0 / of_seed));
    Ok(())
}

fn test(seeds: u64) -> Result<Test, String> {
    let second = 1_000_000_000;
    let settle = Settle { after_ns: 20 * second, tolerated_ns: 0 };
    let each = SimOptions {
        end_ns: Some(SECONDS * second),
        settle: Some(settle),
        ..SimOptions::default()
    };
    let faults = Faults::parse(FAULTS).map_err(|error| error.to_string())?;
    let (nodes, seeds) = (NODES..=NODES, 1..=seeds);
    let options = TestOptions { each, seeds, nodes, faults, ..TestOptions::default() };
    let program = Program::of_text("paxos.olg", PAXOS, &LoadOptions::default());
    let mut test = Test::new(program, options).map_err(|error| error.to_string())?;
    let text = actions();
    let mut sources = Sources::new();
    let file = sources.add("paxos.sim", text.clone());
    let (script, _) = script::parse(file, &text);
    match test.script(&script, &sources).first() {
        Some(wrong) => Err(sources.render(wrong)),
        None => Ok(test),
    }
}

fn actions() -> String {
    let acceptor = |node| format!("at 0 fact * acceptor(NODE, \"n{node}:1\")\n");
    let propose = |instance| {
        let second = 5 * instance + 1;
        format!("at {second} inject i in 2..4 propose(NODE, {instance}, $i)\n")
    };
    (0..NODES).map(acceptor).chain((0..6).map(propose)).collect()
}
