//! What verbs do with packet graphs.

use tidemill::graph;
use tidemill::packets;
use tidemill::program::Program;
use tidemill::run::{self, PacketsEnded};

use super::explain::draw;
use crate::Status;
use crate::args::{EngineKind, ExplainArgs, Form};
use crate::output::Out;
use crate::report::Reporter;

/// Prints the graph as it is understood and the order of a breath, or a drawing, or the machine
/// code.
pub fn explain(program: &Program, args: &ExplainArgs, out: &mut Out) -> Result<(), String> {
    let Some(packets) = &program.packets else { return Ok(()) };
    let drawing = packets::drawing(packets);
    match args.form {
        _ if args.asm => out.write(&packets::listing(packets)?),
        Form::Text => {
            out.write(&format!("plan\n\n{packets}"));
            let order = packets.order();
            let names = order.iter().map(|&app| packets.apps[app].name.as_str());
            let names: Vec<&str> = names.collect();
            out.write(&format!("\nbreath\n\n{}\n", names.join(" ")));
            out.write(&format!("\ngraph\n\n{}", graph::text(&drawing)));
        }
        form => draw(&drawing, form, out),
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

/// What runs a graph.
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
