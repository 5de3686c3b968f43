//! Where the parts of a program reach each other: how that is checked when it is loaded, and what
//! goes over when it runs.
//!
//! | border | between | how it is written |
//! |---|---|---|
//! | [`packets`] | packets and rules | app `Rules` without `file`: an event and a verdict |
//! | [`settings`] | rules and packets | the table `flow::config(@N, App, Key, Value)` |
//! | [`schemas`] | rules and messages | `stage("proto:pkg.Type", ..)`, `f_decode`, `f_encode` |
//! | [`components`] | rules and components | `stage("cl:Component", in, out, keys(2))` |
//! | [`rules`] | components and rules | a required interface whose name begins with `Rules` |
//!
//! In each, `check` says what of it does not fit, with places on both sides. What crosses is a
//! call of the other engine on the same loop; what finds no room there is counted.

pub mod components;
pub mod packets;
mod parameters;
pub mod rules;
pub mod schemas;
pub mod settings;

use std::collections::BTreeSet;

use tidemill_event::Loop;
use tidemill_overlog::node::Crossing;
use tidemill_packet::graph::Graph;
use tidemill_proc::layout::Worker;
use tidemill_relation::TupleBuf;
use tidemill_relation::plan::RelationId;
use tidemill_stat::Registry;
use tidemill_stdx::keyed::Secret;

use crate::machine::Machine;
use crate::program::Program;

use components::{StageBorder, Stages};
use packets::{PacketBorder, Packets};
use rules::{Desk, RulesBorder};
use settings::{Settings, SettingsBorder};

/// The borders of a program, whose two sides fit.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Where its graph hands packets to its rules.
    pub packets: Vec<PacketBorder>,
    /// How its rules change settings of its apps, if they do.
    pub settings: Option<SettingsBorder>,
    /// The stages that components work on.
    pub components: Vec<StageBorder>,
    /// The interfaces by which components reach rules.
    pub rules: Vec<RulesBorder>,
}

impl Checked {
    /// Whether anything goes between rules and packets.
    pub(crate) fn have_packets(&self) -> bool {
        !self.packets.is_empty() || self.settings.is_some()
    }

    /// Whether anything goes between rules and components.
    pub(crate) fn have_components(&self) -> bool {
        !self.components.is_empty() || !self.rules.is_empty()
    }

    /// The relations whose tuples concern others than nodes.
    pub(crate) fn crossing(&self) -> impl Iterator<Item = RelationId> {
        let packets = self.packets.iter().flat_map(PacketBorder::crossing);
        let settings = self.settings.iter().map(|settings| settings.config);
        let components = self.components.iter().map(|stage| stage.input);
        let rules = self.rules.iter().flat_map(RulesBorder::crossing);
        packets.chain(settings).chain(components).chain(rules)
    }
}

impl Program {
    /// Checks that both sides of each border fit; as far as both sides could be read.
    pub(crate) fn check_borders(&mut self) {
        self.check_settings_border();
        self.check_packet_borders();
        self.check_stage_borders();
        self.check_rules_borders();
    }

    /// The events that come from other parts.
    pub(crate) fn events_of_others(&self) -> BTreeSet<String> {
        let packets = self.events_of_packets().chain(self.events_of_settings());
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
    /// Stages that components work on.
    pub(crate) components: Stages,
    /// Rules as components reach them.
    pub(crate) rules: Desk,
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
            settings: settings.map(|(border, graph)| Settings::new(border, graph.clone())),
            components: Stages::new(&checked.components, registry, secret),
            rules: Desk::new(&checked.rules, registry),
        }
    }

    /// Offers components what is on the other side, before they begin.
    pub(crate) fn offer(&self, worker: &mut Worker) {
        self.rules.offer(worker);
        if self.components.is_some() {
            // Rules may wake what waits.
            worker.hold();
        }
    }

    /// Whether nothing is under way.
    pub(crate) fn are_idle(&self) -> bool {
        self.packets.are_idle() && self.components.are_idle() && self.rules.is_idle()
    }
}

/// Takes over what rules have derived in a turn.
pub(crate) fn crossed(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    tuples: &TupleBuf<Crossing>,
) {
    packets::send(machine, events, tuples);
    settings::take(machine, events, tuples);
    components::take(machine, events, tuples);
    rules::take(machine, events, tuples);
}

/// A turn has ended: what waited for the node to have room may go on.
pub(crate) fn turned(machine: &mut Machine, events: &mut Loop<Machine>) {
    components::go_on(machine, events);
    rules::go_on(machine, events);
}
