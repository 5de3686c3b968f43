//! Where the parts of a program reach each other: how that is checked when it is loaded, and what
//! goes over when it runs.
//!
//! | border | between | how it is written |
//! |---|---|---|
//! | [`packets`] | packets and rules | app `Rules` without `file`: an event and a verdict |
//! | [`settings`] | rules and packets | the table `flow::config(@N, App, Key, Value)` |
//! | [`decode`] | packets and messages, then rules or files | app `Decode` |
//! | [`sinks`] | rules and files | `sink("FILE", name)` |
//! | [`messages`] | components and messages | interface `Messages` |
//! | [`schemas`] | rules and messages | `stage("proto:pkg.Type", ..)`, `f_decode`, `f_encode` |
//! | [`flows`] | packets and components | app `Script` without `file`: an instance for each flow |
//! | [`components`] | rules and components | `stage("cl:Component", in, out, keys(2))` |
//! | [`rules`] | components and rules | a required interface whose name begins with `Rules` |
//!
//! In simulations packets go from node to node by [`devices`].
//!
//! In each, `check` says what of it does not fit, with places on both sides. What crosses is a
//! call of the other engine on the same loop; what finds no room there is counted. [`files`] has
//! how tuples become files.

mod apps;
pub mod components;
pub mod decode;
pub(crate) mod devices;
pub mod files;
pub mod flows;
mod inbox;
mod latency;
mod messages;
pub mod packets;
mod parameters;
pub mod rules;
pub mod schemas;
pub mod settings;
pub mod sinks;

use std::path::Path;
use std::time::Duration;

use tidemill_event::Loop;
use tidemill_overlog::Given;
use tidemill_overlog::node::Crossing;
use tidemill_packet::graph::Graph;
use tidemill_proc::Worker;
use tidemill_relation::TupleBuf;
use tidemill_relation::plan::RelationId;
use tidemill_stat::Registry;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::sorted::SortedSet;

use crate::components::system::confined::Root;
use crate::machine::Machine;
use crate::program::Program;

use components::{StageBorder, Stages};
use decode::{DecodeBorder, Decoders};
use devices::Devices;
use files::{Existing, Place};
use flows::{FlowBorder, Flows};
use inbox::Batches;
use packets::{PacketBorder, Packets};
use rules::{Desk, RulesBorder};
use schemas::Schemas;
use settings::{Settings, SettingsBorder};
use sinks::SinkBorder;

/// The borders of a program, whose two sides fit.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Where its graph hands packets to its rules.
    pub packets: Vec<PacketBorder>,
    /// How its rules change settings of its apps, if they do.
    pub settings: Option<SettingsBorder>,
    /// Where its graph decodes messages.
    pub decoders: Vec<DecodeBorder>,
    /// The message types of the program.
    pub(crate) schemas: Schemas,
    /// The files that its rules write.
    pub sinks: Vec<SinkBorder>,
    /// Where its graph runs components.
    pub flows: Vec<FlowBorder>,
    /// The stages that components work on.
    pub components: Vec<StageBorder>,
    /// The interfaces by which components reach rules.
    pub rules: Vec<RulesBorder>,
}

impl Checked {
    /// Whether it writes files.
    pub fn have_files(&self) -> bool {
        !self.sinks.is_empty() || self.decoders.iter().any(|decoder| !decoder.has_event())
    }

    /// The relations whose tuples concern others than nodes.
    pub(crate) fn crossing(&self) -> impl Iterator<Item = RelationId> {
        let packets = self.packets.iter().flat_map(PacketBorder::crossing);
        let settings = self.settings.iter().map(|settings| settings.config);
        let components = self.components.iter().map(|stage| stage.input);
        let rules = self.rules.iter().flat_map(RulesBorder::crossing);
        let sinks = self.sinks.iter().map(|sink| sink.relation);
        packets.chain(settings).chain(components).chain(rules).chain(sinks)
    }
}

impl Program {
    /// Checks that both sides of each border fit; as far as both sides could be read.
    pub(crate) fn check_borders(&mut self) {
        self.check_settings_border();
        self.check_packet_borders();
        self.check_sinks();
        self.check_decoders();
        self.check_messages();
        self.check_flow_borders();
        self.check_stage_borders();
        self.check_rules_borders();
        self.borders.schemas = self.border.clone();
    }

    /// The events that come from other parts, where it is known what their columns hold.
    pub(crate) fn given_events(&self) -> Vec<Given> {
        self.packets_given().chain(self.messages_given()).collect()
    }

    /// The events that come from other parts.
    pub(crate) fn events_of_others(&self) -> SortedSet<String> {
        let packets = self.events_of_packets().chain(self.events_of_messages());
        let packets = packets.chain(self.events_of_settings());
        let components = self.events_of_stages().chain(self.events_of_components());
        packets.chain(components).collect()
    }
}

/// The borders of a node that runs.
#[derive(Default)]
pub(crate) struct Borders {
    /// Between packets and rules.
    pub(crate) packets: Packets,
    /// What rules say of the settings of apps, where they do.
    pub(crate) settings: Option<Settings>,
    /// Between packets and messages.
    pub(crate) decoders: Decoders,
    /// Between packets and components.
    pub(crate) flows: Flows,
    /// Stages that components work on.
    pub(crate) components: Stages,
    /// Rules as components reach them.
    pub(crate) rules: Desk,
    /// Devices of a simulation that are at links.
    pub(crate) devices: Devices,
    /// What is on its way to the rules.
    batches: Batches,
}

impl Borders {
    /// Of a program that has these; keys that come from outside are hashed with the secret.
    pub(crate) fn new(
        checked: &Checked,
        graph: Option<&Graph>,
        registry: &Registry,
        secret: Secret,
    ) -> Borders {
        let settings = checked.settings.zip(graph);
        Borders {
            packets: Packets::new(checked.packets.clone(), registry),
            settings: settings
                .map(|(border, graph)| Settings::new(border, graph.clone(), registry)),
            decoders: Decoders::new(&checked.decoders, registry),
            flows: Flows::new(&checked.flows, registry, secret),
            components: Stages::new(&checked.components, registry, secret),
            rules: Desk::new(&checked.rules, registry),
            devices: Devices::default(),
            batches: Batches::default(),
        }
    }

    /// Offers components what is on the other side, before they begin.
    pub(crate) fn offer(&mut self, worker: &mut Worker) {
        self.rules.offer(worker);
        self.flows.know(worker);
        if self.components.is_some() {
            // Rules may wake what waits.
            worker.hold();
        }
    }

    /// Whether its graph writes files.
    pub(crate) fn have_files(&self) -> bool {
        self.decoders.have_files()
    }

    /// Whether apps of another graph are as they were checked.
    ///
    /// # Errors
    /// The first that is not, and why that matters; as text.
    pub(crate) fn check(&self, graph: &Graph) -> Result<(), String> {
        let settled = |app: &str, what| {
            Err(format!("app {app}: {what} is settled when the program is loaded"))
        };
        match (self.decoders.unchecked(graph), self.flows.unchecked(graph)) {
            (Some(app), _) => settled(app, "what a Decode decodes"),
            (None, Some(app)) => settled(app, "how a Script runs components"),
            (None, None) => Ok(()),
        }
    }

    /// Whether packets were left on links because many events wait.
    pub(crate) fn hold_packets(&self) -> bool {
        self.packets.are_held() || self.decoders.are_held || self.flows.are_held()
    }

    /// Whether nothing is under way.
    pub(crate) fn are_idle(&self) -> bool {
        let packets_are = self.packets.are_idle() && !self.decoders.are_held;
        let components_are = self.components.are_idle() && self.flows.are_idle();
        packets_are && components_are && self.rules.is_idle()
    }
}

/// How often what waits to be written to files is.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Reports what failed in files.
fn report(machine: &Machine, faults: &[String]) {
    faults.iter().for_each(|fault| machine.journal.get_mut().console.note(fault));
}

/// Finds the links of all borders in the graph that runs now.
pub(crate) fn link(machine: &mut Machine) {
    packets::link(machine);
    decode::link(machine);
    devices::link(machine);
    flows::link(machine);
}

/// The graph has breathed: takes the packets that have come to apps that are borders.
pub(crate) fn take(machine: &mut Machine, events: &mut Loop<Machine>) {
    settings::breathed(machine, events.now());
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
    if !machine.sinks.is_empty() {
        let place = Place { root: Root::open_folder(root)?, existing };
        let faults = machine.sinks.open(&place, events.wall());
        report(machine, &faults);
    }
    let mut have_files = !machine.sinks.is_empty();
    machine.at_each_node(events, |machine, _| have_files |= machine.node.borders.have_files());
    if have_files && existing == Existing::Kept {
        events.every(FLUSH_EVERY, |machine: &mut Machine, events: &mut Loop<Machine>, _| {
            let now_ns = events.wall();
            let mut faults = machine.sinks.tick(now_ns);
            machine.at_each_node(events, |machine, _| {
                faults.append(&mut machine.node.borders.decoders.tick(now_ns));
            });
            report(machine, &faults);
        });
    }
    Ok(())
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
    let place = Place { root: Root::open_folder(root)?, existing };
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
