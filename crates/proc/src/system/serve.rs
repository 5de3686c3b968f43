//! Requests and answers.

use crate::channel::{head_from, interface_of, is_full};
use crate::communication::{Communication, Value, Values};
use crate::fault::Reason;
use crate::handle::{ChannelRef, ComponentRef, ProcessRef, SlotRef, Words};
use crate::layout::{
    CLIENT_FINISHED, FROM_CLIENT, FROM_SERVER, PORT_SYSTEM, START, STATELESS, port,
};
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::{Direction, Message, WordKind};
use crate::system::note::note;
use crate::system::servers::{HELD, NOTED, PENDING, name_of, system_of};
use crate::system::state::Systems;
use crate::{Refused, Request, channel, crew, process, text};

impl Worker {
    /// Offers an interface to the entry component, and to those that are [made](Worker::make) from
    /// outside: whatever they require of that name will be served by system component `system`.
    /// Before [`Worker::start`].
    pub fn offer(&mut self, interface: &str, system: u32) {
        self.machine.systems.offered.push((interface.to_owned(), system));
    }

    /// As [`Worker::offer`], for a system component that keeps no state between two exchanges. A
    /// communication closes when its client has taken an answer after which the protocol may end,
    /// without notice to the embedder, and opens again with the next message: idle clients cost
    /// nothing.
    pub fn offer_stateless(&mut self, interface: &str, system: u32) {
        self.offer(interface, system);
        self.machine.systems.stateless.push(system);
    }

    /// Takes the next request.
    pub fn take_request(&mut self) -> Option<Request> {
        crew::visit(self, Worker::next_of_requests)
    }

    fn next_of_requests(&mut self) -> Option<Request> {
        while let Some(&name) = self.machine.systems.noted.front() {
            if let Some(request) = next_request(self, name) {
                return Some(request);
            }
            self.machine.systems.noted.pop_front();
            if let Some(server) = self.machine.systems.servers.get(name) {
                server.lower(NOTED);
            }
        }
        None
    }

    /// Takes back the memory of a request that has been served.
    pub fn reuse(&mut self, mut values: Box<Values>) {
        values.clear();
        self.machine.systems.spare = Some(values);
    }

    /// Marks a communication: its requests carry this mark from now on.
    pub fn mark(&mut self, communication: Communication, mark: u32) {
        if let Some(server) = self.machine.systems.servers.get(communication) {
            server.channel().set_index(mark);
        }
    }

    /// Sends a message to a client, in its time.
    ///
    /// # Errors
    /// It cannot be sent, now or later.
    pub fn answer(
        &mut self,
        communication: Communication,
        message: u32,
        values: &[Value<'_>],
    ) -> Result<(), Refused> {
        crew::visit(self, |worker| worker.answer_now(communication, message, values))
    }

    fn answer_now(
        &mut self,
        communication: Communication,
        message: u32,
        values: &[Value<'_>],
    ) -> Result<(), Refused> {
        let interfaces = &self.program().interfaces;
        let server = self.machine.systems.servers.get(communication).ok_or(Refused::Gone)?;
        let channel = server.channel();
        if channel.has(CLIENT_FINISHED) {
            return Err(Refused::Gone);
        }
        let interface = &interfaces[channel.interface() as usize];
        let known = interface.messages.get(message as usize).ok_or(Refused::Protocol)?;
        let pending = if server.has(PENDING) {
            self.machine.systems.pending.get(&communication)
        } else {
            None
        };
        let state = pending.map_or(channel.state(), |pending| pending.state);
        let allowed = if state == START { known.initial } else { known.may_follow(state) };
        if !allowed || !fit(values, known) || known.direction != Direction::Out {
            return Err(Refused::Protocol);
        }
        if pending.is_none() && !is_full(channel) {
            return put(self, channel, message as u16, values);
        }
        let kept = (message as u16, values.iter().map(Value::kept).collect());
        server.raise(PENDING);
        let pending = self.machine.systems.pending.entry(communication).or_default();
        pending.answers.push_back(kept);
        pending.state = message as u16;
        Ok(())
    }

    /// Breaks a communication: its client faults when it next uses it, now if it waits there.
    pub fn fail(&mut self, communication: Communication) {
        crew::visit(self, |worker| {
            let Some(server) = worker.machine.systems.servers.get(communication) else { return };
            worker.machine.systems.remove(server);
            let channel = server.channel();
            if !channel.has(CLIENT_FINISHED) {
                channel::close_failed(worker, channel);
            }
            process::forget(worker, server);
        });
    }

    /// Takes no more messages of a client for now: it waits when the channel is full. Once it has
    /// finished, what it has sent is taken all the same.
    pub fn hold_off(&mut self, communication: Communication) {
        crew::visit(self, |worker| {
            if let Some(server) = worker.machine.systems.servers.get(communication) {
                server.raise(HELD);
            }
        });
    }

    /// Takes messages again of a client that was held off.
    pub fn resume(&mut self, communication: Communication) {
        crew::visit(self, |worker| {
            let Some(server) = worker.machine.systems.servers.get(communication) else { return };
            server.lower(HELD);
            note(worker, server);
        });
    }

    /// The communications that are open, with their system component's number.
    pub fn communications(&self) -> impl Iterator<Item = (Communication, u32)> {
        self.machine.systems.servers.iter().map(|server| (name_of(server), system_of(server)))
    }
}

/// Connects what a component without an owner requires with what the embedder offers.
pub(crate) fn connect(worker: &mut Worker, component: ComponentRef) {
    for required in &component.descriptor().required {
        let interface = &worker.program().interfaces[required.interface as usize];
        let mut offered = worker.machine.systems.offered.iter();
        let Some(&(_, system)) = offered.find(|(name, _)| *name == interface.name) else {
            continue;
        };
        if let Ok(slot) = crate::component::make_slot(worker, component, required, 1) {
            slot.set_port(port(PORT_SYSTEM, required.interface, system));
        }
    }
}

/// Whether values are the parameters of a message.
pub(crate) fn fit(values: &[Value<'_>], message: &Message) -> bool {
    message.parameters.len() == values.len()
        && message.parameters.iter().zip(values).all(|(kind, value)| match value {
            Value::Word(_) => *kind == WordKind::Scalar,
            Value::Text(_) => *kind == WordKind::Text,
        })
}

/// The server's side of a new communication.
pub(crate) fn serve(worker: &mut Worker, system: u32) -> Result<ProcessRef, OutOfMemory> {
    let server = process::create_system(worker)?;
    server.set_condition(system);
    let Systems { stateless, servers, .. } = &mut worker.machine.systems;
    servers.insert(server);
    if stateless.contains(&system) {
        server.channel().raise(STATELESS);
    }
    Ok(server)
}

pub(crate) fn next_request(worker: &mut Worker, communication: Communication) -> Option<Request> {
    let server = worker.machine.systems.servers.get(communication)?;
    let channel = server.channel();
    if channel.has(CLIENT_FINISHED) {
        channel::drop_unread(worker, channel);
    } else if server.has(PENDING) && flush(worker, server).is_err() {
        // Without memory for it the answer is lost: the client sees a communication that failed.
        let last = request_of(worker, server, None);
        worker.machine.systems.remove(server);
        channel::close_failed(worker, channel);
        process::forget(worker, server);
        return Some(last);
    }
    if server.has(HELD) && !channel.has(CLIENT_FINISHED) {
        return None;
    }
    if let Some(head) = head_from(channel, FROM_CLIENT) {
        let mut request = request_of(worker, server, Some(u32::from(head)));
        take_words(worker, channel, head, &mut request.values);
        channel::notify_client(worker, channel);
        return Some(request);
    }
    if channel.has(CLIENT_FINISHED) {
        let last = request_of(worker, server, None);
        worker.machine.systems.remove(server);
        process::forget(worker, server);
        return Some(last);
    }
    None
}

/// A request of a communication, still without parameters.
fn request_of(worker: &mut Worker, server: ProcessRef, message: Option<u32>) -> Request {
    Request {
        communication: name_of(server),
        system: system_of(server),
        mark: server.channel().index(),
        message,
        values: worker.machine.systems.spare.take().unwrap_or_default(),
    }
}

/// A client has taken a message of a system component that has nothing to remember: between two
/// exchanges there is no communication. Returns whether it has been closed.
pub(crate) fn close_stateless(worker: &mut Worker, slot: SlotRef, message: &Message) -> bool {
    let channel = slot.channel();
    if !channel.has(STATELESS) || !message.may_end || channel.count() > 0 {
        return false;
    }
    let (server, first) = (channel.server(), worker.first());
    // A later lookup of what is noted of it finds nothing.
    first.machine.systems.remove(server);
    slot.set_channel(ChannelRef::NULL);
    process::forget(first, server);
    true
}

/// Takes the head out, whose message is known, and appends its parameters; nothing in it is a
/// component.
pub(crate) fn take_words(worker: &mut Worker, channel: ChannelRef, head: u16, values: &mut Values) {
    let interface = interface_of(worker, channel);
    let entry = channel.entry(channel.head(), interface);
    for (index, kind) in interface.messages[usize::from(head)].parameters.iter().enumerate() {
        let word = entry.get(index);
        if *kind == WordKind::Text {
            values.push_text(text::bytes(word));
            text::free(worker, word);
        } else {
            values.push_word(word);
        }
    }
    channel::pass_head(worker, channel);
}

/// Moves answers that wait into the channel as far as there is room.
pub(crate) fn flush(worker: &mut Worker, server: ProcessRef) -> Result<(), Refused> {
    let channel = server.channel();
    while server.has(PENDING) && !is_full(channel) {
        let systems = &mut worker.machine.systems;
        let pending = systems.pending.get_mut(&name_of(server));
        let Some((message, values)) = pending.and_then(|it| it.answers.pop_front()) else {
            systems.pending.remove(&name_of(server));
            server.lower(PENDING);
            break;
        };
        put(worker, channel, message, &values)?;
    }
    Ok(())
}

/// Puts an answer into the channel, where there is room for it.
pub(crate) fn put(
    worker: &mut Worker,
    channel: ChannelRef,
    message: u16,
    values: &[Value<'_>],
) -> Result<(), Refused> {
    put_words(worker, channel, message, FROM_SERVER, values)?;
    channel::notify_client(worker, channel);
    Ok(())
}

/// Puts a message of the embedder into a channel, where there is room for it.
pub(crate) fn put_words(
    worker: &mut Worker,
    channel: ChannelRef,
    message: u16,
    sender: u16,
    values: &[Value<'_>],
) -> Result<(), Refused> {
    let mut words = std::mem::take(&mut worker.machine.systems.words);
    words.clear();
    for value in values {
        let word = match value {
            Value::Word(word) => Ok(*word),
            Value::Text(bytes) => text::make(worker, bytes),
        };
        let Ok(word) = word else {
            free_texts(worker, values, &words);
            return Err(Refused::OutOfMemory);
        };
        words.push(word);
    }
    let payload = Words(words.as_mut_ptr());
    let put = channel::put(worker, channel, message, sender, payload).map_err(|why| match why {
        Reason::OutOfMemory => Refused::OutOfMemory,
        _ => Refused::Protocol,
    });
    if put.is_err() {
        free_texts(worker, values, &words);
    }
    worker.machine.systems.words = words;
    put
}

/// Frees the texts among the first words of an answer.
pub(crate) fn free_texts(worker: &mut Worker, values: &[Value<'_>], words: &[u64]) {
    for (value, word) in values.iter().zip(words) {
        if matches!(value, Value::Text(_)) {
            text::free(worker, *word);
        }
    }
}
