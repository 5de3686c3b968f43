//! Messages in packets as events of rules, or as rows of a file: the app `Decode`.
//!
//! ```text
//! link -> [app Decode] -> event(@N, fields.., selected..) -> inbox of the node
//!               |     '-> file
//!             rest -> link
//! ```
//! Packets are taken from links while few events of the node wait; the others stay, and the link
//! drops and counts what it has no room for. A packet whose message has been read is done with.

mod check;

use tidemill_event::Loop;
use tidemill_packet::fields::FieldValue;
use tidemill_packet::graph::Graph;
use tidemill_packet::packet::Packet;
use tidemill_relation::limits::NESTING_MAX;
use tidemill_relation::{SeqBuilder, Value};
use tidemill_stat::{Counter, Registry};
use tidemill_stdx::marks;

use super::apps;
use super::files::{Files, Place};
use super::inbox::{self, Become, Taken};
use super::latency::Latency;
use super::packets::value_of;
use super::schemas::{Reader, Reason};
use crate::machine::Machine;
pub(crate) use check::DECODE;
pub use check::DecodeBorder;
use check::Target;

/// The apps of a graph that decode messages.
#[derive(Default)]
pub(crate) struct Decoders {
    apps: Vec<Border>,
    /// Packets were left on links because many events wait.
    pub(crate) are_held: bool,
}

/// An app that decodes.
struct Border {
    checked: DecodeBorder,
    reader: Reader,
    files: Option<Files>,
    /// The links to it, and from it.
    inputs: Vec<usize>,
    rest: Option<usize>,
    /// Memory of the last row of the file.
    row: SeqBuilder,
    counters: BorderCounters,
}

/// `border/<app>/messages` and so on.
struct BorderCounters {
    messages: Counter,
    rest: Counter,
    no_rest: Counter,
    /// Packets without the field that holds messages.
    absent: Counter,
    /// By [`Reason`].
    failed: Vec<Counter>,
    latency: Latency,
}

impl BorderCounters {
    fn new(registry: &Registry, app: &str) -> BorderCounters {
        let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
        BorderCounters {
            messages: counter("messages"),
            rest: counter("rest"),
            no_rest: counter("dropped_no_rest"),
            absent: counter("failed_absent"),
            failed: Reason::ALL.iter().map(|reason| counter(reason.name())).collect(),
            latency: Latency::new(registry, app),
        }
    }
}

impl Decoders {
    /// Of a program that has these.
    pub(super) fn new(checked: &[DecodeBorder], registry: &Registry) -> Decoders {
        let border = |checked: &DecodeBorder| {
            let DecodeBorder { app, schemas, schema, message, selection, target, .. } = checked;
            let reader = match selection {
                None => Reader::new(schemas, schema, *message),
                Some(selection) => Reader::selecting(schemas, schema, *message, selection),
            };
            let files = match target {
                Target::File(file, columns) => {
                    Some(Files::new(file.clone(), columns.clone(), registry, app))
                }
                Target::Event(_) => None,
            };
            let counters = BorderCounters::new(registry, app);
            let checked = checked.clone();
            let (inputs, rest, row) = (Vec::new(), None, SeqBuilder::new());
            Border { checked, reader, files, inputs, rest, row, counters }
        };
        Decoders { apps: checked.iter().map(border).collect(), are_held: false }
    }

    /// The app of another graph that is not one of these, as it was checked: what it decodes
    /// into was settled when the program was loaded.
    pub(super) fn unchecked<'g>(&self, graph: &'g Graph) -> Option<&'g str> {
        let checked = self.apps.iter().map(|it| (&*it.checked.app, &it.checked.config));
        apps::unchecked(graph, |app| app.kind.name == DECODE, checked)
    }

    /// Whether some write files.
    pub(super) fn have_files(&self) -> bool {
        self.apps.iter().any(|border| border.files.is_some())
    }

    /// Opens the files. Gives faults.
    pub(super) fn open(&mut self, place: &Place, time_ns: i64) -> Vec<String> {
        self.each(|files| files.open(place.clone(), time_ns))
    }

    /// Writes what waits, and ends files whose time is over. Gives faults.
    pub(super) fn tick(&mut self, time_ns: i64) -> Vec<String> {
        self.each(|files| files.tick(time_ns))
    }

    /// Ends all files. Gives faults.
    pub(super) fn finish(&mut self) -> Vec<String> {
        self.each(Files::finish)
    }

    /// What was lost.
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        self.apps.iter().filter_map(|border| border.files.as_ref()?.problem())
    }

    fn each(&mut self, mut what: impl FnMut(&mut Files) -> Option<String>) -> Vec<String> {
        let fault = |border: &mut Border| {
            let fault = what(border.files.as_mut()?)?;
            Some(says(&border.checked.app, &fault))
        };
        self.apps.iter_mut().filter_map(fault).collect()
    }
}

fn says(app: &str, fault: &str) -> String {
    format!("tidemill: app {app}: {fault}")
}

/// Finds the links of the apps in the graph that runs now.
pub(super) fn link(machine: &mut Machine) {
    let engine = &machine.node.driver.engine;
    for border in &mut machine.node.borders.decoders.apps {
        (border.inputs, border.rest) = apps::links(engine, &border.checked.app);
    }
}

/// Decodes the packets that have come to apps, as far as the rules keep up.
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
    border: &mut Border,
    taken: &mut Taken,
) {
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

/// A packet has no such message; why is counted.
struct Undecoded;

impl Border {
    /// Appends the fields of the packet, and those of its message.
    fn read(&mut self, packet: &Packet, row: &mut SeqBuilder) -> Result<(), Undecoded> {
        let Border { checked, reader, counters, .. } = self;
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

    /// Hands the message of a packet to the rules, or to its file.
    fn deliver(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        packet: &Packet,
    ) -> Result<(), Undecoded> {
        if let Target::Event(relation) = self.checked.target {
            let latency = self.counters.latency.clone();
            let is_in = inbox::put(machine, events, (relation, &latency), |address, row| {
                row.push(Value::Str(address));
                self.read(packet, row)
            })?;
            self.counters.messages.add(is_in.into());
            return Ok(());
        }
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        let read = self.read(packet, &mut row);
        if let (Ok(()), Some(files)) = (&read, &mut self.files) {
            let values: Vec<Value<'_>> = row.as_seq().iter().collect();
            self.counters.messages.add(1);
            if let Some(fault) = files.write(events.wall(), &values) {
                let fault = says(&self.checked.app, &fault);
                machine.journal.get_mut().console.note(fault);
            }
        }
        self.row = row;
        read
    }

    /// Sends a packet without a message where the rest goes.
    fn pass_on(&mut self, machine: &mut Machine, packet: Packet) {
        let engine = &mut machine.node.driver.engine;
        let is_sent = self.rest.is_some_and(|link| engine.send_link(link, packet).is_ok());
        match is_sent {
            true => self.counters.rest.add(1),
            false => self.counters.no_rest.add(1),
        }
    }
}
