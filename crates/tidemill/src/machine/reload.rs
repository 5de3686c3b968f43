//! The program of a run read again: its packet graph is replaced by difference, the rest goes on as
//! it is, or the run starts again.

use tidemill_event::Loop;
use tidemill_packet::drive;
use tidemill_packet::engine::Refused;
use tidemill_packet::graph::Graph;

use super::{Machine, nodes};
use crate::reload::OnChange;
use crate::watched::Watched;

/// Reads the program again if the content of one of its files has changed.
pub(crate) fn look(machine: &mut Machine, events: &mut Loop<Machine>) {
    if machine.source.as_mut().is_some_and(|source| source.files.have_changed()) {
        reload(machine, events);
    }
}

/// Goes on with the program as its files are now, as far as it can be replaced.
pub(crate) fn reload(machine: &mut Machine, events: &mut Loop<Machine>) {
    let Some(mut source) = machine.source.take() else { return };
    // What is wrong with it has been reported.
    if let Some(revision) = (source.read)() {
        source.files = Watched::new(revision.files);
        match (source.outline.changed(&revision.outline), source.on_change) {
            (None, _) => revision.graph.into_iter().for_each(|graph| {
                replace_graph(machine, events, &graph);
            }),
            (Some(kinds), OnChange::GoOn) => machine.note(&format!(
                "the old program goes on: its {kinds} have changed, and only a packet graph is \
                 replaced while it runs; --restart starts the run again"
            )),
            (Some(kinds), OnChange::Restart) => {
                machine.note(&format!("the {kinds} have changed: the run starts again"));
                machine.starts_again = true;
                match machine.has.nodes {
                    true => nodes::drain(machine, events),
                    false => events.stop(),
                }
            }
        }
    }
    machine.source = Some(source);
}

fn replace_graph(machine: &mut Machine, events: &mut Loop<Machine>, graph: &Graph) {
    machine.at_each_node(events, |machine, events| {
        let graph = match &mut machine.node.borders.settings {
            Some(settings) => settings.rewritten(graph.clone()),
            None => graph.clone(),
        };
        if let Some(app) = machine.node.borders.decoders.stranger(&graph) {
            let why = "what a Decode decodes is settled when the program is loaded";
            return machine.note(&format!("the old graph goes on: app {app}: {why}"));
        }
        if let Some(app) = machine.node.borders.flows.stranger(&graph) {
            let why = "how a Script runs components is settled when the program is loaded";
            return machine.note(&format!("the old graph goes on: app {app}: {why}"));
        }
        if let Err(refused) = drive::prepare(machine, events, graph) {
            machine.note(&kept(&refused));
        }
    });
}

/// Why the graph that ran goes on.
fn kept(refused: &Refused) -> String {
    format!("the old graph goes on: {refused}")
}
