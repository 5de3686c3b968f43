//! Components that are made and spoken to from outside: rules that hand them tuples, say.
//!
//! The embedder [makes](Worker::make) a component that nobody owns, and is the client of one
//! interface that it implements. What the embedder [says](Worker::say) goes over a channel as
//! always; whatever comes back is noted, and taken between two processes
//! ([`Worker::take_noted`], [`Worker::hear`]). A component is told to end with [`Worker::part`].
//!
//! A channel of this kind has no client component. Its client's slot is a block of our own, whose
//! target is the name of the communication. It stays on the first loop, with who serves there.

use std::collections::{BTreeMap, VecDeque};

use crate::channel::{self, head_from, interface_of, is_full};
use crate::communication::{Communication, CommunicationMap, Value, Values};
use crate::component::{self, ComponentId};
use crate::crew;
use crate::fault::Fault;
use crate::handle::{ChannelRef, ComponentRef, ProcessRef, SlotRef};
use crate::layout::{
    CLIENT_FINISHED, CLIENT_WATCHES, FAILED, FROM_CLIENT, FROM_SERVER, OUTSIDE, SERVER_ENDED,
    START, Slot,
};
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::process::Role;
use crate::program::{Direction, Port};
use crate::system;

/// Why something was not said.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Unsaid {
    /// There is no such component any more.
    Gone,
    /// It has failed: [`Worker::hear`] says why.
    Failed,
    /// The protocol does not allow the message now, or it has other parameters.
    Protocol,
    /// Four messages wait already.
    Full,
    /// No memory for it within the limit.
    OutOfMemory,
}

/// What has come from a component.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// Nothing.
    Nothing,
    /// This message; its parameters are in the values.
    Message(u32),
    /// Its implementation has come to its end; what is said next begins it anew.
    Ended,
    /// It has failed, for this reason. Nothing more comes.
    Failed(String),
    /// There is no such component any more.
    Gone,
}

/// One component.
struct Line {
    /// A block of its own.
    slot: SlotRef,
    component: ComponentId,
    /// Which of the interfaces that its type offers.
    offered: u32,
    is_noted: bool,
}

/// All components that are spoken to from outside.
#[derive(Default)]
pub(crate) struct Outside {
    lines: CommunicationMap<Line>,
    /// Places of former lines.
    free: Vec<u32>,
    /// How many there have been.
    count: u32,
    noted: VecDeque<Communication>,
    /// Why components have failed, until somebody hears of it.
    faults: BTreeMap<ComponentId, String>,
}

impl Outside {
    /// Whether something may have come.
    pub(crate) fn is_noted(&self) -> bool {
        !self.noted.is_empty()
    }
}

/// A slot's target that names a communication. Not looked up as a component: a name is no number
/// in the table of them, and nobody follows the slot.
fn name_of(channel: ChannelRef) -> Option<Communication> {
    let client = channel.client();
    let is_open = channel.has(OUTSIDE) && !client.is_null();
    is_open.then(|| Communication(SlotRef(client.cast()).target()))
}

impl Worker {
    /// Makes a component of a type of the program, to speak with it through an interface that the
    /// type itself implements. What it requires is connected with what the system
    /// [offers](Worker::offer).
    ///
    /// # Errors
    /// No memory for it within the limit, or the type has no such implementation.
    pub fn make(&mut self, kind: u32, interface: u32) -> Result<Communication, Unsaid> {
        crew::visit(self, |worker| worker.make_now(kind, interface))
    }

    fn make_now(&mut self, kind: u32, interface: u32) -> Result<Communication, Unsaid> {
        let types = &self.program().components;
        let ports = types.get(kind as usize).map_or(&[][..], |known| &known.offered);
        let is_it = |port: &Port| port.interface == interface && port.implementation.is_some();
        let offered = ports.iter().position(is_it).ok_or(Unsaid::Protocol)? as u32;
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
        let place = outside.free.pop().unwrap_or(outside.lines.len() as u32);
        outside.count = outside.count.wrapping_add(1);
        let name = Communication::new(place, outside.count);
        slot.set_target(name.0);
        let line = Line { slot, component: component.id(), offered, is_noted: false };
        outside.lines.insert(name, line);
        Ok(name)
    }

    /// Says something to a component.
    ///
    /// # Errors
    /// Why it cannot be said now.
    pub fn say(
        &mut self,
        to: Communication,
        message: u32,
        values: &[Value<'_>],
    ) -> Result<(), Unsaid> {
        crew::visit(self, |worker| worker.say_now(to, message, values))
    }

    fn say_now(
        &mut self,
        to: Communication,
        message: u32,
        values: &[Value<'_>],
    ) -> Result<(), Unsaid> {
        let line = self.machine.outside.lines.get(to).ok_or(Unsaid::Gone)?;
        let (slot, id, offered) = (line.slot, line.component, line.offered);
        let component = self.machine.table.get(id).filter(|component| !component.has_failed());
        let component = component.filter(|_| slot.channel().0 != FAILED);
        let component = component.ok_or(Unsaid::Failed)?;
        let port = &component.descriptor().offered[offered as usize];
        let interface = &self.program().interfaces[port.interface as usize];
        let known = interface.messages.get(message as usize).ok_or(Unsaid::Protocol)?;
        let state = slot.channel().some().map_or(START, ChannelRef::state);
        let is_allowed = if state == START { known.initial } else { known.may_follow(state) };
        if known.direction != Direction::In || !is_allowed || !system::fit(values, known) {
            return Err(Unsaid::Protocol);
        }
        let channel = match slot.channel().some() {
            Some(channel) => channel,
            None => {
                channel::open_from_outside(self, component, port, slot).map_err(out_of_memory)?
            }
        };
        if is_full(channel) {
            return Err(Unsaid::Full);
        }
        let put = system::put_words(self, channel, message as u16, FROM_CLIENT, values);
        put.map_err(|_| Unsaid::OutOfMemory)?;
        channel::notify_server(self, channel);
        Ok(())
    }

    /// Has a component noted, whether something has come or not.
    pub fn renote(&mut self, name: Communication) {
        let machine = &mut self.machine;
        if let Some(line) = machine.outside.lines.get_mut(name)
            && !std::mem::replace(&mut line.is_noted, true)
        {
            machine.outside.noted.push_back(name);
            machine.attention = true;
        }
    }

    /// Takes the next component from which something may have come.
    pub fn take_noted(&mut self) -> Option<Communication> {
        let outside = &mut self.machine.outside;
        while let Some(name) = outside.noted.pop_front() {
            if let Some(line) = outside.lines.get_mut(name) {
                line.is_noted = false;
                return Some(name);
            }
        }
        None
    }

    /// Takes what has come from a component next.
    pub fn hear(&mut self, from: Communication, values: &mut Values) -> Heard {
        crew::visit(self, |worker| worker.hear_now(from, values))
    }

    fn hear_now(&mut self, from: Communication, values: &mut Values) -> Heard {
        let Some(line) = self.machine.outside.lines.get(from) else { return Heard::Gone };
        let (slot, id) = (line.slot, line.component);
        let channel = slot.channel();
        let has_failed = self.machine.table.get(id).is_none_or(ComponentRef::has_failed);
        if channel.0 == FAILED || channel.is_null() && has_failed {
            let why = self.machine.outside.faults.remove(&id);
            return Heard::Failed(why.unwrap_or_else(|| "the component has ended".to_owned()));
        }
        if channel.is_null() {
            return Heard::Nothing;
        }
        let Some(head) = head_from(channel, FROM_SERVER) else {
            if !channel.has(SERVER_ENDED) {
                return Heard::Nothing;
            }
            channel::finish(self, slot, CLIENT_FINISHED);
            return Heard::Ended;
        };
        system::take_words(self, channel, head, values);
        channel::notify_server(self, channel);
        if interface_of(self, channel).messages[usize::from(head)].must_end {
            channel::finish(self, slot, CLIENT_FINISHED);
        }
        Heard::Message(u32::from(head))
    }

    /// Speaks with a component no more, and tells it to end.
    pub fn part(&mut self, with: Communication) {
        crew::visit(self, |worker| {
            let Some(line) = worker.machine.outside.lines.remove(with) else { return };
            worker.machine.outside.free.push(with.place() as u32);
            worker.machine.outside.faults.remove(&line.component);
            channel::finish(worker, line.slot, CLIENT_FINISHED);
            worker.memory.give(line.slot.0.cast(), size_of::<Slot>());
            if let Some(component) = worker.machine.table.get(line.component) {
                component::tell_end(worker, component, ProcessRef::NULL);
            }
        });
    }
}

fn out_of_memory(_: OutOfMemory) -> Unsaid {
    Unsaid::OutOfMemory
}

/// Makes a channel that has just been opened one whose client is outside.
pub(crate) fn be_client(channel: ChannelRef, slot: SlotRef) {
    channel.set_client(slot.channel_word());
    // So code asks the run-time to tell the client of what is sent.
    channel.raise(OUTSIDE | CLIENT_WATCHES);
    slot.set_channel(channel);
}

/// Something has come on a channel, or its server is done or gone.
pub(crate) fn note(worker: &mut Worker, channel: ChannelRef) {
    let Some(name) = name_of(channel) else { return };
    // That the server has taken something concerns nobody.
    let has_come = head_from(channel, FROM_SERVER).is_some() || channel.has(SERVER_ENDED);
    let has_failed = SlotRef(channel.client().cast()).channel().0 == FAILED;
    if !has_come && !has_failed {
        return;
    }
    worker.renote(name);
}

/// A component that nobody owns has failed.
pub(crate) fn note_fault(worker: &mut Worker, component: ComponentRef, fault: &Fault) {
    let is_entry = component.id() == worker.machine.entry;
    if component.owner().is_null() && !is_entry && !component.is_told() {
        let why = worker.machine.outside.faults.entry(component.id());
        why.or_insert_with(|| fault.message.clone());
    }
}

/// Whether somebody outside is the client of a process.
pub(crate) fn is_heard(process: ProcessRef) -> bool {
    Role::of(process) == Role::Server && process.channel().has(OUTSIDE)
}

/// The components that were made from outside, those that are coming to their end included.
pub(crate) fn components(worker: &Worker) -> Vec<ComponentRef> {
    let table = &worker.machine.table;
    let lines = worker.machine.outside.lines.iter();
    let known = lines.filter_map(|(_, line)| table.get(line.component));
    let is_entry = |component: &ComponentRef| component.id() == worker.machine.entry;
    let left = table.iter().filter(|it| it.owner().is_null() && it.is_told() && !is_entry(it));
    // One that somebody speaks to is not told to end.
    known.chain(left).collect()
}

/// Everything has been torn down.
pub(crate) fn clear(worker: &mut Worker) {
    let outside = std::mem::take(&mut worker.machine.outside);
    for (_, line) in outside.lines.iter() {
        worker.memory.give(line.slot.0.cast(), size_of::<Slot>());
    }
}
