//! Borders between the parts of a program: the checks at load, and the transfer at run time.
//!
//! | border | between | how it is written |
//! |---|---|---|
//! | [`packets`] | packets and rules | app `Rules` without `file`: an event and a verdict |
//! | [`settings`] | rules and packets | the table `flow::config(@N, App, Key, Value)` |
//! | [`tables`] | packets and rules | the relation `App::table(@N, KEY, ..., VALUE, ...)` |
//! | [`programs`] | rules and the run | the table `program::rules(@N, Name, Text)` |
//! | [`decode`] | packets and messages, then rules or files | app `Decode` |
//! | [`sinks`] | rules and files | `sink("FILE", name)` |
//! | `messages` | components and messages | interface `Messages` |
//! | [`schemas`] | rules and messages | `stage("proto:pkg.Type", ..)`, `f_decode`, `f_encode` |
//! | [`flows`] | packets and components | app `Script` without `file`: an instance for each flow |
//! | [`components`] | rules and components | `stage("cl:Component", in, out, keys(2))` |
//! | [`rules`] | components and rules | a required interface whose name begins with `Rules` |
//!
//! In simulations packets go from node to node by `devices`.
//!
//! In most, `check` reports misfits with spans on both sides; `border` is the checked form, and
//! `state` its state in a running node. A transfer is a call of the other engine on the same loop:
//! the functions of each `mod` take the machine, which holds all the states. What finds no room
//! there is counted. [`schemas`] provides operators and functions that a node calls itself, and has
//! no such state. [`files`] writes tuples to files.

mod apps;
mod batches;
mod check;
mod checked;
pub mod components;
mod counterparts;
pub mod decode;
mod derived;
pub(crate) mod devices;
mod fields;
pub mod files;
pub mod flows;
mod inbox;
pub(crate) mod instances;
mod latency;
pub(crate) mod messages;
pub mod packets;
mod parameters;
pub mod programs;
mod rebind;
mod rows;
pub mod rules;
pub mod schemas;
pub mod settings;
pub mod sinks;
mod state;
pub mod tables;

use std::path::Path;
use std::time::Duration;

use tidemill_event::Loop;
use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::node::Crossing;
use tidemill_relation::TupleBuf;

use crate::components::system::confined::Root;
use crate::error::Error;
use crate::machine::Machine;

pub use checked::Checked;
use files::{Destination, Existing, Folders};
pub(crate) use rebind::{rebind, rebind_schemas};
pub(crate) use state::Borders;

/// The period of writes to files.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Reports errors of files.
fn report(machine: &Machine, faults: &[String]) {
    faults.iter().for_each(|fault| machine.remark(fault));
}

/// Finds the links of all borders in the graph that runs now.
pub(crate) fn link(machine: &mut Machine) {
    tables::link(machine);
    packets::link(machine);
    decode::link(machine);
    devices::link(machine);
    flows::link(machine);
}

/// The graph has breathed, for the last time if it is finished: takes the packets on the links of
/// border apps.
pub(crate) fn take(machine: &mut Machine, events: &mut Loop<Machine>, is_finished: bool) {
    settings::breathed(machine, events.now());
    instances::breathed(machine, events);
    tables::breathed(machine, events, is_finished);
    packets::take(machine, events);
    decode::take(machine, events);
    devices::take(machine, events);
    flows::take(machine, events);
    instances::post(machine);
    instances::outside::take(machine, events);
}

/// Opens the files of rules below a folder, for all nodes, and those of the one node of a run. A
/// run writes them each second; virtual time has no such timer, which would keep the simulation
/// going.
///
/// # Errors
/// There is no such folder.
pub(crate) fn open_files(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    root: Option<&Path>,
    existing: Existing,
) -> Result<(), Error> {
    if !machine.has_scopes() {
        open_node_files(machine, events, root, existing)?;
    }
    let nodes = machine.fleet.ids().count();
    let folders = Folders::open(root, u32::try_from(nodes).unwrap_or(u32::MAX), existing);
    if !machine.sinks.is_empty() || folders.is_ok() {
        let faults = machine.sinks.open(folders?, events.wall());
        report(machine, &faults);
    }
    let mut have_files = !machine.sinks.is_empty();
    machine.at_each_node(events, |machine, _| have_files |= machine.node.borders.have_files());
    if have_files {
        machine.write_each_second(events);
    }
    Ok(())
}

impl Machine {
    /// Starts to write buffered rows each second, unless in virtual time.
    fn write_each_second(&mut self, events: &mut Loop<Machine>) {
        if !self.sinks.begin_flushing() {
            return;
        }
        events.every(FLUSH_EVERY, |machine: &mut Machine, events: &mut Loop<Machine>, _| {
            let now_ns = events.wall();
            let mut faults = machine.sinks.tick(now_ns);
            machine.at_each_node(events, |machine, _| {
                faults.append(&mut machine.node.borders.decoders.tick(now_ns));
            });
            report(machine, &faults);
        });
    }
}

/// Opens the files of the current node.
///
/// # Errors
/// There is no such folder.
pub(crate) fn open_node_files(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    root: Option<&Path>,
    existing: Existing,
) -> Result<(), Error> {
    if !machine.node.borders.have_files() {
        return Ok(());
    }
    let place = Destination { root: Root::open_folder(root)?, existing };
    let faults = machine.node.borders.decoders.open(&place, events.wall());
    report(machine, &faults);
    Ok(())
}

/// Ends the files of the current node; returns reports of lost rows.
pub(crate) fn finish_node_files(machine: &mut Machine) -> Vec<String> {
    let faults = machine.node.borders.decoders.finish();
    report(machine, &faults);
    machine.node.borders.decoders.problems().collect()
}

/// Counts what waits between the engines of the current node as lost, as it crashes. Packets are
/// counted with those of the graph.
pub(crate) fn lose(machine: &mut Machine) {
    machine.node.borders.components.lose();
    machine.node.borders.rules.iter().for_each(|rules| rules.lose());
}

/// Ends the files of rules; returns reports of lost rows.
pub(crate) fn finish_files(machine: &mut Machine) -> Vec<String> {
    let faults = machine.sinks.finish();
    report(machine, &faults);
    machine.sinks.problems().collect()
}

/// Passes the tuples derived in a turn to other engines.
pub(crate) fn crossed(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    node: NodeId,
    tuples: &TupleBuf<Crossing>,
) {
    packets::send(machine, events, tuples);
    instances::give_back(machine, events);
    settings::take(machine, events, tuples);
    tables::take(machine, events, tuples);
    programs::take(machine, events, tuples);
    sinks::take(machine, events, node, tuples);
    components::take(machine, events, tuples);
    rules::take(machine, events, tuples);
}

/// A turn has ended: resumes transfers that waited for room in the inbox.
pub(crate) fn turned(machine: &mut Machine, events: &mut Loop<Machine>) {
    inbox::turned(machine, events);
    instances::go_on(machine, events);
    components::go_on(machine, events);
    rules::go_on(machine, events);
}
