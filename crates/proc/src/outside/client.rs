//! Making components, and communicating with them as their client.

use super::state::OutsideSession;
use crate::channel::{self, head_from, interface_of, is_full};
use crate::communication::{Communication, Value, Values};
use crate::component::{self, ComponentId};
use crate::crew;
use crate::handle::{ChannelRef, ComponentRef, ProcessRef, SlotRef, Words};
use crate::layout::{CLIENT_FINISHED, FAILED, FROM_CLIENT, FROM_SERVER, SERVER_ENDED, START, Slot};
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::{Direction, Port};
use crate::{system, words};

/// Why a component was not made, or a message not sent.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SendError {
    /// There is no such component any more.
    Gone,
    /// It has failed: [`Worker::receive`] returns the reason.
    Failed,
    /// The protocol does not allow the message now, or it has other parameters.
    Protocol,
    /// Four messages wait already.
    Full,
    /// No memory for it within the limit.
    OutOfMemory,
}

/// What a component has sent, or what has happened to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    /// Nothing.
    Nothing,
    /// This message; its parameters are in the values.
    Message(u32),
    /// Its implementation has ended; the next message starts it again.
    Ended,
    /// Its implementation has ended after it had answered, and before it took the next message: a
    /// new one has that message, or it is dropped for the reason.
    Restarted(Result<(), SendError>),
    /// It has failed, for this reason. It sends no more.
    Failed(String),
    /// There is no such component any more.
    Gone,
}

impl Worker {
    /// Makes a component of a type of the program, to communicate with it through an interface that
    /// the type itself implements. What it requires is connected with what the system
    /// [offers](Worker::offer).
    ///
    /// # Errors
    /// No memory for it within the limit, or the type has no such implementation.
    pub fn make(&mut self, kind: u32, interface: u32) -> Result<Communication, SendError> {
        crew::visit(self, |worker| worker.make_now(kind, interface))
    }

    fn make_now(&mut self, kind: u32, interface: u32) -> Result<Communication, SendError> {
        let types = &self.program().components;
        let ports = types.get(kind as usize).map_or(&[][..], |known| &known.offered);
        let is_it = |port: &Port| port.interface == interface && port.implementation.is_some();
        let offered = ports.iter().position(is_it).ok_or(SendError::Protocol)? as u32;
        let slot = SlotRef(self.memory.take(size_of::<Slot>()).map_err(out_of_memory)?.cast());
        let owner = ComponentRef::NULL;
        let full = self.machine.table.is_full();
        let create = |worker: &mut Worker| component::create(worker, kind, owner, false);
        let made = if full { crew::alone(self, create) } else { create(self) };
        let component = match made {
            Ok(component) => component,
            Err(error) => {
                self.memory.give(slot.0.cast(), size_of::<Slot>());
                return Err(out_of_memory(error));
            }
        };
        system::connect(self, component);
        let outside = &mut self.machine.outside;
        let place = outside.free.pop().unwrap_or(outside.sessions.len() as u32);
        outside.count = outside.count.wrapping_add(1).max(1);
        let name = Communication::new(place, outside.count);
        slot.set_target(name.0);
        let component = component.id();
        outside.sessions.insert(name, OutsideSession::new(slot, component, offered));
        Ok(name)
    }

    /// Sends a message to a component.
    ///
    /// # Errors
    /// Why it cannot be sent now.
    pub fn send(
        &mut self,
        to: Communication,
        message: u32,
        values: &[Value<'_>],
    ) -> Result<(), SendError> {
        crew::visit(self, |worker| worker.send_now(to, message, values))
    }

    fn send_now(
        &mut self,
        to: Communication,
        message: u32,
        values: &[Value<'_>],
    ) -> Result<(), SendError> {
        let session = self.machine.outside.sessions.get(to).ok_or(SendError::Gone)?;
        let (slot, id, offered) = (session.slot, session.component, session.offered);
        let component = self.machine.table.get(id).filter(|component| !component.has_failed());
        let component = component.filter(|_| slot.channel().0 != FAILED);
        let component = component.ok_or(SendError::Failed)?;
        let port = &component.descriptor().offered[offered as usize];
        let interface = &self.program().interfaces[port.interface as usize];
        let known = interface.messages.get(message as usize).ok_or(SendError::Protocol)?;
        let state = slot.channel().some().map_or(START, ChannelRef::state);
        let is_allowed = if state == START { known.initial } else { known.may_follow(state) };
        if known.direction != Direction::In || !is_allowed || !system::fit(values, known) {
            return Err(SendError::Protocol);
        }
        let channel = match slot.channel().some() {
            Some(channel) => channel,
            None => {
                channel::open_from_outside(self, component, port, slot).map_err(out_of_memory)?
            }
        };
        if is_full(channel) {
            return Err(SendError::Full);
        }
        let put = system::put_words(self, channel, message as u16, FROM_CLIENT, values);
        put.map_err(|_| SendError::OutOfMemory)?;
        channel::notify_server(self, channel);
        Ok(())
    }

    /// Takes the next component from which something may have arrived.
    pub fn take_noted(&mut self) -> Option<Communication> {
        let outside = &mut self.machine.outside;
        while let Some(name) = outside.noted.pop_front() {
            if let Some(session) = outside.sessions.get_mut(name) {
                session.is_noted = false;
                return Some(name);
            }
        }
        None
    }

    /// Takes the next message or event of a component.
    pub fn receive(&mut self, from: Communication, values: &mut Values) -> Received {
        crew::visit(self, |worker| worker.receive_now(from, values))
    }

    fn receive_now(&mut self, from: Communication, values: &mut Values) -> Received {
        let Some(session) = self.machine.outside.sessions.get(from) else { return Received::Gone };
        let (slot, id) = (session.slot, session.component);
        if session.is_ending {
            let outside = &mut self.machine.outside;
            return match (outside.faults.remove(&id), outside.ending.contains_key(&id)) {
                (Some(why), _) => Received::Failed(why),
                (None, true) => Received::Nothing,
                (None, false) => Received::Gone,
            };
        }
        let channel = slot.channel();
        let has_failed = self.machine.table.get(id).is_none_or(ComponentRef::has_failed);
        if channel.0 == FAILED || channel.is_null() && has_failed {
            let why = self.machine.outside.faults.remove(&id);
            return Received::Failed(why.unwrap_or_else(|| "the component has ended".to_owned()));
        }
        if channel.is_null() {
            return Received::Nothing;
        }
        let Some(head) = head_from(channel, FROM_SERVER) else {
            return if channel.has(SERVER_ENDED) {
                self.ended_now(from, slot, id)
            } else {
                Received::Nothing
            };
        };
        self.set_answered(from, true);
        values.clear();
        system::take_words(self, channel, head, values);
        channel::notify_server(self, channel);
        if interface_of(self, channel).messages[usize::from(head)].must_end {
            channel::finish(self, slot, CLIENT_FINISHED);
            self.set_answered(from, false);
        }
        Received::Message(u32::from(head))
    }

    fn set_answered(&mut self, name: Communication, has_answered: bool) {
        if let Some(session) = self.machine.outside.sessions.get_mut(name) {
            session.has_answered = has_answered;
        }
    }

    /// The implementation has ended. It may be preempted between its last answer and its end, so
    /// the next message may have been sent already: whether it was taken decides, not when.
    fn ended_now(&mut self, from: Communication, slot: SlotRef, id: ComponentId) -> Received {
        let channel = slot.channel();
        let session = self.machine.outside.sessions.get_mut(from);
        let Some(session) = session else { return Received::Gone };
        let has_answered = std::mem::replace(&mut session.has_answered, false);
        let offered = session.offered;
        let unread = head_from(channel, FROM_CLIENT).filter(|_| channel.count() == 1);
        // A message that the implementation was started for is not passed on: the next one might
        // not take it either, and so on.
        let Some(number) = unread.filter(|_| has_answered) else {
            channel::finish(self, slot, CLIENT_FINISHED);
            return Received::Ended;
        };
        let message = &interface_of(self, channel).messages[usize::from(number)];
        let mut words = vec![0; message.parameters.len()];
        channel::take(self, channel, Words(words.as_mut_ptr()));
        channel::finish(self, slot, CLIENT_FINISHED);
        let passed = self.pass_on(slot, (id, offered), number, &mut words);
        if passed.is_err() {
            let words = Words(words.as_mut_ptr());
            for (index, &kind) in message.parameters.iter().enumerate() {
                words::drop_word(self, kind, words.at(index));
            }
        }
        Received::Restarted(passed)
    }

    /// Starts an implementation with a message of a former one.
    fn pass_on(
        &mut self,
        slot: SlotRef,
        (id, offered): (ComponentId, u32),
        number: u16,
        words: &mut [u64],
    ) -> Result<(), SendError> {
        let component = self.machine.table.get(id).ok_or(SendError::Gone)?;
        let port = &component.descriptor().offered[offered as usize];
        let opened = channel::open_from_outside(self, component, port, slot);
        let channel = opened.map_err(out_of_memory)?;
        let put = channel::put(self, channel, number, FROM_CLIENT, Words(words.as_mut_ptr()));
        put.map_err(|_| SendError::OutOfMemory)?;
        channel::notify_server(self, channel);
        Ok(())
    }

    /// Terminates a component, and ends the communication with it as soon as it is gone, which is
    /// noted: [`receive`](Self::receive) returns why it has failed on the way, as in its FINALLY,
    /// or that it is gone. It is to be [closed](Self::close) then.
    pub fn end(&mut self, with: Communication) {
        crew::visit(self, |worker| {
            let Some(session) = worker.machine.outside.sessions.get_mut(with) else { return };
            let (slot, id) = (session.slot, session.component);
            session.is_ending = true;
            channel::finish(worker, slot, CLIENT_FINISHED);
            match worker.machine.table.get(id) {
                Some(component) => {
                    worker.machine.outside.ending.insert(id, with);
                    component::terminate(worker, component, ProcessRef::NULL);
                }
                None => worker.renote(with),
            }
        });
    }

    /// Ends the communication with a component, and terminates it. What happens to it afterwards is
    /// not noted.
    pub fn close(&mut self, with: Communication) {
        crew::visit(self, |worker| {
            let Some(session) = worker.machine.outside.sessions.remove(with) else { return };
            worker.machine.outside.free.push(with.place() as u32);
            worker.machine.outside.faults.remove(&session.component);
            worker.machine.outside.ending.remove(&session.component);
            channel::finish(worker, session.slot, CLIENT_FINISHED);
            worker.memory.give(session.slot.0.cast(), size_of::<Slot>());
            if let Some(component) = worker.machine.table.get(session.component) {
                component::terminate(worker, component, ProcessRef::NULL);
            }
        });
    }
}

fn out_of_memory(_: OutOfMemory) -> SendError {
    SendError::OutOfMemory
}
