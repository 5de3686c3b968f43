//! Rules as an interface that components require: what they give the rules, and hear of them.
//!
//! ```text
//! { IN p(..) OUT Taken | IN Next ( OUT q(change: CHARACTER; ..) | OUT End ) }
//!
//! component -> p -> inbox of the node              Taken, when there was room
//! component <- q <- [queue] <- turn, after its commit
//! ```
//! A communication hears of what happens from its first message on. Events and changes wait until
//! the component asks for them, [`WAITING_MAX`](queue::WAITING_MAX) for each communication; of the
//! rows of a table that have the same key, the last change only. What finds no room is dropped and
//! counted. `End` comes when the run is about to end.

mod check;
mod desk;
mod form;
mod queue;

use std::collections::VecDeque;

use tidemill_event::Loop;
use tidemill_overlog::node::Crossing;
use tidemill_proc::{Communication, CommunicationMap, Request, Value as Word, Worker, arm};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{SeqBuilder, SpareRows, TupleBuf};
use tidemill_stat::{Counter, Registry};
use tidemill_stdx::marks;

use super::latency::{Handover, Latency};
use super::parameters::Misfit;
use crate::components::system;
use crate::machine::Machine;
use check::Meaning;
pub use check::RulesBorder;
use queue::Queue;

/// The interfaces that lead to the rules, and who speaks through them.
#[derive(Default)]
pub(crate) struct Desk {
    interfaces: Vec<Border>,
    /// Those for which something may wait. Boxed, as places are those of all communications.
    open: CommunicationMap<Box<Client>>,
    /// Clients that wait for the inbox to have room, in order.
    held: VecDeque<Communication>,
    is_ending: bool,
    /// Memory for the parameters of a message, and for tuples that wait.
    words: Vec<Word<'static>>,
    rows: SpareRows,
}

/// An interface.
struct Border {
    checked: RulesBorder,
    /// What has happened, on its way to components.
    handover: Handover,
    counters: Counters,
}

/// A communication.
struct Client {
    /// Which of the interfaces.
    interface: usize,
    queue: Queue,
    /// It has asked for the next delivery.
    is_waiting: bool,
    /// What it has given, for which the inbox had no room: a tuple, with its location.
    given: Option<(RelationId, SeqBuilder)>,
    /// It has been told that no more comes.
    has_ended: bool,
}

impl Client {
    fn new(interface: usize) -> Client {
        Client {
            interface,
            queue: Queue::default(),
            is_waiting: false,
            given: None,
            has_ended: false,
        }
    }
}

/// `border/<interface>/in` and so on.
struct Counters {
    inputs: Counter,
    outputs: Counter,
    coalesced: Counter,
    full: Counter,
    null: Counter,
    misfit: Counter,
    latency: Latency,
}

impl Counters {
    fn new(registry: &Registry, interface: &str) -> Counters {
        let counter = |name: &str| registry.counter(&format!("border/{interface}/{name}"));
        Counters {
            inputs: counter("in"),
            outputs: counter("out"),
            coalesced: counter("coalesced"),
            full: counter("dropped_full"),
            null: counter("dropped_null"),
            misfit: counter("dropped_type"),
            latency: Latency::new(registry, interface),
        }
    }

    fn misfits(&self, why: Misfit) {
        match why {
            Misfit::Null => self.null.add(1),
            Misfit::Type => self.misfit.add(1),
        }
    }
}

impl Desk {
    /// Of a program that has these.
    pub(super) fn new(checked: &[RulesBorder], registry: &Registry) -> Desk {
        let border = |checked: &RulesBorder| Border {
            counters: Counters::new(registry, &checked.interface),
            handover: Handover::new(registry, &format!("{}.Next", checked.interface)),
            checked: checked.clone(),
        };
        Desk { interfaces: checked.iter().map(border).collect(), ..Desk::default() }
    }

    /// Offers them, behind what the system offers.
    pub(super) fn offer(&self, worker: &mut Worker) {
        for (number, border) in (system::count()..).zip(&self.interfaces) {
            match border.checked.is_heard() {
                true => worker.offer(&border.checked.interface, number),
                // What is given needs no communication that stays open.
                false => worker.offer_stateless(&border.checked.interface, number),
            }
        }
    }

    /// Whether nothing waits, and all who were told of the end have finished.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.open.iter().all(|(_, client)| !client.has_ended)
    }
}

/// Serves a request of a component, if it is for the rules; else gives it back.
pub(crate) fn serve(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    request: Request,
) -> Option<Request> {
    let number = request.system.checked_sub(system::count());
    let Some(interface) = number.map(|number| number as usize) else { return Some(request) };
    let Request { communication, message, values, .. } = request;
    let mut desk = std::mem::take(&mut machine.node.borders.rules);
    desk.request(machine, events, (interface, communication), message, &values);
    machine.node.borders.rules = desk;
    machine.node.runner.worker().reuse(values);
    None
}

/// Tells components what has happened in a turn.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>, tuples: &TupleBuf<Crossing>) {
    if machine.node.borders.rules.open.is_empty() {
        return;
    }
    let mut desk = std::mem::take(&mut machine.node.borders.rules);
    let mut has_told = false;
    for (crossing, columns) in tuples.iter() {
        marks::leave();
        let is_it = |meaning: &Meaning| match meaning {
            Meaning::Change(relation) => relation.id == crossing.relation,
            _ => false,
        };
        for interface in 0..desk.interfaces.len() {
            let messages = &desk.interfaces[interface].checked.messages;
            if let Some(message) = messages.iter().position(is_it) {
                desk.interfaces[interface].handover.hand(events.now());
                desk.tell((machine, events), (interface, message), crossing, columns);
                has_told = true;
                marks::arrive("components/kept");
            }
        }
    }
    // When all is known: a row that another has replaced in the turn is not told of.
    if has_told {
        let waiting = desk.open.iter().filter(|(_, it)| it.is_waiting && !it.queue.is_empty());
        let waiting: Vec<Communication> = waiting.map(|(name, _)| name).collect();
        for name in waiting {
            marks::leave();
            desk.next(machine, events, name);
        }
        arm(machine, events);
    }
    machine.node.borders.rules = desk;
}

/// Takes what components have given while many events waited, as far as there is room now.
pub(super) fn go_on(machine: &mut Machine, events: &mut Loop<Machine>) {
    if machine.node.borders.rules.held.is_empty() || !machine.has_inbox_room() {
        return;
    }
    let mut desk = std::mem::take(&mut machine.node.borders.rules);
    while !machine.is_inbox_full()
        && let Some(name) = desk.held.pop_front()
    {
        desk.give_held(machine, events, name);
    }
    machine.node.borders.rules = desk;
    arm(machine, events);
}

/// The run is about to end: nothing more comes.
pub(crate) fn end(machine: &mut Machine, events: &mut Loop<Machine>) {
    let mut desk = std::mem::take(&mut machine.node.borders.rules);
    desk.is_ending = true;
    let waiting = desk.open.iter().filter(|(_, client)| client.is_waiting);
    let waiting: Vec<Communication> = waiting.map(|(name, _)| name).collect();
    waiting.iter().for_each(|&name| desk.next(machine, events, name));
    machine.node.borders.rules = desk;
    if !waiting.is_empty() {
        arm(machine, events);
    }
}
