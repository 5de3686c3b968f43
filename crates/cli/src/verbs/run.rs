//! `run`.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;

use tidemill::console::Form;
use tidemill::run::{self, Listen, RunOptions};
use tidemill_overlog::net::mail;
use tidemill_overlog::node::TURN_TUPLES_MAX;
use tidemill_stat::Registry;

use super::outside::{self, Prelude, console};
use super::packets;
use crate::Status;
use crate::args::{Fabric, RunArgs, idle};
use crate::output::explain_failure;
use crate::report::Reporter;

/// Runs a program until it ends or is interrupted.
pub fn run(args: RunArgs, report: Reporter) -> Status {
    if args.perf_map {
        tidemill_jit::name_all_for_perf();
    }
    if packets::are_meant(&args.sources) {
        return packets::run(args, report);
    }
    if super::components::are_meant(&args.sources) {
        return super::components::run(args, report);
    }
    let prelude = match outside::prelude(&idle(&args), &args.sources, &args.tuples, report) {
        Ok(prelude) => prelude,
        Err(status) => return status,
    };
    let Prelude { program, extra, interrupt } = prelude;
    let default = RunOptions::default();
    let options = RunOptions {
        listen: match (args.listen, args.nodes) {
            (Some(address), _) => Listen::Address(address),
            (None, Some(count)) => Listen::Nodes(count),
            (None, None) => default.listen,
        },
        end_ns: args.end,
        seed: args.seed,
        fabric: match args.fabric {
            Fabric::Udp => mail::Fabric::Udp,
            Fabric::Reliable => mail::Fabric::Reliable,
            Fabric::Tcp => mail::Fabric::Tcp,
        },
        landmark: outside::landmark(&args.sources.defines),
        extra,
        turn_tuples_max: args.engine.turn_limit.unwrap_or(TURN_TUPLES_MAX),
        stop: Some(interrupt.stream.as_raw_fd()),
        stop_flag: Some(interrupt.asked.clone()),
        registry: registry(report),
        ..default
    };
    let form = if args.engine.json { Form::Json } else { Form::Text };
    let ran = run::run(program, options, console(form));
    interrupt.over();
    match ran {
        Err(message) => outside::failed(report, &message),
        Ok(ended) => {
            let closed = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
            if !ended.failure.as_ref().is_some_and(closed) {
                report.summary(&ended.summary);
            }
            if args.engine.stats {
                outside::print_stats(&ended.summary);
            }
            match ended.failure {
                _ if !ended.is_well() => Status::Failed,
                None => Status::Fine,
                Some(failure) => explain_failure(&failure),
            }
        }
    }
}

/// Counters that other processes can read, as far as this machine has a place for them.
pub fn registry(report: Reporter) -> Registry {
    let registry = Registry::open();
    if let Some(problem) = registry.problem() {
        report.warn(&format!("nobody else can read the counters of this run: {problem}"));
    }
    registry
}
