//! `run`, `check` and `explain` of components.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use tidemill::components::explain;
use tidemill::components::{
    self, Clock, Counts, Ended, Engine, Input, Loaded, RunOptions, Streams,
};
use tidemill::graph;
use tidemill::load::FileKind;

use super::interrupt::{Interrupt, OnTerminate};
use super::outside;
use super::packets;
use crate::Status;
use crate::args::{
    Engine as EngineOptions, EngineKind, ExplainArgs, Form, RunArgs, SimArgs, Sources,
    unused_in_components, unused_sim_with_components, unused_with_components,
};
use crate::output::{Out, explain_failure};
use crate::report::Reporter;

/// Whether files hold components; those of another kind among them are told when they are loaded.
pub fn are_meant(sources: &Sources) -> bool {
    let is_one = |file: &String| FileKind::of(Path::new(file)) == Some(FileKind::Components);
    sources.files.iter().any(is_one)
}

/// Loads a program and reports what was found.
pub fn load(sources: &Sources, report: Reporter) -> Loaded {
    let files: Vec<PathBuf> = sources.files.iter().map(PathBuf::from).collect();
    let loaded = components::load(&files);
    report.diagnostics(&loaded.sources, &loaded.diagnostics);
    loaded
}

/// Runs a program until it ends or is interrupted.
pub fn run(args: RunArgs, report: Reporter) -> Status {
    let (graphs, others) = packets::apart(&args.sources);
    if let Err(status) = outside::refuse(&unused_with_components(&args, graphs.is_some()), report) {
        return status;
    }
    let (mut packets, mut signal) = (None, None);
    if let Some(graphs) = graphs {
        packets = packets::load(&graphs, report).graph;
        if packets.is_none() {
            return Status::Failed;
        }
        signal = match packets::signal(graphs, report) {
            Ok(signal) => Some(signal),
            Err(error) => return outside::failed(report, &format!("no signals: {error}")),
        };
    }
    let service = match outside::service(args.user, report) {
        Ok(service) => service,
        Err(status) => return status,
    };
    let options = RunOptions {
        registry: Some(super::run::registry(&service, report)),
        service,
        packets,
        signal,
        packet_engine: packets::kind(args.engine.engine),
        busy_wait: args.busy_wait,
        memory_max: args.memory.or_else(most_of_memory),
        stack_max: args.stack,
        root: args.root,
        seed: args.seed,
        workers: args.workers,
        no_checkpoints: args.no_checkpoints,
        overdue: args.no_checkpoints.then_some(end_at_once),
        png: args.png,
        arguments: args.arguments,
        input: io::stdin().as_fd().try_clone_to_owned().map_or(Input::None, Input::Descriptor),
        end_ns: args.end,
        ..RunOptions::default()
    };
    go(&others, &args.engine, options, report)
}

/// Runs a program in virtual time: it stands still while processes run, and jumps when all wait.
/// Nothing can be read from outside, so that the run repeats.
pub fn sim(args: &SimArgs, report: Reporter) -> Status {
    if let Err(status) = outside::refuse(&unused_sim_with_components(args), report) {
        return status;
    }
    let options = RunOptions {
        memory_max: most_of_memory(),
        seed: Some(args.seed),
        clock: Clock::Virtual,
        end_ns: args.end,
        ..RunOptions::default()
    };
    go(&args.sources, &args.engine, options, report)
}

fn go(
    sources: &Sources,
    chosen: &EngineOptions,
    mut options: RunOptions,
    report: Reporter,
) -> Status {
    let loaded = load(sources, report);
    if loaded.program.is_none() {
        return Status::Failed;
    }
    options.engine = match chosen.engine {
        Some(EngineKind::Interpret) => Engine::Interpreter,
        _ => Engine::Native,
    };
    match Interrupt::new(OnTerminate::End) {
        Ok(interrupt) => options.stop = Some(OwnedFd::from(interrupt.stream)),
        Err(error) => return outside::failed(report, &format!("no signals: {error}")),
    }
    let stdout = io::stdout();
    // What a run that is ended at once has written must be out.
    let is_watched = stdout.is_terminal() || options.overdue.is_some();
    let data = Box::new(stdout.lock());
    let streams = Streams { data, notes: report.notes(), is_watched };
    match components::run(&loaded, options, streams) {
        Err(message) => outside::failed(report, &message),
        Ok(ended) => {
            if chosen.stats {
                print_stats(&ended, report);
            }
            match ended.failure {
                Some(failure) => explain_failure(&failure),
                None if ended.is_well() => Status::Fine,
                None => Status::Failed,
            }
        }
    }
}

/// Prints tree, IR and graph, or draws the graph, or lists the machine code.
pub fn explain(args: &ExplainArgs, report: Reporter) -> Status {
    if let Err(status) = outside::refuse(&unused_in_components(args), report) {
        return status;
    }
    let loaded = load(&args.sources, report);
    let Some(program) = &loaded.program else { return Status::Failed };
    let graph = explain::graph(program);
    let mut out = Out::new();
    match args.form {
        _ if args.asm => match explain::listing(&loaded) {
            Ok(listing) => out.write(&listing),
            Err(message) => return outside::failed(report, &message),
        },
        Form::Text => {
            out.write(&format!("tree\n\n{}", loaded.tree));
            out.write(&format!("\nir\n\n{program}"));
            out.write(&format!("\ngraph\n\n{}", graph::text(&graph)));
        }
        Form::Dot => out.write(&graph::dot(&graph)),
        Form::Mermaid => out.write(&graph::mermaid(&graph)),
        Form::Svg => out.write(&graph::svg::draw(&graph)),
    }
    out.finish()
}

/// Ends the process: the run shall end, and a process without checkpoints does not let it.
fn end_at_once() {
    std::process::exit(0);
}

/// Three quarters of the machine's memory, so that a program that never has enough ends in a
/// fault and does not take others with it.
fn most_of_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024) / 4 * 3)
}

/// Prints what `--stats` asks for.
fn print_stats(ended: &Ended, report: Reporter) {
    let Counts { processes, components, channels, texts } = ended.counts;
    let mut text = String::new();
    for (name, count) in [
        ("processes", processes),
        ("components", components),
        ("channels", channels),
        ("texts", texts),
    ] {
        text.push_str(&format!("{name}: {} created, {} alive\n", count.created, count.alive));
    }
    text.push_str(&ended.packets.as_ref().map_or(String::new(), packets::stats));
    if ended.pore_drops > 0 {
        text.push_str(&format!("pores: {} frames dropped by the kernel\n", ended.pore_drops));
    }
    text.push_str(&format!("peak memory: {} bytes\n", ended.peak_bytes));
    // If standard error is gone there is nobody to tell.
    let _ = report.notes().write_all(text.as_bytes());
}
