//! The apps that clients have opened, with the packets that wait for them.

use std::collections::VecDeque;

use tidemill_packet::engine::Engine;
use tidemill_packet::packet::Packet;
use tidemill_proc::{Communication, CommunicationMap};
use tidemill_stdx::sorted::SortedMap;

use crate::components::system::ports::Ports;

/// The type of the apps.
const OUTSIDE: &str = "Outside";

/// One app or way that clients have opened.
pub(super) struct OpenApp {
    /// Whose packets clients receive, and who gets theirs: the same, but for ways of a `Script`.
    pub(super) from: String,
    pub(super) to: String,
    pub(super) clients: usize,
    pub(super) waiting: VecDeque<Communication>,
    pub(super) packets: VecDeque<Packet>,
    /// The time of the packet that was received last, if it has one, which those sent then follow.
    pub(super) time_ns: Option<i64>,
}

/// Who uses the graph, or the ports of an app.
#[derive(Default)]
pub(in crate::components::system) struct Packets {
    /// Where it leads to in place of a graph, if the program is an app itself.
    pub(super) ports: Option<Ports>,
    pub(super) apps: SortedMap<String, OpenApp>,
    pub(super) clients: CommunicationMap<Client>,
}

/// Who has opened an app.
pub(super) struct Client {
    pub(super) app: String,
    /// The link that packets go to, in the graph that runs.
    pub(super) link: Option<usize>,
}

impl Packets {
    pub(in crate::components::system) fn lead_to_ports(&mut self) {
        self.ports = Some(Ports::default());
    }

    pub(in crate::components::system) fn ports(&mut self) -> Option<&mut Ports> {
        self.ports.as_mut()
    }

    /// Whether somebody has opened an input.
    pub(in crate::components::system) fn is_open(&self, input: usize) -> bool {
        let name = self.ports.as_ref().map_or("", |ports| ports.input(input));
        self.apps.values().any(|app| app.from == name)
    }

    /// Why no client can open this app.
    pub(super) fn check(
        &self,
        engine: &Engine,
        name: &str,
        (from, to): (&str, &str),
    ) -> Result<(), String> {
        if let Some(ports) = &self.ports {
            return ports.check(from, to);
        }
        if engine.has_app(name, OUTSIDE) {
            return Ok(());
        }
        match engine.graph().apps.is_empty() {
            true => Err("no packet graph runs beside the components".to_owned()),
            false => Err(format!("the packet graph has no `{name} :: {OUTSIDE}`")),
        }
    }
}
