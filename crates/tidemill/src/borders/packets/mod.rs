//! Packets as events of rules, and back.
//!
//! ```text
//! link -> [app Rules] -> event(@N, Port, ...) -> inbox of the node
//! link <- [app Rules] <- verdict(@N, Port, ...) <- turn, after its commit
//! ```
//! Packets are taken from links while few events of the node wait; the others stay, and the link
//! drops and counts what it has no room for. Nothing waits between: a verdict goes to its link at
//! once. With fields, a packet stays in [`Kept`] until the turn of its event ends.

mod border;
mod check;
mod kept;

use std::time::Duration;

use tidemill_event::Loop;
use tidemill_overlog::node::Crossing;
use tidemill_packet::app::Direction;
use tidemill_packet::drive;
use tidemill_packet::fields::{FieldType, FieldValue, Fields};
use tidemill_packet::packet::Packet;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, TupleBuf, Type, TypeSet, Value};
use tidemill_stat::{Counter, Registry};

use super::inbox::{self, Become, Taken};
use crate::machine::Machine;
pub use border::PacketBorder;
use kept::{Kept, Verdict};

/// The apps of a graph that are borders.
#[derive(Default)]
pub(crate) struct Packets {
    apps: Vec<Border>,
    /// Packets were left on links because many events wait.
    are_held: bool,
    /// Packets are on their way through the graph.
    pub(crate) move_on: bool,
}

/// An app of the graph, and the relations that its packets are.
struct Border {
    checked: PacketBorder,
    /// The links to it and from it, with the names of its ports.
    inputs: Vec<(usize, String)>,
    outputs: Vec<(usize, String)>,
    /// Packets whose turn has not come or not ended, and those held.
    kept: Kept,
    counters: BorderCounters,
}

/// `border/<app>/events` and so on.
struct BorderCounters {
    events: Counter,
    verdicts: Counter,
    stale: Counter,
    no_output: Counter,
    no_bytes: Counter,
    no_packet: Counter,
    not_held: Counter,
}

impl BorderCounters {
    fn new(registry: &Registry, app: &str) -> BorderCounters {
        let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
        BorderCounters {
            events: counter("events"),
            verdicts: counter("verdicts"),
            stale: counter("stale"),
            no_output: counter("dropped_no_output"),
            no_bytes: counter("dropped_no_bytes"),
            no_packet: counter("dropped_no_packet"),
            not_held: counter("not_held"),
        }
    }
}

impl Packets {
    /// Of a program that has these.
    pub(super) fn new(checked: Vec<PacketBorder>, registry: &Registry) -> Packets {
        let border = |checked: PacketBorder| {
            let counters = BorderCounters::new(registry, &checked.app);
            let (inputs, outputs) = (Vec::new(), Vec::new());
            Border { checked, inputs, outputs, kept: Kept::default(), counters }
        };
        Packets { apps: checked.into_iter().map(border).collect(), ..Packets::default() }
    }

    /// Whether packets were left on links.
    pub(super) fn are_held(&self) -> bool {
        self.are_held
    }

    /// Whether nothing is under way between the graph and the rules.
    pub(super) fn are_idle(&self) -> bool {
        !self.are_held && !self.move_on
    }
}

/// Finds the links of borders in the graph that runs now.
pub(super) fn link(machine: &mut Machine) {
    let engine = &machine.node.driver.engine;
    for border in &mut machine.node.borders.packets.apps {
        border.inputs = engine.links_of(&border.checked.app, Direction::Input);
        border.outputs = engine.links_of(&border.checked.app, Direction::Output);
    }
}

/// Hands the packets that have come to apps to the rules, as far as these keep up.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>) {
    if machine.node.borders.packets.apps.is_empty() {
        return;
    }
    let mut packets = std::mem::take(&mut machine.node.borders.packets);
    packets.are_held = inbox::take_each(machine, events, &mut packets.apps, take_from);
    machine.node.borders.packets = packets;
}

/// Takes packets from the links of one app.
fn take_from(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    border: &mut Border,
    taken: &mut Taken,
) {
    let Some(address) = machine.fleet.address(machine.node.id).map(str::to_owned) else { return };
    let Border { checked, inputs, kept, counters, .. } = border;
    for (link, port) in inputs.iter() {
        taken.link(machine, events, (*link, Become::Events), |machine, events, packet| {
            let id = kept.next_id();
            let columns = columns((&address, port), id, checked.fields.as_ref(), &packet);
            if inbox::put(machine, events, checked.event, columns) {
                counters.events.add(1);
                if checked.fields.is_some() {
                    kept.put(packet);
                }
            }
        });
    }
}

/// What a packet is to the rules.
fn columns(
    (address, port): (&str, &str),
    id: i64,
    fields: Option<&Fields>,
    packet: &Packet,
) -> Vec<OwnedValue> {
    let Some(fields) = fields else {
        let columns = [Value::Str(address), Value::Str(port), Value::Bytes(packet.bytes())];
        return columns.map(OwnedValue::new).to_vec();
    };
    let first = [Value::Str(address), Value::Str(port), Value::Int(id)];
    let fields = fields.of(packet).map(value_of);
    first.into_iter().chain(fields).map(OwnedValue::new).collect()
}

/// What a field of a packet may be to the rules.
pub(super) fn types_of(kind: FieldType) -> TypeSet {
    let types = match kind {
        FieldType::Integer => TypeSet::INT,
        FieldType::Bytes => TypeSet::BYTES,
        FieldType::Time => TypeSet::TIME,
    };
    types.union(TypeSet::of(Type::Null))
}

/// What a field of a packet is to the rules.
pub(super) fn value_of(field: FieldValue<'_>) -> Value<'_> {
    match field {
        FieldValue::Absent => Value::Null,
        FieldValue::Integer(number) => Value::Int(number),
        FieldValue::Bytes(bytes) => Value::Bytes(bytes),
        FieldValue::Time(time) => Value::Time(time),
    }
}

/// Does what rules have derived in a turn, in order: sends packets, and holds them.
pub(super) fn send(machine: &mut Machine, events: &mut Loop<Machine>, tuples: &TupleBuf<Crossing>) {
    if machine.node.borders.packets.apps.is_empty() {
        return;
    }
    let mut packets = std::mem::take(&mut machine.node.borders.packets);
    let mut is_sent = false;
    for (at, border) in packets.apps.iter_mut().enumerate() {
        let mut turn = Turn { border, number: at, ended: None, is_sent: false };
        for (crossing, columns) in tuples.iter() {
            let columns: Vec<Value<'_>> = columns.iter().collect();
            turn.take(machine, events, crossing.relation, &columns);
        }
        is_sent |= turn.end(machine);
    }
    packets.move_on |= is_sent;
    machine.node.borders.packets = packets;
    if is_sent {
        drive::wake(machine, events);
    }
}

/// What a turn does at one border.
struct Turn<'b> {
    border: &'b mut Border,
    /// Which of the borders.
    number: usize,
    /// The packet whose event it was.
    ended: Option<i64>,
    is_sent: bool,
}

impl Turn<'_> {
    fn take(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        relation: RelationId,
        columns: &[Value<'_>],
    ) {
        let PacketBorder { event, verdict, hold, .. } = self.border.checked;
        if verdict == Some(relation) {
            return self.send(machine, columns);
        }
        let id = columns.get(2).and_then(|value| value.as_int());
        if relation == event && self.border.checked.fields.is_some() {
            self.ended = id;
        }
        if hold == Some(relation) {
            let seconds = columns.get(3).copied().and_then(seconds);
            let held = id.zip(seconds);
            match held.filter(|(id, _)| self.border.kept.hold(*id)) {
                Some((id, seconds)) => self.release_later(events, id, seconds),
                None => self.border.counters.not_held.add(1),
            }
        }
    }

    /// Drops a packet that is held when its time is over.
    fn release_later(&self, events: &mut Loop<Machine>, id: i64, after: Duration) {
        let (at, number) = (events.now() + after, self.number);
        events.timer(at, move |machine: &mut Machine, _| {
            if let Some(border) = machine.node.borders.packets.apps.get_mut(number) {
                border.kept.release(id);
            }
        });
    }

    fn send(&mut self, machine: &mut Machine, columns: &[Value<'_>]) {
        let Border { checked, outputs, kept, counters, .. } = &mut *self.border;
        let [_, Value::Str(port), what] = columns else { return counters.no_output.add(1) };
        let Some(&(link, _)) = outputs.iter().find(|(_, name)| name == port) else {
            return counters.no_output.add(1);
        };
        let engine = &mut machine.node.driver.engine;
        let packet = match (what, &checked.fields) {
            (Value::Bytes(bytes), None) => engine.pool().packet_of(bytes),
            (_, None) => return counters.no_bytes.add(1),
            (id, Some(_)) => match kept.send(id.as_int(), link) {
                // It goes when it is known whether it goes once more.
                Verdict::Waits => return counters.verdicts.add(1),
                Verdict::Again(before, copy) => {
                    match copy.map(|copy| engine.send_link(before, copy).is_ok()) {
                        Some(true) => self.is_sent = true,
                        _ => counters.no_packet.add(1),
                    }
                    return counters.verdicts.add(1);
                }
                Verdict::Stale => return counters.stale.add(1),
            },
        };
        match packet.map(|packet| engine.send_link(link, packet).is_ok()) {
            Some(true) => {
                counters.verdicts.add(1);
                self.is_sent = true;
            }
            _ => counters.no_packet.add(1),
        }
    }

    /// Sends what the turn has decided to send, and drops the packet of its event, unless it is
    /// held. Whether something was sent.
    fn end(mut self, machine: &mut Machine) -> bool {
        let engine = &mut machine.node.driver.engine;
        for (link, packet) in self.border.kept.decided() {
            self.is_sent |= engine.send_link(link, packet).is_ok();
        }
        if let Some(id) = self.ended {
            self.border.kept.end(id);
        }
        self.is_sent
    }
}

/// How long a value says: an interval, or seconds.
fn seconds(value: Value<'_>) -> Option<Duration> {
    match value {
        Value::Int(seconds) => Some(Duration::from_secs(u64::try_from(seconds).ok()?)),
        Value::Double(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Value::Interval(ns) => Some(Duration::from_nanos(u64::try_from(ns).ok()?)),
        _ => None,
    }
}
