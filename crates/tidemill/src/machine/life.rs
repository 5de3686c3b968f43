//! The life of a node: starts its other engines, fails parts of them, and crashes the node.

use tidemill_event::Loop;
use tidemill_overlog::fleet::NodeId;
use tidemill_packet::drive;
use tidemill_proc::arm;

use super::node::{Others, Slot, slot};
use super::{Machine, end, packets};
use crate::borders;
use crate::error::Error;
use crate::script::Victim;

/// Components of a node of which [`mortals`] knows.
const MORTALS_MAX: usize = 10_000;

/// Starts the graph and the components of the current node.
///
/// # Errors
/// The graph cannot start.
pub(crate) fn begin(machine: &mut Machine, events: &mut Loop<Machine>) -> Result<(), Error> {
    let Some(maker) = machine.maker.clone() else { return Ok(()) };
    if machine.node.borders.have_files() {
        let folder = maker.components.graph_folder(machine.node.id)?;
        borders::open_node_files(machine, events, Some(&folder), maker.existing)?;
    }
    if let Some(graph) = &maker.parts.graph {
        borders::devices::open(machine, events)?;
        packets::configure(machine, events, graph.clone())?;
    }
    // An error at the start has been reported, and is the result of the node.
    if maker.parts.components.is_some() {
        match maker.parts.has_entry.then(|| machine.node.runner.worker().start()) {
            None | Some(Ok(())) => arm(machine, events),
            Some(Err(_)) => machine.node.is_over = true,
        }
    }
    Ok(())
}

/// Makes a component or an app of a node fail.
///
/// # Errors
/// The node has no component or app of that name, as text.
pub(crate) fn kill(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    id: NodeId,
    victim: &Victim,
) -> Result<(), String> {
    let scope = machine.scope_of(id).ok_or("is not alive, or has rules only")?;
    let killed = events.within(machine, scope, |machine, events| match victim {
        Victim::Component(path) => {
            let is_killed = machine.node.runner.worker().kill(path);
            arm(machine, events);
            is_killed
        }
        Victim::App(name) => {
            let is_killed = machine.node.driver.engine.kill(name);
            drive::wake(machine, events);
            is_killed
        }
    });
    match (killed, victim) {
        (Some(true), _) => Ok(()),
        (_, Victim::Component(path)) => Err(format!("has no component {path}")),
        (_, Victim::App(name)) => Err(format!("has no app {name} that runs")),
    }
}

/// What [`kill`] can make fail at a node, in a fixed order: apps, and components but the entry.
pub(crate) fn mortals(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    id: NodeId,
) -> Vec<Victim> {
    let Some(scope) = machine.scope_of(id) else { return Vec::new() };
    let found = events.within(machine, scope, |machine, _| {
        let apps = machine.node.driver.engine.graph().apps.iter();
        let mut found: Vec<Victim> = apps.map(|app| Victim::App(app.name.clone())).collect();
        let worker = machine.node.runner.worker();
        let entry = worker.entry();
        let (components, _) = worker.components(0, MORTALS_MAX);
        let others = components.into_iter().filter(|component| component.id != entry);
        found.extend(others.map(|component| Victim::Component(component.path)));
        found
    });
    found.unwrap_or_default()
}

/// Crashes a node: closes its resources, and counts its packets as lost, and what waits at its
/// borders.
pub(crate) fn crash(machine: &mut Machine, events: &mut Loop<Machine>, id: NodeId) {
    let Some(scope) = machine.scope_of(id) else { return };
    events.within(machine, scope, |machine, events| {
        borders::lose(machine);
        end::clear(machine, events);
        let packets = machine.lose_packets();
        let components = end::stop(machine);
        machine.former.add(machine.node.id, components, packets);
        borders::devices::close(machine, events);
        // Files keep the data written until then.
        borders::finish_node_files(machine);
    });
    events.end(scope);
    let Others { slots, scopes, .. } = &mut machine.others;
    scopes[scope.0 as usize] = None;
    slots[slot(id)] = Slot::default();
}
