//! What verbs do with packet graphs.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use signal_hook::consts::SIGHUP;
use signal_hook::low_level::pipe;
use tidemill::graph;
use tidemill::load::FileKind;
use tidemill::packets::{self, Ended, Loaded, RunOptions, Signal};
use tidemill_diag::has_errors;
use tidemill_packet::flow;

use super::interrupt::{Interrupt, OnTerminate};
use super::outside;
use crate::Status;
use crate::args::{
    EngineKind, ExplainArgs, Form, RunArgs, Sources, unused_explaining_graphs, unused_in_graphs,
};
use crate::output::Out;
use crate::report::Reporter;

/// Whether all files hold packet graphs.
pub fn are_meant(sources: &Sources) -> bool {
    let is_flow = |file: &String| FileKind::of(Path::new(file)) == Some(FileKind::Packets);
    sources.files.iter().all(is_flow)
}

/// The packet graph among files, if there is one, and the others.
pub fn apart(sources: &Sources) -> (Option<Sources>, Sources) {
    let is_flow = |file: &String| FileKind::of(Path::new(file)) == Some(FileKind::Packets);
    let (graphs, others): (Vec<String>, _) = sources.files.iter().cloned().partition(is_flow);
    let graphs = (!graphs.is_empty()).then(|| Sources { files: graphs, ..sources.clone() });
    (graphs, Sources { files: others, ..sources.clone() })
}

/// Loads a graph and reports what was found.
pub fn load(sources: &Sources, report: Reporter) -> Loaded {
    let files: Vec<PathBuf> = sources.files.iter().map(PathBuf::from).collect();
    let defines = sources.defines.iter().map(|define| format!("{}={}", define.name, define.value));
    let options =
        flow::Options { defines: defines.collect(), include_dirs: sources.includes.clone() };
    let loaded = packets::load(&files, &options);
    report.diagnostics(&loaded.sources, &loaded.diagnostics);
    loaded
}

/// `check`.
pub fn check(sources: &Sources, report: Reporter) -> Status {
    match has_errors(&load(sources, report).diagnostics) {
        true => Status::Failed,
        false => Status::Fine,
    }
}

/// `explain`: the graph as it is understood, the order of a breath, a drawing, or the machine code.
pub fn explain(args: &ExplainArgs, report: Reporter) -> Status {
    if let Err(status) = outside::refuse(&unused_explaining_graphs(args), report) {
        return status;
    }
    let Some(packets) = load(&args.sources, report).graph else { return Status::Failed };
    let drawing = packets::drawing(&packets);
    let mut out = Out::new();
    match args.form {
        _ if args.asm => match packets::listing(&packets) {
            Ok(listing) => out.write(&listing),
            Err(message) => return outside::failed(report, &message),
        },
        Form::Text => {
            out.write(&format!("plan\n\n{packets}"));
            let order = packets.order();
            let names = order.iter().map(|&app| packets.apps[app].name.as_str());
            let names: Vec<&str> = names.collect();
            out.write(&format!("\nbreath\n\n{}\n", names.join(" ")));
            out.write(&format!("\ngraph\n\n{}", graph::text(&drawing)));
        }
        Form::Dot => out.write(&graph::dot(&drawing)),
        Form::Mermaid => out.write(&graph::mermaid(&drawing)),
        Form::Svg => out.write(&graph::svg::draw(&drawing)),
    }
    out.finish()
}

/// `run`.
pub fn run(args: RunArgs, report: Reporter) -> Status {
    if let Err(status) = outside::refuse(&unused_in_graphs(&args), report) {
        return status;
    }
    let Some(graph) = load(&args.sources, report).graph else { return Status::Failed };
    let signals = Interrupt::new(OnTerminate::End)
        .and_then(|one| Ok((one, signal(args.sources.clone(), report)?)));
    let (interrupt, signal) = match signals {
        Ok(signals) => signals,
        Err(error) => return outside::failed(report, &format!("no signals: {error}")),
    };
    let service = match outside::service(args.user, report) {
        Ok(service) => service,
        Err(status) => return status,
    };
    let options = RunOptions {
        kind: kind(args.engine.engine),
        end_ns: args.end,
        seed: args.seed,
        busy_wait: args.busy_wait,
        stop: Some(interrupt.stream.as_raw_fd()),
        signal: Some(signal),
        registry: super::run::registry(&service, report),
        service,
    };
    match packets::run(graph, options, Box::new(move |text| report.note(&text))) {
        Err(message) => outside::failed(report, &message),
        Ok(ended) => {
            if args.engine.stats {
                print_stats(&ended, report);
            }
            for app in &ended.out_of_order {
                report.error(&format!("app {app} was out of order at the end"));
            }
            if ended.is_well() { Status::Fine } else { Status::Failed }
        }
    }
}

/// On SIGHUP a graph is read again.
pub fn signal(sources: Sources, report: Reporter) -> io::Result<Signal> {
    let (stream, write) = UnixStream::pair()?;
    pipe::register(SIGHUP, write)?;
    let reload = Box::new(move || {
        let graph = load(&sources, report).graph;
        if graph.is_none() {
            report.error("the old graph goes on");
        }
        graph
    });
    Ok(Signal { stream, reload })
}

/// `--stats`.
fn print_stats(ended: &Ended, report: Reporter) {
    let mut text = stats(ended);
    if let Some(bytes) = outside::peak_memory_bytes() {
        text.push_str(&format!("peak memory: {bytes} bytes\n"));
    }
    // If standard error is gone there is nobody to tell.
    let _ = report.notes().write_all(text.as_bytes());
}

/// Packets, links and apps, a line each.
pub fn stats(ended: &Ended) -> String {
    let (created, alive) = (ended.packets.allocated, ended.packets.alive());
    let mut text = format!("packets: {created} created, {alive} alive\n");
    for (name, link) in &ended.links {
        text.push_str(&format!(
            "link {name}: {} packets, {} bytes, {} dropped\n",
            link.rx_packets, link.rx_bytes, link.tx_drops
        ));
    }
    for (name, counts) in &ended.apps {
        for (what, count) in counts {
            text.push_str(&format!("app {name}: {what} {count}\n"));
        }
    }
    text
}

/// What runs a graph.
pub fn kind(engine: Option<EngineKind>) -> packets::EngineKind {
    match engine {
        Some(EngineKind::Dispatch) => packets::EngineKind::Dispatch,
        _ => packets::EngineKind::Compiled,
    }
}

/// `apps`.
pub fn apps(name: Option<&str>, report: Reporter) -> Status {
    let catalogue = packets::catalogue();
    let mut out = Out::new();
    match name {
        None => out.write(&catalogue.list()),
        Some(name) => {
            let types = catalogue.types();
            let found = types.iter().find(|one| one.name.eq_ignore_ascii_case(name));
            match found {
                Some(found) => out.write(&found.describe()),
                None => {
                    report.error(&format!("there is no app type `{name}`"));
                    return Status::Failed;
                }
            }
        }
    }
    out.finish()
}
