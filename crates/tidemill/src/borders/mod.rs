//! Where the parts of a program reach each other: how that is checked when it is loaded, and what
//! goes over when it runs.
//!
//! | border | between | how it is written |
//! |---|---|---|
//! | [`packets`] | packets and rules | app `Rules` without `file`: an event and a verdict |
//! | [`settings`] | rules and packets | the table `flow::config(@N, App, Key, Value)` |
//! | [`schemas`] | rules and messages | `stage("proto:pkg.Type", ..)`, `f_decode`, `f_encode` |
//!
//! In each, `check` says what of it does not fit, with places on both sides. What crosses is a
//! call of the other engine on the same loop; what finds no room there is counted.

pub mod packets;
pub mod schemas;
pub mod settings;

use std::collections::BTreeSet;

use tidemill_event::Loop;
use tidemill_overlog::node::Crossing;
use tidemill_packet::graph::Graph;
use tidemill_relation::TupleBuf;
use tidemill_relation::plan::RelationId;
use tidemill_stat::Registry;

use crate::machine::Machine;
use crate::program::Program;

use packets::{PacketBorder, Packets};
use settings::{Settings, SettingsBorder};

/// The borders of a program, whose two sides fit.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Where its graph hands packets to its rules.
    pub packets: Vec<PacketBorder>,
    /// How its rules change settings of its apps, if they do.
    pub settings: Option<SettingsBorder>,
}

impl Checked {
    /// The relations whose tuples concern others than nodes.
    pub(crate) fn crossing(&self) -> impl Iterator<Item = RelationId> {
        let packets = self.packets.iter().flat_map(PacketBorder::crossing);
        packets.chain(self.settings.iter().map(|settings| settings.config))
    }
}

impl Program {
    /// Checks that both sides of each border fit; as far as both sides could be read.
    pub(crate) fn check_borders(&mut self) {
        self.check_settings_border();
        self.check_packet_borders();
    }

    /// The events that come from other parts.
    pub(crate) fn events_of_others(&self) -> BTreeSet<String> {
        self.events_of_packets().chain(self.events_of_settings()).collect()
    }
}

/// The borders of a node that runs.
#[derive(Default)]
pub(crate) struct Borders {
    /// Between packets and rules.
    pub(crate) packets: Packets,
    /// What rules say of the settings of apps, where they do.
    pub(crate) settings: Option<Settings>,
}

impl Borders {
    /// Of a program that has these.
    pub(crate) fn new(checked: &Checked, graph: Option<&Graph>, registry: &Registry) -> Borders {
        let settings = checked.settings.zip(graph);
        Borders {
            packets: Packets::new(checked.packets.clone(), registry),
            settings: settings.map(|(border, graph)| Settings::new(border, graph.clone())),
        }
    }

    /// Whether nothing is under way.
    pub(crate) fn are_idle(&self) -> bool {
        self.packets.are_idle()
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
}
