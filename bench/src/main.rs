//! The benchmarks: ours and every peer in one run, interleaved, with results checked.
//!
//! `cargo run --release -p tidemill-bench -- NAME [--peers] [--small] [--json]`; `list` prints the
//! names. Figures are CPU time (user and system, all threads) unless they say otherwise.

mod activities;
mod aggregates;
mod arrow;
mod borders;
mod cl;
mod clock;
mod cores;
mod datalog;
mod devices;
mod events;
mod explore;
mod extent;
mod filter;
mod floor;
mod flows;
mod histories;
mod instructions;
mod json;
mod loops;
mod maps;
mod measure;
mod mixed;
mod packets;
mod pores;
mod program;
mod proto;
mod report;
mod seeds;
mod serial;
mod stat;
mod tool;
mod traffic;
mod trust;
mod values;

use std::process::ExitCode;

use activities::Bench;
use clap::Parser;
use extent::Extent;
use report::{Form, Report};

/// Measures Tidemill and its peers.
#[derive(Parser, Debug)]
#[command(name = "tidemill-bench")]
struct Args {
    /// Which benchmark; `list` prints them.
    name: String,
    /// Measure peers in the same run.
    #[arg(long)]
    peers: bool,
    /// Small sizes: seconds, for tests.
    #[arg(long)]
    small: bool,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
    /// Seconds that a benchmark that can last shall last (`pores`).
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,
    /// What captures and keys are made from (`cores`, `flows`, `mixed`, `tables`), without it from
    /// the time; and payloads (`borders`).
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Count instructions instead of time, by callgrind (`kernels`, `borders`, `events`).
    #[arg(long)]
    instructions: bool,
    /// Measure one case alone (`proto`: `SpeedMessage1`, `logs`, `load` ...).
    #[arg(long)]
    case: Option<String>,
}

type Run = fn(Extent, &mut Report) -> Result<(), String>;

const BENCHES: &[(&str, &str, Run)] = &[
    ("values", "creating values under five ways to own memory; a node at rest", values::run),
    (
        "events",
        "events per second through rules, beside the same by hand; as datagrams",
        events::run,
    ),
    ("aggregates", "a change of a group under each aggregate, by its size", aggregates::run),
    ("datalog", "views to their fixed point: closure, points-to, shortest; changes", datalog::run),
    ("ring", "a token passed round a ring of activities", |extent, report| {
        activities::run(Bench::Ring, extent, report)
    }),
    ("prodcons", "producers and consumers with a buffer of 10", |extent, report| {
        activities::run(Bench::Prodcons, extent, report)
    }),
    ("sieve", "primes, with a filter activity for each", |extent, report| {
        activities::run(Bench::Sieve, extent, report)
    }),
    ("spin", "16 hot loops; the price of checkpoints", |extent, report| {
        activities::run(Bench::Spin, extent, report)
    }),
    ("spawn", "bytes of an activity that waits for a message", |extent, report| {
        activities::run(Bench::Spawn, extent, report)
    }),
    ("maps", "collections by key: integers far apart, texts, in ascending order", maps::run),
    ("loops", "arithmetic, arrays and calls, overflow and bounds checked", loops::run),
    ("arrow", "a million telemetry messages into Arrow columns", arrow::run),
    ("pores", "a driver over a pore and a native one; a round trip to another process", pores::run),
    ("stat", "what counting costs", stat::run),
    ("filter", "packets through a filter per second", filter::run),
    ("explore", "every state of five protocols, among them Paxos", explore::run),
    ("seeds", "simulations of five nodes of Paxos that `test` runs in a minute", seeds::run),
    ("histories", "deciding whether histories are linearizable", histories::run),
    ("breath", "idle breaths of packet graphs against the number of apps", packets::breath),
    ("basic1", "packets from a source through a Tee to two sinks", packets::basic1),
    ("chain", "packets through 1, 5 and 20 apps that change the header", packets::chain),
    ("idle-then-load", "packets after idle breaths and from the start", packets::idle_then_load),
    ("workloads", "30 apps and 60 links under traffic that changes", packets::workloads),
    ("kernels", "kernels of a file beside C by hand, XDP, a component", packets::kernels),
    ("tables", "look-ups in tables of a file beside C, DPDK and BPF", packets::tables),
    ("devices", "frames between interfaces beside C: sockets, rings, AF_XDP", devices::run),
    ("proto", "messages decoded and encoded, in bytes per second", proto::run),
    ("borders", "a crossing from one engine to another, each border", borders::run),
    ("trust", "sealed datagrams, handshakes, what strangers cost", trust::run),
    ("json", "JSON into messages and out of them, bytes a second", json::run),
    ("flows", "flow records of a capture beside softflowd, nfpcapd, argus", flows::run),
    ("cores", "the graph of `flows` by one worker and by several", cores::run),
    ("mixed", "examples/flows with all parts; a simulation of 1000 such nodes", mixed::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, verb, rest @ ..] = arguments.as_slice()
        && verb == "measure"
    {
        if let [who, bench, parameters @ ..] = rest
            && let Some(bench) = [maps::BENCH, loops::BENCH].iter().find(|one| one.name == bench)
        {
            let line = serial::measure(bench, who, parameters);
            return ended(line.map(|line| println!("{line}")));
        }
        if let [bench, variant, folder] = rest
            && bench == "mixed"
        {
            return ended(mixed::measure_in(variant, folder).map(|line| println!("{line}")));
        }
        if let [bench, nodes, seconds] = rest
            && bench == mixed::simulated::MEASURE
        {
            let line = mixed::simulated::measure_in(nodes, seconds);
            return ended(line.map(|line| println!("{line}")));
        }
        if let [bench, _, folder] = rest
            && bench == "flows"
        {
            return ended(flows::measure_in(folder.as_ref()).map(|line| println!("{line}")));
        }
        if let [bench, rest @ ..] = rest {
            match bench.as_str() {
                "kernels" => return ended(packets::measure_kernels(rest)),
                "borders" => return ended(borders::measure_in(rest)),
                "events" => return ended(events::measure_in(rest)),
                _ => {}
            }
        }
        return ended(activities::measure(rest).map(|line| println!("{line}")));
    }
    let args = Args::parse();
    if args.name == "list" {
        for (name, about, _) in BENCHES {
            println!("{name:<14} {about}");
        }
        return ExitCode::SUCCESS;
    }
    let Some((_, _, run)) = BENCHES.iter().find(|(name, ..)| *name == args.name) else {
        eprintln!("error: no benchmark `{}`; `list` prints their names", args.name);
        return ExitCode::from(2);
    };
    let form = if args.json { Form::Json } else { Form::Text };
    let extent = Extent {
        peers: args.peers,
        small: args.small,
        seconds: args.seconds,
        seed: args.seed,
        instructions: args.instructions,
        case: args.case.map(|case| &*case.leak()),
    };
    ended(run(extent, &mut Report::new(form)))
}

fn ended(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_runs_small_and_its_results_are_right() {
        for &(name, _, run) in BENCHES {
            // Peers in other languages need more than tests may require.
            let peers = Bench::ALL.iter().all(|bench| bench.name() != name)
                && !["explore", "histories", "json", "proto"].contains(&name);
            let extent = Extent { peers, small: true, ..Extent::default() };
            assert_eq!(run(extent, &mut Report::new(Form::Text)), Ok(()), "{name}");
        }
    }
}
