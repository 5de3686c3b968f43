//! Packet graphs: engines, listings and statistics.

use tidemill::error::Error;
use tidemill::packets;
use tidemill::program::Program;
use tidemill::run::{self, PacketsEnded};

use crate::args::EngineKind;
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// Prints the parsed graph, the order of a breath, and the steps of apps that the graph defines.
pub fn explain(program: &Program, out: &mut Out) {
    let Some(packets) = &program.packets else { return };
    out.write(&format!("plan\n\n{packets}\n"));
    let order = packets.order();
    let names: Vec<&str> = order.iter().map(|&app| packets.apps[app].name.as_str()).collect();
    out.write(&format!("breath\n\n{}\n\n", names.join(" ")));
    let mut kinds: Vec<_> = packets.apps.iter().map(|app| app.kind).collect();
    kinds.retain(|kind| kind.source.is_some());
    kinds.sort_by_key(|kind| kind.name);
    kinds.dedup_by_key(|kind| kind.name);
    if !kinds.is_empty() {
        out.write(&format!("steps of handlers, of {} at most\n\n", packets::STEPS_MAX));
    }
    for kind in &kinds {
        for packets::HandlerSteps { handler, steps } in packets::steps_of(kind) {
            out.write(&format!("{} {handler}: {steps}\n", kind.name));
        }
    }
    if !kinds.is_empty() {
        out.write("\n");
    }
}

/// Lists the machine code.
pub fn list(program: &Program, out: &mut Out) -> Result<(), Error> {
    if let Some(packets) = &program.packets {
        out.write(&packets::listing(packets)?);
    }
    Ok(())
}

/// Packets, links and apps, a line each.
pub fn stats(ended: &PacketsEnded) -> String {
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

/// The engine of a graph.
pub fn kind(engine: Option<EngineKind>) -> run::EngineKind {
    match engine {
        Some(EngineKind::Dispatch) => run::EngineKind::Dispatch,
        _ => run::EngineKind::Compiled,
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
