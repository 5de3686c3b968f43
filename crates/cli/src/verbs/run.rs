//! `run`.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;

use tidemill::console::Form;
use tidemill::keys::KeyFiles;
use tidemill::run::{self, Exposed, Exposure, Listen, RunOptions};
use tidemill::service::Service;
use tidemill_overlog::net::mail;
use tidemill_stat::Registry;

use super::Relations;
use super::interrupt::OnTerminate;
use super::outside::{self, Prelude, console};
use super::packets;
use crate::Status;
use crate::args::{Fabric, RunArgs, unused};
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
    let unused = unused(&args);
    // Nodes that the command numbers are asked and told things later, by their addresses.
    let injected = args.nodes.is_none().then(|| outside::injected(&args.tuples, None));
    let relations = Relations { exports: args.export.clone(), injected };
    let prelude = outside::prelude(
        &unused,
        &args.sources,
        &args.tuples,
        relations,
        OnTerminate::Drain,
        report,
    );
    let prelude = match prelude {
        Ok(prelude) => prelude,
        Err(status) => return status,
    };
    let Prelude { program, operators, extra, interrupt } = prelude;
    let seal = match outside::seal(&args.keys, report) {
        Ok(seal) => seal,
        Err(status) => return status,
    };
    let token = match outside::token(args.token_file.as_ref(), report) {
        Ok(token) => token,
        Err(status) => return status,
    };
    let service = match outside::service(args.user, report) {
        Ok(service) => service,
        Err(status) => return status,
    };
    let reload = match args.keys.key.is_some().then(outside::hang_ups).transpose() {
        Ok(reload) => reload,
        Err(error) => return outside::failed(report, &format!("no signals: {error}")),
    };
    let default = RunOptions::default();
    let options = RunOptions {
        listen: match (args.listen, args.nodes) {
            (Some(address), _) => Listen::Address(address),
            (None, Some(count)) => Listen::Nodes(count),
            (None, None) => default.listen,
        },
        address: args.address,
        exposure: if args.open { Exposure::Accepted } else { Exposure::Refused },
        end_ns: args.end,
        seed: args.seed,
        fabric: match args.fabric.unwrap_or(Fabric::Udp) {
            Fabric::Udp => mail::Fabric::Udp,
            Fabric::Reliable => mail::Fabric::Reliable,
            Fabric::Tcp => mail::Fabric::Tcp,
        },
        seal,
        landmark: outside::landmark(&args.sources.defines),
        extra,
        operators,
        turn_tuples_max: args.engine.turn_limit,
        stop: Some(interrupt.stream.as_raw_fd()),
        stop_flag: Some(interrupt.asked.clone()),
        token,
        drain: interrupt.drain.as_ref().map(AsRawFd::as_raw_fd),
        key_files: args.keys.key.map(|key| KeyFiles { key, peers: args.keys.peers }),
        reload,
        registry: registry(&service, report),
        service,
    };
    match options.check_reach() {
        Ok(Exposed::No) => {}
        Ok(Exposed::Yes) => report.warn("everyone who reaches this node can change what it holds"),
        Err(message) => {
            report.error(&message);
            return Status::Usage;
        }
    }
    let form = if args.engine.json { Form::Json } else { Form::Text };
    let ran = run::run(program, options, console(form, report));
    interrupt.over();
    match ran {
        Err(message) => outside::failed(report, &message),
        Ok(ended) => {
            let closed = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
            if !ended.failure.as_ref().is_some_and(closed) {
                report.summary(&ended.summary);
            }
            if args.engine.stats {
                outside::print_stats(&ended.summary, report);
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
pub fn registry(service: &Service, report: Reporter) -> Registry {
    let registry = match service.user {
        Some(_) => Registry::open_to_give(),
        None => Registry::open(),
    };
    if let Some(problem) = registry.problem() {
        report.warn(&format!("nobody else can read the counters of this run: {problem}"));
    }
    registry
}
