//! Serves the clients of rules: accepts puts, and delivers changes.

use std::convert::Infallible;
use std::rc::Rc;

use tidemill_event::{Loop, Time};
use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_proc::{Communication, Value as Word, Values, Worker};
use tidemill_relation::{OwnedValue, Seq, SeqBuilder, Value};
use tidemill_stdx::marks;

use super::border::{Meaning, Relation};
use super::queue::{Change, Delivery, Put, RowKey};
use super::state::{Client, RulesInterface, RulesServer};
use crate::borders::inbox::{self, Way};
use crate::borders::instances::Receiver;
use crate::borders::parameters::{self, Misfit, Words, fill};
use crate::machine::Machine;

impl RulesServer {
    pub(super) fn request(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        (interface, name): (usize, Communication),
        message: Option<u32>,
        values: &Values,
    ) {
        let Some(message) = message else {
            // What waits for a component that has ended, or for room, is lost.
            if let Some(client) = self.open.remove(name) {
                self.lose_from(&client);
                self.held.retain(|&other| other != name);
            }
            return;
        };
        let Some(border) = self.interfaces.get(interface) else { return };
        if self.open.get(name).is_none() && border.checked.has_changes() {
            self.open.insert(name, Box::new(Client::new(interface)));
        }
        match border.checked.messages.get(message as usize) {
            Some(Meaning::Next) => self.next(machine, events, name),
            Some(Meaning::Put(_)) => {
                self.give(machine, events, name, (interface, message as usize), values);
            }
            _ => {}
        }
    }

    /// Puts a tuple of a component into the inbox, or holds it until there is room.
    fn give(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        name: Communication,
        (interface, message): (usize, usize),
        values: &Values,
    ) {
        let RulesInterface { checked, counters, .. } = &self.interfaces[interface];
        let Some(Meaning::Put(relation)) = checked.messages.get(message) else { return };
        let Relation { id, location, parameters, .. } = relation;
        if machine.is_inbox_full() {
            let mut row = SeqBuilder::new();
            let address = machine.fleet.address(machine.node.id).unwrap_or_default();
            if fill(&mut row, (*location, address), parameters, values).is_ok() {
                if self.open.get(name).is_none() {
                    self.open.insert(name, Box::new(Client::new(interface)));
                }
                if let Some(client) = self.open.get_mut(name) {
                    client.given = Some((Some((*id, message as u32)), row));
                    return self.held.push_back(name);
                }
            }
        }
        let way = Way {
            receiver: Receiver::Component { interface: interface as u32, message: message as u32 },
            relation: *id,
            latency: &counters.latency,
        };
        let is_in = inbox::put_or_post(machine, events, way, |address, row| {
            fill(row, (*location, address), parameters, values)
        });
        match is_in {
            Ok(true) => counters.inputs.add(1),
            // The node is gone.
            Ok(false) => counters.full.add(1),
            // The misfit is counted; the put is acknowledged all the same.
            Err(why) => counters.misfits(why),
        }
        self.interfaces[interface].answer(machine.node.runner.worker(), name, &Meaning::Taken);
    }

    /// Puts a held tuple into the inbox, which has room.
    pub(super) fn give_held(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        name: Communication,
    ) {
        let Some(client) = self.open.get_mut(name) else { return };
        let Some((relation, row)) = client.given.take() else { return };
        let interface = client.interface;
        let RulesInterface { checked, counters, .. } = &self.interfaces[interface];
        let put = |(relation, message)| {
            let receiver = Receiver::Component { interface: interface as u32, message };
            let way = Way { receiver, relation, latency: &counters.latency };
            let Ok(is_in) = inbox::put_or_post(machine, events, way, |_, into| {
                into.extend(row.as_seq());
                Ok::<(), Infallible>(())
            });
            is_in
        };
        if relation.is_some_and(put) {
            counters.inputs.add(1)
        } else {
            counters.full.add(1)
        }
        if !checked.has_changes() {
            self.open.remove(name);
        }
        self.interfaces[interface].answer(machine.node.runner.worker(), name, &Meaning::Taken);
    }

    /// Answers `Next` with the next delivery, if there is one.
    pub(super) fn next(
        &mut self,
        machine: &mut Machine,
        events: &Loop<Machine>,
        name: Communication,
    ) {
        let RulesServer { interfaces, open, is_ending, rows, .. } = self;
        let Some(client) = open.get_mut(name) else { return };
        let (worker, interface) = (machine.node.runner.worker(), &mut interfaces[client.interface]);
        while let Some(delivery) = client.queue.next() {
            let sent = interface.deliver((worker, events.now()), name, delivery);
            client.queue.pass(rows);
            match sent {
                Ok(()) => return (client.is_waiting, client.is_awaited) = (false, *is_ending),
                Err(why) => interface.counters.misfits(why),
            }
        }
        (client.is_waiting, client.is_awaited) = (!*is_ending, *is_ending);
        if *is_ending {
            interface.answer(worker, name, &Meaning::End);
        }
    }

    /// Passes a change to all clients of an interface: sends an event at once to a client that
    /// waits for one, and queues all else.
    pub(super) fn notify(
        &mut self,
        (machine, events): (&mut Machine, &Loop<Machine>),
        (interface, message): (usize, usize),
        crossing: Crossing,
        columns: Seq<'_>,
    ) {
        let RulesInterface { checked, counters, .. } = &self.interfaces[interface];
        let Some(Meaning::Change(relation)) = checked.messages.get(message) else { return };
        let Relation { is_certain, location, parameters, .. } = relation;
        if !is_certain && let Err(why) = parameters::check(columns.iter(), *location, parameters) {
            return counters.misfits(why);
        }
        let change = match crossing.kind {
            CrossingKind::Event | CrossingKind::Insert => Change::Come,
            CrossingKind::Delete => Change::Gone,
        };
        let key = key(message, relation, columns);
        let delivery = Delivery { message: message as u32, change, columns };
        let mut now = None;
        for (name, client) in self.open.iter_mut().filter(|(_, it)| it.interface == interface) {
            // Of the rows of a key only the turn's last change is delivered, which is not known
            // yet.
            let is_ready = client.is_waiting && client.queue.is_empty();
            if is_ready && key.is_none() && now.is_none() {
                client.is_waiting = false;
                now = Some(name);
                continue;
            }
            match client.queue.put(delivery, key.as_ref(), &mut self.rows) {
                Put::Waits => {}
                Put::Coalesced => counters.coalesced.add(1),
                Put::Dropped => counters.full.add(1),
            }
        }
        if let Some(name) = now {
            let to = (machine.node.runner.worker(), events.now());
            let interface = &mut self.interfaces[interface];
            if let Err(why) = interface.deliver(to, name, delivery) {
                interface.counters.misfits(why);
                self.open.get_mut(name).into_iter().for_each(|client| client.is_waiting = true);
            }
        }
    }
}

impl RulesInterface {
    /// Sends a change of a tuple to a component.
    ///
    /// # Errors
    /// A column does not fit: then nothing is sent.
    fn deliver(
        &mut self,
        (worker, now): (&mut Worker, Time),
        name: Communication,
        Delivery { message, change, columns }: Delivery<'_>,
    ) -> Result<(), Misfit> {
        let RulesInterface { checked, handover, counters } = self;
        let Some(Meaning::Change(relation)) = checked.messages.get(message as usize) else {
            return Ok(());
        };
        let mut words = Words::new();
        words.push(Word::Word(change as u64));
        let Relation { location, parameters, .. } = relation;
        parameters::words(columns.iter(), *location, parameters, &mut words)?;
        handover.begin(now);
        counters.outputs.add(1);
        // A client that has ended needs no answer; `form::check` has checked that the answer is
        // allowed.
        let _ = worker.answer(name, message, &words);
        marks::arrive("components/channel");
        Ok(())
    }

    fn answer(&self, worker: &mut Worker, name: Communication, meaning: &Meaning) {
        if let Some(number) = self.checked.number(meaning) {
            // See `deliver` for both errors.
            let _ = worker.answer(name, number, &[]);
        }
    }
}

/// The key of a row, with the message that it is.
fn key(message: usize, relation: &Relation, columns: Seq<'_>) -> Option<Rc<RowKey>> {
    let key = relation.key.as_ref()?;
    let mut list = SeqBuilder::new();
    list.push(Value::Int(message as i64));
    key.iter().filter_map(|&at| columns.get(at)).for_each(|value| list.push(value));
    Some(RowKey::new(OwnedValue::new(Value::List(list.as_seq()))))
}
