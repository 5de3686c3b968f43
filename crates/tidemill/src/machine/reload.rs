//! The program of a run read again: its packet graph is replaced by difference, the rest goes on as
//! it is, or the run starts again.

use tidemill_event::Loop;
use tidemill_packet::drive;
use tidemill_packet::graph::Graph;

use super::{Machine, nodes};
use crate::reload::OnChange;
use crate::watched::Watched;

/// Reads the program again if the content of one of its files has changed.
pub(crate) fn look(machine: &mut Machine, events: &mut Loop<Machine>) {
    let files = machine.source.as_mut().and_then(|source| source.files.as_mut());
    if files.is_some_and(Watched::have_changed) {
        reload(machine, events);
    }
}

/// Goes on with the program as its files are now, as far as it can be replaced.
pub(crate) fn reload(machine: &mut Machine, events: &mut Loop<Machine>) {
    let Some(mut source) = machine.source.take() else { return };
    // What is wrong with it has been reported.
    if let Some(revision) = (source.read)() {
        if let Some(files) = &mut source.files {
            *files = Watched::new(revision.files);
        }
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
        let checked = machine.node.borders.check(&graph);
        let replaced = checked.and_then(|()| {
            drive::prepare(machine, events, graph).map_err(|refused| refused.to_string())
        });
        if let Err(why) = replaced {
            machine.note(&format!("the old graph goes on: {why}"));
        }
    });
}
