//! The inbox of a node, as borders fill it: input from other engines stays on their side while many
//! events of the node wait, or, at a worker without the node, while many wait for its worker.

use std::convert::Infallible;

use tidemill_event::{Loop, Time};
use tidemill_overlog::fleet;
use tidemill_packet::drive;
use tidemill_packet::packet::Packet;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{Seq, SeqBuilder, Value};
use tidemill_stdx::marks;

use super::batches::Batch;
use super::instances::Receiver;
use super::latency::Latency;
use crate::machine::Machine;

/// The number of waiting events up to which borders take input.
const EVENTS_MAX: usize = 1024;

impl Machine {
    fn waiting_events(&self) -> usize {
        self.fleet.node(self.node.id).map_or(0, |node| node.waiting())
    }

    /// Whether too many events of the node wait for borders to take input.
    pub(super) fn is_inbox_full(&self) -> bool {
        match &self.node.borders.outbox {
            Some(outbox) => outbox.is_full(),
            None => self.waiting_events() >= EVENTS_MAX,
        }
    }

    /// Whether input that was held back is taken now.
    pub(super) fn has_inbox_room(&self) -> bool {
        match &self.node.borders.outbox {
            Some(outbox) => !outbox.is_full(),
            None => self.waiting_events() <= EVENTS_MAX / 2,
        }
    }

    /// Whether packets were held back, and the rules have caught up.
    pub(crate) fn may_take_packets(&self) -> bool {
        self.node.borders.hold_packets() && self.has_inbox_room()
    }
}

/// The way of an event to the rules.
pub(super) struct Way<'b> {
    /// The border by which it comes.
    pub(super) receiver: Receiver,
    pub(super) relation: RelationId,
    pub(super) latency: &'b Latency,
}

/// Puts a tuple into the inbox of the node: `fill` appends its columns, and gets the address of the
/// node. Returns false if the inbox has no room, which the node counts.
///
/// # Errors
/// Those of `fill`; then nothing is put there.
pub(super) fn put<E>(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (relation, latency): (RelationId, &Latency),
    fill: impl FnOnce(&str, &mut SeqBuilder) -> Result<(), E>,
) -> Result<bool, E> {
    let node = machine.node.id;
    let is_in = fleet::hand(machine, events, node, relation, fill)?;
    if is_in {
        machine.note_handed(events.now(), latency);
    }
    marks::arrive("rules/inbox");
    Ok(is_in)
}

/// [Puts](put) a tuple that packets have become into the inbox of the node, or, at a worker without
/// the node, into the outbox.
///
/// # Errors
/// Those of `fill`; then nothing is put there.
pub(super) fn put_or_post<E>(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    Way { receiver, relation, latency }: Way<'_>,
    fill: impl FnOnce(&str, &mut SeqBuilder) -> Result<(), E>,
) -> Result<bool, E> {
    match &mut machine.node.borders.outbox {
        Some(outbox) => outbox.put(receiver, fill).map(|()| true),
        None => put(machine, events, (relation, latency), fill),
    }
}

/// Puts a row of another worker's outbox into the inbox of the node, given its location column.
/// Returns false if the inbox has no room, which the node counts.
pub(super) fn put_posted(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    to: (RelationId, &Latency),
    (location, row): (usize, Seq<'_>),
) -> bool {
    let Ok(is_in) = put(machine, events, to, |address, columns| {
        for (at, column) in row.iter().enumerate() {
            columns.push(if at == location { Value::Str(address) } else { column });
        }
        Ok::<(), Infallible>(())
    });
    is_in
}

impl Machine {
    /// An event has just been put into the inbox of the node.
    pub(super) fn note_handed(&mut self, now: Time, latency: &Latency) {
        let batches = &mut self.node.borders.batches.0;
        let is_of_it = |last: &Batch| last.handed == now && last.latency.is(latency);
        if batches.back().is_some_and(is_of_it) {
            return;
        }
        let Some(node) = self.fleet.node(self.node.id) else { return };
        let first = node.counters().turns + node.waiting() as u64;
        batches.push_back(Batch { first, handed: now, latency: latency.clone() });
    }
}

/// A turn of the node has ended.
pub(super) fn turned(machine: &mut Machine, events: &Loop<Machine>) {
    let batches = &mut machine.node.borders.batches.0;
    if batches.is_empty() {
        return;
    }
    let Some(node) = machine.fleet.node(machine.node.id) else { return batches.clear() };
    let turns = node.counters().turns;
    while let Some(batch) = batches.pop_front_if(|batch| batch.first <= turns) {
        batch.latency.record(batch.handed, events.now());
    }
}

/// What packets are turned into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Become {
    /// Events: taken while the inbox has room.
    Events,
    /// Something else.
    Other,
}

/// The result of taking packets from links.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct TakenPackets {
    packets: usize,
    /// Some were left.
    has_left: bool,
}

/// Takes the packets on the links of apps, each by `take`; returns whether some were left.
pub(super) fn take_each<A>(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    apps: &mut [A],
    take: fn(&mut Machine, &mut Loop<Machine>, &mut A, &mut TakenPackets),
) -> bool {
    let mut taken = TakenPackets::default();
    apps.iter_mut().for_each(|app| take(machine, events, app, &mut taken));
    if taken.packets > 0 {
        // An empty link may let the graph finish.
        drive::wake(machine, events);
    }
    taken.has_left
}

impl TakenPackets {
    /// Takes the packets from a link of the graph, and calls `f` with each.
    pub(super) fn link(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        (link, what): (usize, Become),
        mut f: impl FnMut(&mut Machine, &mut Loop<Machine>, Packet),
    ) {
        loop {
            if what == Become::Events && machine.is_inbox_full() {
                self.has_left = true;
                return;
            }
            marks::leave();
            let Some(packet) = machine.node.driver.engine.take_link(link) else { return };
            self.packets += 1;
            f(machine, events, packet);
            marks::stay();
        }
    }
}
