//! The apps opened by clients, with their queued packets.

use std::collections::VecDeque;
use std::fmt;

use tidemill_packet::engine::Engine;
use tidemill_packet::packet::Packet;
use tidemill_proc::{Communication, CommunicationMap};
use tidemill_stat::{Counter, Registry};
use tidemill_stdx::sorted::SortedMap;

use crate::components::system::ports::{NoPort, Ports};

/// The type of the apps.
pub(crate) const OUTSIDE: &str = "Outside";

/// An app, or a pair of ports, opened by clients.
pub(super) struct OpenApp {
    /// The app or port that clients receive from, and that they send to; they differ only for pairs
    /// of ports of a `Script`.
    pub(super) from: String,
    pub(super) to: String,
    pub(super) clients: usize,
    pub(super) waiting: VecDeque<Communication>,
    pub(super) packets: VecDeque<Queued>,
    /// The number of them that came from other workers.
    pub(super) others: usize,
    /// The capture time of the last received packet, which sent packets inherit.
    pub(super) time_ns: Option<i64>,
}

/// `border/<app>/sent` and so on.
pub(super) struct OutsideCounters {
    /// Packets that clients have sent, and those that could not be sent.
    pub(super) sent: Counter,
    pub(super) not_sent: Counter,
    /// Packets that clients have received, and those that still waited when the last one ended.
    pub(super) received: Counter,
    pub(super) lost: Counter,
}

impl OutsideCounters {
    pub(super) fn new(registry: &Registry, app: &str) -> OutsideCounters {
        let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
        OutsideCounters {
            sent: counter("sent"),
            not_sent: counter("not_sent"),
            received: counter("received"),
            lost: counter("lost"),
        }
    }
}

/// A packet from the graph of another worker.
pub(crate) struct PostedPacket {
    pub(crate) bytes: Vec<u8>,
    pub(crate) time_ns: Option<i64>,
}

/// A packet that waits for a client.
pub(super) enum Queued {
    Own(Packet),
    /// From another worker.
    Other(u32, PostedPacket),
}

impl Queued {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Queued::Own(packet) => packet.bytes(),
            Queued::Other(_, packet) => &packet.bytes,
        }
    }

    pub(super) fn time_ns(&self) -> Option<i64> {
        match self {
            Queued::Own(packet) => packet.time_ns(),
            Queued::Other(_, packet) => packet.time_ns,
        }
    }

    /// The worker that it came from, if that is another one.
    pub(super) fn worker(&self) -> Option<u32> {
        match self {
            Queued::Own(_) => None,
            Queued::Other(worker, _) => Some(*worker),
        }
    }
}

/// Why clients cannot open an app.
pub(super) enum NoApp {
    /// The program is an app itself, without such ports.
    Port(NoPort),
    /// There is no graph.
    NoGraph,
    /// The graph has none of this name.
    NotInGraph(String),
}

impl fmt::Display for NoApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoApp::Port(port) => port.fmt(f),
            NoApp::NoGraph => f.write_str("no packet graph runs beside the components"),
            NoApp::NotInGraph(name) => write!(f, "the packet graph has no `{name} :: {OUTSIDE}`"),
        }
    }
}

/// The clients of the graph, or of the ports of an app.
#[derive(Default)]
pub(in crate::components::system) struct Packets {
    /// The ports that replace the graph, if the program is an app itself.
    pub(super) ports: Option<Ports>,
    pub(super) apps: SortedMap<String, OpenApp>,
    /// The counters of the apps of the graph that have been opened.
    pub(super) counters: SortedMap<String, OutsideCounters>,
    pub(super) clients: CommunicationMap<Client>,
}

/// A client that has opened an app.
pub(super) struct Client {
    pub(super) app: String,
    /// The link for its sent packets, in the running graph.
    pub(super) link: Option<usize>,
}

impl Packets {
    pub(in crate::components::system) fn lead_to_ports(&mut self) {
        self.ports = Some(Ports::default());
    }

    pub(in crate::components::system) fn ports(&mut self) -> Option<&mut Ports> {
        self.ports.as_mut()
    }

    /// Whether a client has opened an input.
    pub(in crate::components::system) fn is_open(&self, input: usize) -> bool {
        let name = self.ports.as_ref().map_or("", |ports| ports.input(input));
        self.apps.values().any(|app| app.from == name)
    }

    /// Checks that clients can open this app.
    pub(super) fn check(
        &self,
        engine: &Engine,
        name: &str,
        (from, to): (&str, &str),
    ) -> Result<(), NoApp> {
        if let Some(ports) = &self.ports {
            return ports.check(from, to).map_err(NoApp::Port);
        }
        if engine.has_app(name, OUTSIDE) {
            return Ok(());
        }
        if engine.graph().apps.is_empty() {
            Err(NoApp::NoGraph)
        } else {
            Err(NoApp::NotInGraph(name.to_owned()))
        }
    }
}
