//! Packets as events of rules, and back.
//!
//! ```text
//! link -> [app Rules] -> event(@N, Port, ...) -> inbox of the node
//! link <- [app Rules] <- verdict(@N, Port, ...) <- turn, after its commit
//! ```
//! Packets are taken from links while few events of the node wait; the others stay, and the link
//! drops and counts packets that it has no room for. A verdict is sent to its link at once, without
//! a queue. With fields, a packet stays in `kept` until the turn of its event ends, if rules have
//! verdicts. With several workers, `instances` is between links and rules.

mod border;
mod check;
mod kept;
mod ports;
mod state;

use std::convert::Infallible;
use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_overlog::node::Crossing;
use tidemill_packet::app::Direction;
use tidemill_packet::drive;
use tidemill_packet::fields::Fields;
use tidemill_packet::packet::Packet;
use tidemill_relation::{Seq, SeqBuilder, TupleBuf, Value};
use tidemill_stdx::marks;

use super::fields::value_of;
use super::inbox::{self, Become, TakenPackets, Way};
use super::instances::{Receiver, Returned};
use crate::machine::Machine;
pub use border::PacketBorder;
pub(crate) use border::Role;
use kept::Verdict;
pub(crate) use state::Packets;
use state::RulesApp;

/// Finds the links of borders in the graph that runs now.
pub(super) fn link(machine: &mut Machine) {
    let engine = &machine.node.driver.engine;
    for border in &mut machine.node.borders.packets.apps {
        border.inputs = engine.links_of(&border.checked.app, Direction::Input);
        border.outputs = engine.links_of(&border.checked.app, Direction::Output);
    }
    let packets = &mut machine.node.borders.packets;
    let graph = engine.graph();
    let mut sources = graph.apps.iter().enumerate().filter_map(|(at, app)| {
        let is_fed = graph.links.iter().any(|link| link.to.app == at);
        (!is_fed).then_some(&app.name)
    });
    let is_of_rules = |name: &String| packets.apps.iter().any(|it| it.checked.app == *name);
    packets.are_the_source = !packets.apps.is_empty() && sources.all(is_of_rules);
}

/// Passes the packets on the links of apps to the rules, as far as these keep up.
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
    border: &mut RulesApp,
    taken: &mut TakenPackets,
) {
    let RulesApp { number, checked, inputs, kept, counters, .. } = border;
    // Without links to the app there may be no event.
    let Some(event) = checked.event else { return };
    for (link, port) in inputs.iter() {
        taken.link(machine, events, (*link, Become::Events), |machine, events, packet| {
            let id = kept.next_id();
            let fill = |address: &str, row: &mut SeqBuilder| {
                columns((address, port), id, checked.fields.as_ref(), &packet, row);
                Ok::<(), Infallible>(())
            };
            let way = Way {
                receiver: Receiver::Rules(*number),
                relation: event,
                latency: &counters.latency,
            };
            let Ok(is_in) = inbox::put_or_post(machine, events, way, fill);
            if is_in {
                counters.events.add(1);
                if checked.keeps_packets() { kept.put(packet) } else { kept.pass() }
            }
        });
    }
}

/// Takes the event of a packet of another worker.
pub(super) fn receive(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    number: u32,
    row: Seq<'_>,
) {
    let app = machine.node.borders.packets.apps.get(number as usize);
    let Some((event, app)) = app.and_then(|app| app.checked.event.zip(Some(app))) else { return };
    let latency = app.counters.latency.clone();
    // The node counts what it has no room for.
    let _ = inbox::put_posted(machine, events, (event, &latency), (0, row));
}

/// Appends the columns of a packet's event.
fn columns(
    (address, port): (&str, &str),
    id: i64,
    fields: Option<&Fields>,
    packet: &Packet,
    row: &mut SeqBuilder,
) {
    row.push(Value::Str(address));
    row.push(Value::Str(port));
    let Some(fields) = fields else { return row.push(Value::Bytes(packet.bytes())) };
    row.push(Value::Int(id));
    fields.of(packet).for_each(|field| row.push(value_of(field)));
}

/// Applies the verdicts of a turn in order: sends packets, and holds them.
pub(super) fn send(machine: &mut Machine, events: &mut Loop<Machine>, tuples: &TupleBuf<Crossing>) {
    if machine.node.borders.packets.apps.is_empty() {
        return;
    }
    marks::leave();
    let mut packets = std::mem::take(&mut machine.node.borders.packets);
    let mut is_sent = false;
    let instances = machine.node.borders.instances.as_mut();
    instances.into_iter().for_each(|instances| instances.begin_turn());
    for border in &mut packets.apps {
        let mut turn = Turn { border, ended: None, is_sent: false };
        for (crossing, tuple) in tuples.iter() {
            if let Some(role) = turn.border.checked.role(crossing.relation)
                && !turn.border.give_back(machine, role, tuple)
            {
                turn.take(machine, events, role, tuple);
            }
        }
        is_sent |= turn.end(machine);
        marks::arrive("packets/link");
    }
    packets.move_on |= is_sent;
    machine.node.borders.packets = packets;
    if is_sent {
        drive::wake(machine, events);
    }
}

/// Does what turns at the first worker have said about packets of this one, turn by turn, from a
/// tuple on, until that were so many verdicts. Returns the next tuple, and the number of verdicts.
pub(super) fn returned(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (tuples, from): (&TupleBuf<Returned>, usize),
    most: usize,
) -> (usize, usize) {
    let mut packets = std::mem::take(&mut machine.node.borders.packets);
    let (mut at, mut is_sent, mut verdicts) = (from, false, 0);
    while verdicts < most
        && let Some((Returned { turn: number, app, .. }, _)) = tuples.get(at)
    {
        let is_of_it = |it: &Returned| (it.turn, it.app) == (number, app);
        let border = packets.apps.get_mut(app as usize);
        let mut turn = border.map(|border| Turn { border, ended: None, is_sent: false });
        while let Some((returned, tuple)) = tuples.get(at).filter(|(it, _)| is_of_it(it)) {
            let turn = turn.iter_mut();
            turn.for_each(|turn| turn.take(machine, events, returned.role, tuple));
            verdicts += usize::from(returned.role == Role::Verdict);
            at += 1;
        }
        is_sent |= turn.is_some_and(|turn| turn.end(machine));
    }
    packets.move_on |= is_sent;
    machine.node.borders.packets = packets;
    if is_sent {
        drive::wake(machine, events);
    }
    (at, verdicts)
}

impl RulesApp {
    /// Gives a tuple back to the worker that has its packet, if that is another one.
    fn give_back(&self, machine: &mut Machine, role: Role, columns: Seq<'_>) -> bool {
        let Some(instances) = &mut machine.node.borders.instances else { return false };
        let of_packet = columns.get(2).filter(|packet| match self.checked.fields {
            Some(_) => packet.as_int().is_some(),
            None => matches!(packet, Value::Bytes(_)),
        });
        let Some(worker) = of_packet.and_then(|packet| instances.worker_of(packet)) else {
            return false;
        };
        if !instances.give_back(worker, (self.number, role), columns) {
            self.counters.no_room.add(1);
        }
        true
    }
}

/// One turn at one border.
struct Turn<'b> {
    border: &'b mut RulesApp,
    /// The packet whose event the turn processed.
    ended: Option<i64>,
    is_sent: bool,
}

impl Turn<'_> {
    fn take(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        role: Role,
        columns: Seq<'_>,
    ) {
        let id = columns.get(2).and_then(|value| value.as_int());
        match role {
            Role::Verdict => self.send(machine, columns),
            Role::Event => self.ended = id,
            Role::Hold => {
                let until = columns.get(3).and_then(seconds).map(|seconds| events.now() + seconds);
                let held = id.zip(until);
                match held.filter(|(id, until)| self.border.kept.hold(*id, *until)) {
                    Some((id, until)) => self.release_at(events, id, until),
                    None => self.border.counters.not_held.add(1),
                }
            }
        }
    }

    /// Sets the timer that drops a held packet.
    fn release_at(&self, events: &mut Loop<Machine>, id: i64, until: Time) {
        let name = self.border.name.clone();
        events.timer(until, move |machine: &mut Machine, events| {
            let mut apps = machine.node.borders.packets.apps.iter_mut();
            if let Some(border) = apps.find(|app| app.name == name) {
                border.kept.release(id, events.now());
            }
        });
    }

    fn send(&mut self, machine: &mut Machine, columns: Seq<'_>) {
        let RulesApp { checked, outputs, kept, counters, .. } = &mut *self.border;
        let mut columns = columns.iter().skip(1);
        let (Some(Value::Str(port)), Some(what)) = (columns.next(), columns.next()) else {
            return counters.no_output.add(1);
        };
        let Some(&(link, _)) = outputs.iter().find(|(_, name)| name == port) else {
            return counters.no_output.add(1);
        };
        let engine = &mut machine.node.driver.engine;
        let packet = match (what, &checked.fields) {
            (Value::Bytes(bytes), None) => engine.pool().packet_of(bytes),
            (_, None) => return counters.no_bytes.add(1),
            (id, Some(_)) => match kept.send(id.as_int(), link) {
                // It is sent when the turn ends, as a later verdict may need a copy.
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

    /// Sends the packets of the turn's verdicts, and drops the packet of its event, unless it is
    /// held. Returns whether something was sent.
    fn end(mut self, machine: &mut Machine) -> bool {
        let engine = &mut machine.node.driver.engine;
        let is_sent = &mut self.is_sent;
        let no_packet = &self.border.counters.no_packet;
        self.border.kept.each_decided(|link, packet| match packet {
            Some(packet) => *is_sent |= engine.send_link(link, packet).is_ok(),
            None => no_packet.add(1),
        });
        if let Some(id) = self.ended {
            self.border.kept.end(id);
        }
        self.is_sent
    }
}

/// The duration of a value: an interval, or seconds.
fn seconds(value: Value<'_>) -> Option<Duration> {
    match value {
        Value::Int(seconds) => Some(Duration::from_secs(u64::try_from(seconds).ok()?)),
        Value::Double(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Value::Interval(ns) => Some(Duration::from_nanos(u64::try_from(ns).ok()?)),
        _ => None,
    }
}
