//! Rules as an interface that components require: they put tuples, and receive changes.
//!
//! ```text
//! { IN p(..) OUT Taken | IN Next ( OUT q(change: CHARACTER; ..) | OUT End ) }
//!
//! component -> p -> inbox of the node              Taken, when there was room
//! component <- q <- [queue] <- turn, after its commit
//! ```
//! A communication receives changes from its first message on. Changes are queued until the
//! component sends `Next`, up to `queue::WAITING_MAX` per communication; of the rows of a table
//! with the same key, only the last change. What finds no room is dropped and counted. `End`
//! follows when the run is about to end.

mod border;
mod check;
mod clients;
mod form;
mod queue;
mod state;

use tidemill_event::Loop;
use tidemill_overlog::node::Crossing;
use tidemill_proc::{Communication, Request, arm};
use tidemill_relation::{Seq, TupleBuf};
use tidemill_stdx::marks;

use super::inbox;
use crate::components::system;
use crate::machine::Machine;
use border::Meaning;
pub use border::RulesBorder;
use state::RulesInterface;
pub(crate) use state::RulesServer;

/// Serves a request of a component to rules; false if it is to another interface.
pub(crate) fn serve(machine: &mut Machine, events: &mut Loop<Machine>, request: &Request) -> bool {
    let number = request.system.checked_sub(system::count());
    let Some(interface) = number.map(|number| number as usize) else { return false };
    if let Some(mut server) = machine.node.borders.rules.take() {
        let of = (interface, request.communication);
        server.request(machine, events, of, request.message, &request.values);
        machine.node.borders.rules = Some(server);
    }
    true
}

/// Takes a tuple that a component of another worker has put.
pub(super) fn receive(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (interface, message): (u32, u32),
    row: Seq<'_>,
) {
    let Some(server) = machine.node.borders.rules.take() else { return };
    if let Some(RulesInterface { checked, counters, .. }) =
        server.interfaces.get(interface as usize)
        && let Some(Meaning::Put(relation)) = checked.messages.get(message as usize)
    {
        let to = (relation.id, &counters.latency);
        if !inbox::put_posted(machine, events, to, (relation.location, row)) {
            counters.full.add(1);
        }
    }
    machine.node.borders.rules = Some(server);
}

/// Passes the changes of a turn to components.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>, tuples: &TupleBuf<Crossing>) {
    let is_open = |server: &mut Box<RulesServer>| !server.open.is_empty();
    let Some(mut server) = machine.node.borders.rules.take_if(is_open) else { return };
    let mut has_notified = false;
    for (crossing, columns) in tuples.iter() {
        marks::leave();
        let is_it = |meaning: &Meaning| match meaning {
            Meaning::Change(relation) => relation.id == crossing.relation,
            _ => false,
        };
        for interface in 0..server.interfaces.len() {
            let messages = &server.interfaces[interface].checked.messages;
            if let Some(message) = messages.iter().position(is_it) {
                server.interfaces[interface].handover.hand(events.now());
                server.notify((machine, events), (interface, message), crossing, columns);
                has_notified = true;
                marks::arrive("components/kept");
            }
        }
    }
    // After all changes, as a row that was replaced in the turn is not delivered.
    if has_notified {
        let waiting = server.open.iter().filter(|(_, it)| it.is_waiting && !it.queue.is_empty());
        let waiting: Vec<Communication> = waiting.map(|(name, _)| name).collect();
        for name in waiting {
            marks::leave();
            server.next(machine, events, name);
        }
        arm(machine, events);
    }
    machine.node.borders.rules = Some(server);
}

/// Puts held tuples of components into the inbox, as far as there is room now.
pub(super) fn go_on(machine: &mut Machine, events: &mut Loop<Machine>) {
    let rules = machine.node.borders.rules.as_ref();
    if rules.is_none_or(|server| server.held.is_empty()) || !machine.has_inbox_room() {
        return;
    }
    let Some(mut server) = machine.node.borders.rules.take() else { return };
    while !machine.is_inbox_full()
        && let Some(name) = server.held.pop_front()
    {
        server.give_held(machine, events, name);
    }
    machine.node.borders.rules = Some(server);
    arm(machine, events);
}

/// The run is about to end: clients get `End` after their queued changes.
pub(crate) fn end(machine: &mut Machine, events: &mut Loop<Machine>) {
    let Some(mut server) = machine.node.borders.rules.take() else { return };
    server.is_ending = true;
    let waiting = server.open.iter().filter(|(_, client)| client.is_waiting);
    let waiting: Vec<Communication> = waiting.map(|(name, _)| name).collect();
    waiting.iter().for_each(|&name| server.next(machine, events, name));
    machine.node.borders.rules = Some(server);
    if !waiting.is_empty() {
        arm(machine, events);
    }
}
