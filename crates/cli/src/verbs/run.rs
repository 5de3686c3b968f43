//! `run`.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use tidemill::console::Form;
use tidemill::keys::KeyFiles;
use tidemill::program::{FileKind, Kinds, Parsed, Program};
use tidemill::reload::{OnChange, Reload};
use tidemill::run::{
    Clock, ComponentOptions, Exposed, Exposure, Input, Listen, NodeOptions, PacketOptions,
    Prepared, Report, RunOptions,
};
use tidemill::service::Service;
use tidemill_overlog::fleet::Extra;
use tidemill_overlog::net::mail;
use tidemill_stat::Registry;

use super::common::{self, console};
use super::components::{self, end_at_once, most_of_memory};
use super::interrupt::{Interrupt, OnTerminate};
use super::tuples::{self, Addresses};
use super::{Relations, packets, script_file};
use crate::args::{Clocks, EngineKind, Fabric, RunArgs, unused};
use crate::output::explain_failure;
use crate::report::Reporter;
use crate::status::Status;

/// Runs a program until it ends or is interrupted.
pub fn run(args: RunArgs, report: Reporter) -> Status {
    if args.perf_map {
        tidemill_jit::name_all_for_perf();
    }
    match start(args, report) {
        Ok(status) | Err(status) => status,
    }
}

fn start(args: RunArgs, report: Reporter) -> Result<Status, Status> {
    let kinds = Kinds::of(&args.sources.files);
    refuse(&args, kinds, report)?;
    // With `--nodes`, nodes have their own addresses, and tools may insert any tuple later.
    let injected = args.nodes.is_none().then(|| script_file::injected(&args.tuples, None));
    let relations = Relations { exports: args.export.clone(), injected, ..Relations::default() };
    let parsed = super::parsed(&args.sources, relations);
    let program = parsed.program(&[]);
    super::report_on(&program, report);
    if program.has_errors() {
        return Err(Status::Failed);
    }
    common::refuse_root(args.root.as_deref(), &program, report)?;
    let has_rules = kinds.has(FileKind::Rules);
    let addresses = Addresses::of_run(args.address.as_deref(), args.listen.as_deref(), args.nodes);
    let extra = tuples::extra(&args.tuples, &program, &addresses, report)?;
    let no_signals = |error: io::Error| common::failed(report, format!("no signals: {error}"));
    let on_terminate = if has_rules { OnTerminate::Drain } else { OnTerminate::End };
    let interrupt = Interrupt::new(on_terminate).map_err(no_signals)?;
    let work = if has_rules { "a turn" } else { "compiling" };
    interrupt.insist(work, report).map_err(no_signals)?;
    let (json, stats, profile) = (args.engine.json, args.engine.stats, args.engine.profile.clone());
    let is_watched = args.no_checkpoints;
    let options = options(args, parsed, extra, &interrupt, report)?;
    check_reach(&options.nodes, has_rules, report)?;
    let prepared = Prepared::new(program, options);
    if !has_rules {
        // Components look for signals themselves, once they run.
        interrupt.over();
    }
    let form = if json { Form::Json } else { Form::Text };
    let console = console(form, report);
    // A run that may be ended at once must not buffer its output.
    let console = if is_watched { console.eager() } else { console };
    let ran = prepared.and_then(|prepared| prepared.run(console));
    interrupt.over();
    let ended = ran.map_err(|message| common::failed(report, &message))?;
    let starts_again = ended.starts_again;
    let written = common::write_profile(profile.as_deref(), &ended, report);
    let status = finish(ended, stats, report);
    written?;
    if starts_again { Err(begin_again(report)) } else { Ok(status) }
}

/// Restarts the same command in this process, as its program has changed.
fn begin_again(report: Reporter) -> Status {
    let mut words = std::env::args_os();
    let name = words.next();
    let program = std::env::current_exe().unwrap_or_else(|_| name.unwrap_or_default().into());
    let error = Command::new(program).args(words).exec();
    common::failed(report, format!("cannot start again: {error}"))
}

/// Refuses options without effect, and programs that cannot run.
fn refuse(args: &RunArgs, kinds: Kinds, report: Reporter) -> Result<(), Status> {
    common::refuse(&unused(args, kinds), report)?;
    if args.seed.is_some() && args.workers.is_some_and(|count| count > 1) {
        let line = "--workers has no effect here: a run with a seed is on one loop";
        common::refuse(&[line.to_owned()], report)?;
    }
    let is_interpreted = args.engine.engine == Some(EngineKind::Interpret);
    if args.perf_map && is_interpreted && !kinds.has(FileKind::Packets) {
        let line = "--perf-map has no effect here: with --engine interpret nothing is compiled";
        common::refuse(&[line.to_owned()], report)?;
    }
    common::refuse_idle(kinds, report)
}

/// The options for all parts of the program.
fn options(
    args: RunArgs,
    parsed: Parsed,
    extra: Vec<Extra>,
    interrupt: &Interrupt,
    report: Reporter,
) -> Result<RunOptions, Status> {
    let no_signals = |error: io::Error| common::failed(report, format!("no signals: {error}"));
    let service = common::service(args.user, report)?;
    let seal = common::seal(&args.keys, report)?;
    let token = common::token(args.token_file.as_ref(), report)?;
    let hang_up = Some(common::hang_ups().map_err(no_signals)?);
    let reload = Some(reload(&args, parsed, report));
    let components = component_options(&args);
    let default = NodeOptions::default();
    let nodes = NodeOptions {
        listen: match (args.listen, args.nodes) {
            (Some(address), _) => Listen::Address(address),
            (None, Some(count)) => Listen::Nodes(count),
            (None, None) => default.listen,
        },
        workers: args.workers.unwrap_or(1),
        address: args.address,
        exposure: if args.open { Exposure::Accepted } else { Exposure::Refused },
        fabric: match args.fabric.unwrap_or(Fabric::Udp) {
            Fabric::Udp => mail::Fabric::Udp,
            Fabric::Reliable => mail::Fabric::Reliable,
            Fabric::Tcp => mail::Fabric::Tcp,
        },
        seal,
        token,
        key_files: args.keys.key.map(|key| KeyFiles { key, peers: args.keys.peers }),
        landmark: common::landmark(&args.sources.defines),
        extra,
        turn_tuples_max: args.engine.turn_limit,
        profile: args.engine.profile.is_some(),
        ends_process: true,
    };
    let packets =
        PacketOptions { engine: packets::kind(args.engine.engine), busy_wait: args.busy_wait };
    let stop = interrupt.stream.try_clone().map_err(no_signals)?;
    let drain = interrupt.drain.as_ref().map(|drain| drain.try_clone());
    Ok(RunOptions {
        end_ns: args.end,
        seed: args.seed,
        clock: args.clock.map_or(Clock::Own, |Clocks::Wall| Clock::Wall),
        stop: Some(OwnedFd::from(stop)),
        stop_flag: Some(interrupt.requested.clone()),
        drain: drain.transpose().map_err(no_signals)?.map(OwnedFd::from),
        hang_up,
        reload,
        registry: registry(&service, report),
        service,
        nodes,
        components,
        packets,
    })
}

/// The options for components.
fn component_options(args: &RunArgs) -> ComponentOptions {
    ComponentOptions {
        engine: components::engine(args.engine.engine),
        memory_max: args.memory.or_else(most_of_memory),
        stack_max: args.stack,
        root: args.root.clone(),
        workers: args.workers,
        no_checkpoints: args.no_checkpoints,
        overdue: args.no_checkpoints.then_some(end_at_once),
        png: args.png.clone(),
        arguments: args.arguments.clone(),
        input: io::stdin().as_fd().try_clone_to_owned().map_or(Input::None, Input::Descriptor),
        ..ComponentOptions::default()
    }
}

/// How the program is reloaded.
fn reload(args: &RunArgs, parsed: Parsed, report: Reporter) -> Reload {
    let (sources, exports) = (args.sources.clone(), args.export.clone());
    let read = move || {
        let relations = Relations { exports: exports.clone(), ..Relations::default() };
        super::parsed(&sources, relations)
    };
    // What the command line inserts is known at the start only.
    let parsed = parsed.with_injected(None);
    let report_on = move |program: &Program| super::report_on(program, report);
    let on_change = if args.restart { OnChange::Restart } else { OnChange::GoOn };
    let (read, report) = (Box::new(read), Box::new(report_on));
    Reload { parsed, read, report, on_change, watches: args.watch }
}

fn check_reach(nodes: &NodeOptions, has_rules: bool, report: Reporter) -> Result<(), Status> {
    if !has_rules {
        return Ok(());
    }
    match nodes.check_reach() {
        Ok(Exposed::No) => {}
        Ok(Exposed::Yes) => report.warn("everyone who reaches this node can change what it holds"),
        Err(error) => {
            report.error(&error.to_string());
            return Err(Status::Usage);
        }
    }
    Ok(())
}

/// Reports the results of a run.
pub fn finish(ended: Report, stats: bool, report: Reporter) -> Status {
    let closed = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
    if let Some(summary) = &ended.nodes
        && !ended.failure.as_ref().is_some_and(closed)
    {
        report.summary(summary);
    }
    if stats {
        common::print_stats(&ended, report);
    }
    match ended.failure {
        _ if !ended.is_well() => Status::Failed,
        None => Status::Fine,
        Some(failure) => explain_failure(&failure),
    }
}

/// Published counters, if this machine has a folder for them.
pub fn registry(service: &Service, report: Reporter) -> Registry {
    let registry = match service.user {
        Some(_) => Registry::open_to_give(),
        None => Registry::open(),
    };
    if let Some(problem) = registry.problem() {
        report.warn(&format!("other processes cannot read the counters of this run: {problem}"));
    }
    registry
}
