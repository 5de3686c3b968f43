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
//!
//! In each, `check` says what of it does not fit, with places on both sides. What crosses is a
//! call of the other engine on the same loop; what finds no room there is counted. [`files`] has
//! how tuples become files.

pub mod decode;
pub mod files;
mod messages;
pub mod packets;
pub mod schemas;
pub mod settings;
pub mod sinks;

use std::path::Path;
use std::time::Duration;

use std::collections::BTreeSet;

use tidemill_event::Loop;
use tidemill_overlog::Given;
use tidemill_overlog::node::Crossing;
use tidemill_packet::graph::Graph;
use tidemill_relation::TupleBuf;
use tidemill_relation::plan::RelationId;
use tidemill_stat::Registry;

use crate::components::system::confined::Root;
use crate::machine::Machine;
use crate::program::Program;
use crate::run::Clock;

use decode::{DecodeBorder, Decoders};
use files::{Existing, Place};
use packets::{PacketBorder, Packets};
use schemas::Schemas;
use settings::{Settings, SettingsBorder};
use sinks::{SinkBorder, Sinks};

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
}

impl Checked {
    /// Whether anything goes between rules and packets.
    pub(crate) fn have_packets(&self) -> bool {
        let has_event = || self.decoders.iter().any(DecodeBorder::has_event);
        !self.packets.is_empty() || self.settings.is_some() || has_event()
    }

    /// Whether it writes files.
    pub fn have_files(&self) -> bool {
        !self.sinks.is_empty() || self.decoders.iter().any(|decoder| !decoder.has_event())
    }

    /// The relations whose tuples concern others than nodes.
    pub(crate) fn crossing(&self) -> impl Iterator<Item = RelationId> {
        let packets = self.packets.iter().flat_map(PacketBorder::crossing);
        let settings = self.settings.iter().map(|settings| settings.config);
        packets.chain(settings).chain(self.sinks.iter().map(|sink| sink.relation))
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
        self.borders.schemas = self.border.clone();
    }

    /// The events that come from other parts, where it is known what their columns hold.
    pub(crate) fn given_events(&self) -> Vec<Given> {
        self.packets_given().chain(self.messages_given()).collect()
    }

    /// The events that come from other parts.
    pub(crate) fn events_of_others(&self) -> BTreeSet<String> {
        let packets = self.events_of_packets().chain(self.events_of_messages());
        packets.chain(self.events_of_settings()).collect()
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
    /// The files that rules write.
    sinks: Sinks,
}

impl Borders {
    /// Of a program that has these.
    pub(crate) fn new(checked: &Checked, graph: Option<&Graph>, registry: &Registry) -> Borders {
        let settings = checked.settings.zip(graph);
        Borders {
            packets: Packets::new(checked.packets.clone(), registry),
            settings: settings.map(|(border, graph)| Settings::new(border, graph.clone())),
            decoders: Decoders::new(&checked.decoders, registry),
            sinks: Sinks::new(&checked.sinks, registry),
        }
    }

    fn have_files(&self) -> bool {
        !self.sinks.is_empty() || self.decoders.have_files()
    }

    /// Whether packets were left on links because many events wait.
    pub(crate) fn hold_packets(&self) -> bool {
        self.packets.are_held() || self.decoders.are_held
    }

    /// Whether nothing is under way.
    pub(crate) fn are_idle(&self) -> bool {
        self.packets.are_idle() && !self.decoders.are_held
    }

    fn each_file(&mut self, place: FileDeed<'_>, time_ns: i64) -> Vec<String> {
        let Borders { sinks, decoders, .. } = self;
        let (mut of_rules, of_packets) = match place {
            FileDeed::Open(place) => (sinks.open(place, time_ns), decoders.open(place, time_ns)),
            FileDeed::Tick => (sinks.tick(time_ns), decoders.tick(time_ns)),
            FileDeed::Finish => (sinks.finish(), decoders.finish()),
        };
        of_rules.extend(of_packets);
        of_rules
    }
}

/// What is done with all files.
enum FileDeed<'p> {
    Open(&'p Place),
    Tick,
    Finish,
}

/// How often what waits to be written to files is.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Does something with all files; what fails is reported.
fn with_files(machine: &mut Machine, deed: FileDeed<'_>, time_ns: i64) {
    let faults = machine.node.borders.each_file(deed, time_ns);
    faults.iter().for_each(|fault| machine.journal.get_mut().console.note(fault));
}

/// Finds the links of all borders in the graph that runs now.
pub(crate) fn link(machine: &mut Machine) {
    packets::link(machine);
    decode::link(machine);
}

/// Takes the packets that have come to apps that are borders.
pub(crate) fn take(machine: &mut Machine, events: &mut Loop<Machine>) {
    packets::take(machine, events);
    decode::take(machine, events);
}

/// Opens the files that a run writes, below a folder, and has what waits for them written from time
/// to time.
///
/// # Errors
/// There is no such folder.
pub(crate) fn open_files(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    root: Option<&Path>,
    clock: Clock,
) -> Result<(), String> {
    if !machine.node.borders.have_files() {
        return Ok(());
    }
    let existing = match clock {
        Clock::Real => Existing::Kept,
        Clock::Virtual => Existing::Replaced,
    };
    let place = Place { root: Root::open_folder(root)?, existing };
    with_files(machine, FileDeed::Open(&place), events.wall());
    // In virtual time nobody waits, and a timer would keep time going.
    if clock == Clock::Real {
        events.every(FLUSH_EVERY, |machine: &mut Machine, events: &mut Loop<Machine>, _| {
            with_files(machine, FileDeed::Tick, events.wall());
        });
    }
    Ok(())
}

/// Ends the files that a run has written; gives what was lost.
pub(crate) fn finish_files(machine: &mut Machine) -> Vec<String> {
    with_files(machine, FileDeed::Finish, 0);
    let Borders { sinks, decoders, .. } = &machine.node.borders;
    sinks.problems().chain(decoders.problems()).collect()
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
}
