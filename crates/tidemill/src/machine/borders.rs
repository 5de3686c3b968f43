//! Borders between the engines of a run: packets to events of rules, and back.
//!
//! ```text
//! link -> [app Rules] -> event(@N, Port, Bytes) -> inbox of the node
//! link <- [app Rules] <- verdict(@N, Port, Bytes) <- turn, after its commit
//! ```
//! Packets are taken from links while few events of the node wait; the others stay, and the link
//! drops and counts what it has no room for. Nothing waits between: a verdict goes to its link at
//! once.

use tidemill_event::Loop;
use tidemill_overlog::fleet::{self, NodeId};
use tidemill_overlog::node::Event;
use tidemill_packet::app::Direction;
use tidemill_packet::drive;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, TupleBuf, Value};
use tidemill_stat::{Counter, Registry};

use super::Machine;
use crate::program::PacketBorder;

/// Events of the node that may wait while packets are taken.
const WAITING_MAX: usize = 1024;

/// The node that packets are for.
const NODE: NodeId = NodeId(0);

/// The borders of a run.
#[derive(Default)]
pub(crate) struct Borders {
    packets: Vec<Border>,
    /// Packets were left on links because many events wait.
    pub(super) is_held: bool,
    /// Packets are on their way through the graph.
    pub(super) packets_move: bool,
}

/// An app of the graph, and the relations that its packets are.
struct Border {
    checked: PacketBorder,
    /// The links to it and from it, with the names of its ports.
    inputs: Vec<(usize, String)>,
    outputs: Vec<(usize, String)>,
    counters: BorderCounters,
}

/// `border/<app>/events` and so on.
struct BorderCounters {
    events: Counter,
    verdicts: Counter,
    no_output: Counter,
    no_bytes: Counter,
    no_packet: Counter,
}

impl BorderCounters {
    fn new(registry: &Registry, app: &str) -> BorderCounters {
        let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
        BorderCounters {
            events: counter("events"),
            verdicts: counter("verdicts"),
            no_output: counter("dropped_no_output"),
            no_bytes: counter("dropped_no_bytes"),
            no_packet: counter("dropped_no_packet"),
        }
    }
}

impl Borders {
    /// Of a program that has these.
    pub(crate) fn new(checked: Vec<PacketBorder>, registry: &Registry) -> Borders {
        let border = |checked: PacketBorder| {
            let counters = BorderCounters::new(registry, &checked.app);
            Border { checked, inputs: Vec::new(), outputs: Vec::new(), counters }
        };
        Borders { packets: checked.into_iter().map(border).collect(), ..Borders::default() }
    }
}

/// Finds the links of borders in the graph that runs now.
pub(super) fn link(machine: &mut Machine) {
    let engine = &machine.driver.engine;
    for border in &mut machine.borders.packets {
        border.inputs = engine.links_of(&border.checked.app, Direction::Input);
        border.outputs = engine.links_of(&border.checked.app, Direction::Output);
    }
}

/// Hands the packets that have come to apps to the rules, as far as these keep up.
pub(super) fn take_packets(machine: &mut Machine, events: &mut Loop<Machine>) {
    let mut borders = std::mem::take(&mut machine.borders);
    let mut taken = Taken::default();
    for border in &borders.packets {
        take(machine, events, border, &mut taken);
    }
    borders.is_held = taken.has_left;
    machine.borders = borders;
    if taken.packets > 0 {
        // Links that are empty now may be the end of the graph.
        drive::wake(machine, events);
    }
}

/// What became of the packets on links.
#[derive(Default)]
struct Taken {
    packets: usize,
    /// Some were left.
    has_left: bool,
}

/// Takes packets from the links of one app.
fn take(machine: &mut Machine, events: &mut Loop<Machine>, border: &Border, taken: &mut Taken) {
    let Some(address) = machine.fleet.address(NODE).map(str::to_owned) else { return };
    for (link, port) in &border.inputs {
        loop {
            let waiting = machine.fleet.node(NODE).map_or(0, |node| node.waiting());
            if waiting >= WAITING_MAX {
                taken.has_left = true;
                return;
            }
            let Some(packet) = machine.driver.engine.take_link(*link) else { break };
            taken.packets += 1;
            let columns = [Value::Str(&address), Value::Str(port), Value::Bytes(packet.bytes())];
            let columns = columns.map(OwnedValue::new).to_vec();
            drop(packet);
            let relation = border.checked.event;
            let event = Event::Tuple { relation, columns, delete: false, received: true };
            // What the node does not take it counts.
            if fleet::inject(machine, events, NODE, event) {
                border.counters.events.add(1);
            }
        }
    }
}

impl Machine {
    /// Whether nothing is under way between the graph and the rules.
    pub(super) fn borders_are_idle(&self) -> bool {
        !self.borders.is_held && !self.borders.packets_move
    }

    /// Whether packets wait for the rules to keep up, and they do now.
    pub(super) fn may_take_packets(&self) -> bool {
        let waiting = || self.fleet.node(NODE).map_or(0, |node| node.waiting());
        self.borders.is_held && waiting() <= WAITING_MAX / 2
    }
}

/// Sends the packets that rules have derived in a turn.
pub(super) fn send_packets(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    tuples: &TupleBuf<RelationId>,
) {
    let mut is_sent = false;
    for (relation, columns) in tuples.iter() {
        let of_relation = |border: &&Border| border.checked.verdict == Some(relation);
        let columns: Vec<Value<'_>> = columns.iter().collect();
        for border in machine.borders.packets.iter().filter(of_relation) {
            let counters = &border.counters;
            let [_, Value::Str(port), bytes] = columns.as_slice() else {
                counters.no_output.add(1);
                continue;
            };
            let Value::Bytes(bytes) = bytes else {
                counters.no_bytes.add(1);
                continue;
            };
            let Some((link, _)) = border.outputs.iter().find(|(_, name)| name == port) else {
                counters.no_output.add(1);
                continue;
            };
            let engine = &mut machine.driver.engine;
            let packet = engine.pool().packet_of(bytes);
            let sent = packet.map(|packet| engine.send_link(*link, packet).is_ok());
            match sent {
                Some(true) => {
                    counters.verdicts.add(1);
                    is_sent = true;
                }
                _ => counters.no_packet.add(1),
            }
        }
    }
    if is_sent {
        machine.borders.packets_move = true;
        drive::wake(machine, events);
    }
}
