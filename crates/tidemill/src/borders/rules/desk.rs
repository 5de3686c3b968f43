//! Who speaks to the rules: requests served, and what they hear.

use tidemill_event::Loop;
use tidemill_overlog::fleet;
use tidemill_overlog::node::{Crossing, CrossingKind, Event};
use tidemill_proc::{Communication, Value as Word, Values};
use tidemill_relation::{OwnedValue, SeqBuilder, Value};

use super::check::{Meaning, Relation};
use super::queue::{Change, Delivery, Put, Queue};
use super::{Border, Client, Desk};
use crate::borders::parameters::{Misfit, located};
use crate::machine::Machine;

impl Desk {
    pub(super) fn request(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        (interface, name): (usize, Communication),
        message: Option<u32>,
        values: &Values,
    ) {
        let Some(message) = message else {
            self.open.remove(name);
            self.held.retain(|&other| other != name);
            return;
        };
        if self.open.get(name).is_none() {
            let queue = Queue::default();
            let client =
                Client { interface, queue, is_waiting: false, given: None, has_ended: false };
            self.open.insert(name, client);
        }
        let Some(border) = self.interfaces.get(interface) else { return };
        match border.checked.messages.get(message as usize) {
            Some(Meaning::Next) => self.next(machine, name),
            Some(Meaning::Put(relation)) => {
                let event = event(machine, relation, values);
                match event {
                    Ok(event) => self.give(machine, events, name, event),
                    // It has been dealt with.
                    Err(why) => {
                        border.counters.misfits(why);
                        self.answer(machine, name, &Meaning::Taken, &[]);
                    }
                }
            }
            _ => {}
        }
    }

    /// Puts what a component has given into the inbox, when there is room.
    pub(super) fn give(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        name: Communication,
        event: Event,
    ) {
        let Some(client) = self.open.get_mut(name) else { return };
        if machine.is_inbox_full() {
            client.given = Some(event);
            return self.held.push(name);
        }
        let counters = &self.interfaces[client.interface].counters;
        let node = machine.node.id;
        match fleet::inject(machine, events, node, event) {
            true => counters.inputs.add(1),
            // The node is gone: nobody can take it.
            false => counters.full.add(1),
        }
        self.answer(machine, name, &Meaning::Taken, &[]);
    }

    /// Answers a component that asks for the next delivery, if there is one.
    pub(super) fn next(&mut self, machine: &mut Machine, name: Communication) {
        let Some(client) = self.open.get_mut(name) else { return };
        match client.queue.take() {
            Some(delivery) => {
                client.is_waiting = false;
                self.deliver(machine, name, delivery);
            }
            None if self.is_ending => {
                (client.is_waiting, client.has_ended) = (false, true);
                self.answer(machine, name, &Meaning::End, &[]);
            }
            None => client.is_waiting = true,
        }
    }

    fn deliver(&self, machine: &mut Machine, name: Communication, delivery: Delivery) {
        let Delivery { message, change, mut words } = delivery;
        words.insert(0, Word::Word(change as u64));
        if let Some(client) = self.open.get(name) {
            self.interfaces[client.interface].counters.outputs.add(1);
        }
        // One that has gone meanwhile needs no answer; that it is allowed has been checked.
        let _ = machine.node.runner.worker().answer(name, message, &words);
    }

    fn answer(
        &self,
        machine: &mut Machine,
        name: Communication,
        meaning: &Meaning,
        words: &[Word<'_>],
    ) {
        let Some(client) = self.open.get(name) else { return };
        let number = self.interfaces[client.interface].checked.number(meaning);
        if let Some(number) = number {
            // As in `deliver`.
            let _ = machine.node.runner.worker().answer(name, number, words);
        }
    }

    /// Has all clients of an interface hear what has happened.
    pub(super) fn tell(
        &mut self,
        (interface, message): (usize, usize),
        crossing: Crossing,
        columns: &[Value<'_>],
    ) {
        let Border { checked, counters } = &self.interfaces[interface];
        let Some(Meaning::Change(relation)) = checked.messages.get(message) else { return };
        let own = columns.iter().enumerate().filter(|(at, _)| *at != relation.location);
        let own = own.map(|(_, value)| *value).zip(&relation.parameters);
        let words = own.map(|(value, parameter)| parameter.kind.word(value));
        let words: Vec<Word<'_>> = match words.collect() {
            Ok(words) => words,
            Err(why) => return counters.misfits(why),
        };
        let change = match crossing.kind {
            CrossingKind::Event | CrossingKind::Insert => Change::Come,
            CrossingKind::Delete => Change::Gone,
        };
        let key = key(message, relation, columns);
        for (_, client) in self.open.iter_mut().filter(|(_, it)| it.interface == interface) {
            let words = words.iter().map(Word::kept).collect();
            let delivery = Delivery { message: message as u32, change, words };
            match client.queue.put(delivery, key.clone()) {
                Put::Waits => {}
                Put::Coalesced => counters.coalesced.add(1),
                Put::Dropped => counters.full.add(1),
            }
        }
    }
}

/// The key of a row, with the message that it is.
fn key(message: usize, relation: &Relation, columns: &[Value<'_>]) -> Option<OwnedValue> {
    let key = relation.key.as_ref()?;
    let mut list = SeqBuilder::new();
    list.push(Value::Int(message as i64));
    key.iter().filter_map(|&at| columns.get(at)).for_each(|value| list.push(*value));
    Some(OwnedValue::new(Value::List(list.as_seq())))
}

/// What a component has given, as an event of the node.
fn event(machine: &Machine, relation: &Relation, values: &Values) -> Result<Event, Misfit> {
    let columns = relation.parameters.iter().map(|parameter| parameter.value(values));
    let mut columns = columns.collect::<Result<Vec<OwnedValue>, Misfit>>()?;
    let address = machine.fleet.address(machine.node.id).unwrap_or_default();
    located(&mut columns, relation.location, address);
    Ok(Event::Tuple { relation: relation.id, columns, delete: false, received: true })
}
