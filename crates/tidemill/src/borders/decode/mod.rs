//! Messages in packets as events of rules, or as rows of a file: the app `Decode`.
//!
//! ```text
//! link -> [app Decode] -> event(@N, fields.., selected..) -> inbox of the node
//!               |     '-> file
//!             rest -> link
//! ```
//! Packets are taken from links while few events of the node wait; the others stay, and the link
//! drops and counts packets that it has no room for. A packet whose message was decoded is dropped.

mod border;
mod check;
mod state;

use tidemill_event::Loop;
use tidemill_packet::fields::FieldValue;
use tidemill_packet::packet::Packet;
use tidemill_relation::limits::NESTING_MAX;
use tidemill_relation::{Seq, SeqBuilder, Value};
use tidemill_stdx::marks;

use super::apps;
use super::fields::value_of;
use super::inbox::{self, Become, TakenPackets, Way};
use super::instances::Receiver;
use crate::machine::Machine;
pub(crate) use border::DECODE;
pub use border::DecodeBorder;
use border::Target;
pub(crate) use state::Decoders;
use state::{DecodeApp, error_text};

/// Finds the links of the apps in the graph that runs now.
pub(super) fn link(machine: &mut Machine) {
    let engine = &machine.node.driver.engine;
    for border in &mut machine.node.borders.decoders.apps {
        (border.inputs, border.rest) = apps::links(engine, &border.checked.app);
    }
}

/// Decodes the packets on the links of apps, as far as the rules keep up.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>) {
    if machine.node.borders.decoders.apps.is_empty() {
        return;
    }
    let mut decoders = std::mem::take(&mut machine.node.borders.decoders);
    decoders.are_held = inbox::take_each(machine, events, &mut decoders.apps, take_from);
    machine.node.borders.decoders = decoders;
}

/// Takes packets from the links of one app.
fn take_from(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    border: &mut DecodeApp,
    taken: &mut TakenPackets,
) {
    // Rows for files of another worker are posted to it, as events are.
    let what = if border.files.is_none() { Become::Events } else { Become::Other };
    for at in 0..border.inputs.len() {
        let link = border.inputs[at];
        taken.link(machine, events, (link, what), |machine, events, packet| {
            if let Err(Undecoded) = border.deliver(machine, events, &packet) {
                border.pass_on(machine, packet);
            }
        });
    }
}

/// Takes the message of a packet of another worker: for the rules, or for the file.
pub(super) fn receive(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    number: u32,
    row: Seq<'_>,
) {
    let mut decoders = std::mem::take(&mut machine.node.borders.decoders);
    if let Some(border) = decoders.apps.get_mut(number as usize) {
        match border.checked.target {
            Target::Event(relation) => {
                let to = (relation, &border.counters.latency);
                // The node counts what it has no room for.
                let _ = inbox::put_posted(machine, events, to, (0, row));
            }
            Target::File(..) => border.write(machine, events, row),
        }
    }
    machine.node.borders.decoders = decoders;
}

/// A packet has no such message; the reason has been counted.
struct Undecoded;

impl DecodeApp {
    /// Appends the fields of the packet, and those of its message.
    fn read(&mut self, packet: &Packet, row: &mut SeqBuilder) -> Result<(), Undecoded> {
        let DecodeApp { checked, reader, counters, .. } = self;
        let Some(FieldValue::Bytes(bytes)) = checked.from.of(packet).next() else {
            counters.absent.add(1);
            return Err(Undecoded);
        };
        checked.fields.of(packet).for_each(|field| row.push(value_of(field)));
        marks::arrive("schemas/packet");
        let read = reader.read(bytes, row, NESTING_MAX);
        marks::leave();
        read.map_err(|failed| {
            let counter = counters.failed.get(failed.reason as usize);
            counter.into_iter().for_each(|counter| counter.add(1));
            Undecoded
        })
    }

    /// Passes the message of a packet to the rules, or to its file.
    fn deliver(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        packet: &Packet,
    ) -> Result<(), Undecoded> {
        let receiver = Receiver::Decode(self.number);
        if let Target::Event(relation) = self.checked.target {
            let latency = self.counters.latency.clone();
            let way = Way { receiver, relation, latency: &latency };
            let is_in = inbox::put_or_post(machine, events, way, |address, row| {
                row.push(Value::Str(address));
                self.read(packet, row)
            })?;
            self.counters.messages.add(is_in.into());
            return Ok(());
        }
        if let Some(outbox) = &mut machine.node.borders.outbox {
            // The first worker writes the file.
            outbox.put(receiver, |_, row| self.read(packet, row))?;
            self.counters.messages.add(1);
            return Ok(());
        }
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        let read = self.read(packet, &mut row);
        if read.is_ok() {
            self.counters.messages.add(1);
            self.write(machine, events, row.as_seq());
        }
        self.row = row;
        read
    }

    /// Writes a row to the file.
    fn write(&mut self, machine: &Machine, events: &mut Loop<Machine>, row: Seq<'_>) {
        let Some(files) = &mut self.files else { return };
        let values: Vec<Value<'_>> = row.iter().collect();
        if let Some(fault) = files.write(events.wall(), &values) {
            let fault = error_text(&self.checked.app, &fault);
            machine.remark(fault);
        }
    }

    /// Sends a packet without a message to the output for the rest.
    fn pass_on(&mut self, machine: &mut Machine, packet: Packet) {
        let engine = &mut machine.node.driver.engine;
        let is_sent = self.rest.is_some_and(|link| engine.send_link(link, packet).is_ok());
        if is_sent { self.counters.rest.add(1) } else { self.counters.no_rest.add(1) }
    }
}
