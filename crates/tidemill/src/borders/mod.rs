//! Where the parts of a program reach each other: how that is checked when it is loaded, and what
//! goes over when it runs.
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
//! In most, `check` says what of it does not fit, with places on both sides; `border` is what has
//! been checked, and `state` what there is of it in a node that runs. What crosses is a call of the
//! other engine on the same loop: the functions of each `mod` take the machine, which holds all the
//! states. What finds no room there is counted. [`schemas`] is operators and functions that a node
//! calls itself, and has no such state. [`files`] has how tuples become files.

mod apps;
mod batches;
mod check;
mod checked;
pub mod components;
mod counterparts;
pub mod decode;
pub(crate) mod devices;
mod fields;
pub mod files;
pub mod flows;
mod inbox;
mod latency;
mod messages;
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
use tidemill_overlog::node::Crossing;
use tidemill_relation::TupleBuf;

use crate::components::system::confined::Root;
use crate::machine::Machine;

pub use checked::Checked;
use files::{Destination, Existing};
pub(crate) use rebind::{rebind, rebind_schemas};
pub(crate) use state::Borders;

/// How often what waits to be written to files is.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Reports what failed in files.
fn report(machine: &Machine, faults: &[String]) {
    faults.iter().for_each(|fault| machine.journal.get_mut().console.note(fault));
}

/// Finds the links of all borders in the graph that runs now.
pub(crate) fn link(machine: &mut Machine) {
    tables::link(machine);
    packets::link(machine);
    decode::link(machine);
    devices::link(machine);
    flows::link(machine);
}

/// The graph has breathed, for the last time if it is finished: takes the packets that have come to
/// apps that are borders.
pub(crate) fn take(machine: &mut Machine, events: &mut Loop<Machine>, is_finished: bool) {
    settings::breathed(machine, events.now());
    tables::breathed(machine, events, is_finished);
    packets::take(machine, events);
    decode::take(machine, events);
    devices::take(machine, events);
    flows::take(machine, events);
}

/// Opens the files that rules write, of all nodes, below a folder, and those of the one node of a
/// run. In a run what waits for them is written each second; in virtual time nobody waits, and a
/// timer would keep time going.
///
/// # Errors
/// There is no such folder.
pub(crate) fn open_files(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    root: Option<&Path>,
    existing: Existing,
) -> Result<(), String> {
    if !machine.has_scopes() {
        open_node_files(machine, events, root, existing)?;
    }
    let root = Root::open_folder(root);
    if !machine.sinks.is_empty() || root.is_ok() {
        let faults = machine.sinks.open(Destination { root: root?, existing }, events.wall());
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
    /// From now on writes each second what waits for files, unless in virtual time.
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

/// Opens the files of the node whose turn it is.
///
/// # Errors
/// There is no such folder.
pub(crate) fn open_node_files(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    root: Option<&Path>,
    existing: Existing,
) -> Result<(), String> {
    if !machine.node.borders.have_files() {
        return Ok(());
    }
    let place = Destination { root: Root::open_folder(root)?, existing };
    let faults = machine.node.borders.decoders.open(&place, events.wall());
    report(machine, &faults);
    Ok(())
}

/// Ends the files of the node whose turn it is; gives what was lost.
pub(crate) fn finish_node_files(machine: &mut Machine) -> Vec<String> {
    let faults = machine.node.borders.decoders.finish();
    report(machine, &faults);
    machine.node.borders.decoders.problems().collect()
}

/// Ends the files that rules write; gives what was lost.
pub(crate) fn finish_files(machine: &mut Machine) -> Vec<String> {
    let faults = machine.sinks.finish();
    report(machine, &faults);
    machine.sinks.problems().collect()
}

/// Takes over what rules have derived in a turn.
pub(crate) fn crossed(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    tuples: &TupleBuf<Crossing>,
) {
    packets::send(machine, events, tuples);
    settings::take(machine, events, tuples);
    tables::take(machine, events, tuples);
    programs::take(machine, events, tuples);
    sinks::take(machine, events, tuples);
    components::take(machine, events, tuples);
    rules::take(machine, events, tuples);
}

/// A turn has ended: what waited for the node to have room may go on.
pub(crate) fn turned(machine: &mut Machine, events: &mut Loop<Machine>) {
    inbox::turned(machine, events);
    components::go_on(machine, events);
    rules::go_on(machine, events);
}
