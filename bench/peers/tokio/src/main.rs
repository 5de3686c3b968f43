//! The cases of the component benchmarks in the style of tokio: a task for each activity, bounded
//! channels between them.
//!
//! Usage: `peer THREADS CASE PARAMETERS`, THREADS 1 for the scheduler of one thread; cases are
//! `ring NODES ROUNDS`, `prodcons PRODUCERS CONSUMERS ITEMS`, `sieve LIMIT`, `spin ACTIVITIES
//! LOOPS`, `spawn COUNT`. Prints one JSON object: the figures, and the result.
#![forbid(unsafe_code)]

mod prodcons;
mod ring;
mod sieve;
mod spawn;
mod spin;

use std::process::ExitCode;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};

/// The capacity of a channel between two activities, as in ours.
const SLOTS: usize = 4;

/// The result of a case: hops, a sum, a count.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<String> {
    let [threads, case, parameters @ ..] = arguments else {
        return Err("usage: THREADS CASE PARAMETERS".into());
    };
    let runtime = runtime(threads.parse()?)?;
    let parameters: Vec<u64> =
        parameters.iter().map(|text| text.parse()).collect::<std::result::Result<_, _>>()?;
    let (case, parameters) = (case.as_str(), parameters.as_slice());
    if let ("spawn", &[count]) = (case, parameters) {
        let (alive, bytes) = runtime.block_on(spawn::run(count))?;
        return Ok(format!("{{\"result\":{alive},\"bytes\":{bytes}}}"));
    }
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    let result = match (case, parameters) {
        ("ring", &[nodes, rounds]) => runtime.block_on(ring::run(nodes, rounds)),
        ("prodcons", &[1, 1, items]) => runtime.block_on(prodcons::pair(items)),
        ("prodcons", &[producers, consumers, items]) => {
            runtime.block_on(prodcons::many(producers, consumers, items))
        }
        ("sieve", &[limit]) => runtime.block_on(sieve::run(limit)),
        ("spin", &[activities, loops]) => runtime.block_on(spin::run(activities, loops)),
        _ => Err("no such case, or other parameters".into()),
    }?;
    let (cpu, wall) = (cpu_seconds() - cpu, wall.elapsed().as_secs_f64());
    Ok(format!("{{\"cpu_s\":{cpu:.9},\"wall_s\":{wall:.9},\"result\":{result}}}"))
}

fn runtime(threads: usize) -> Result<Runtime> {
    Ok(match threads {
        1 => Builder::new_current_thread().build()?,
        _ => Builder::new_multi_thread().worker_threads(threads).build()?,
    })
}

/// User and system time of all threads so far.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
