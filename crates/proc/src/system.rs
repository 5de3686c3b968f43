//! The seam to system components: communications whose server is not a process.
//!
//! The embedder [offers](Worker::offer) interfaces to the entry component. What clients send
//! becomes [`Request`]s, which the embedder takes between two processes; it answers at once or,
//! after a timer or a descriptor of the loop, later ([`Worker::answer`]): operations are split in
//! two phases and never block the loop. The four entries of the channel hold a fast client back;
//! answers beyond them wait in a queue here. A process that waits for an answer is not passive:
//! virtual time stands still for it.

use std::collections::{BTreeMap, VecDeque};

use crate::channel::{self, head_from, interface_of, is_full};
use crate::crew;
use crate::handle::{ChannelRef, ComponentRef, ProcessRef, Words};
use crate::layout::{
    CLIENT_FINISHED, CLIENT_WAITS, FROM_CLIENT, FROM_SERVER, PORT_SYSTEM, START, Worker, port,
};
use crate::memory::OutOfMemory;
use crate::process;
use crate::program::{Direction, Kind};
use crate::text;

/// Names one communication with a system component.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Communication(u64);

/// A parameter of a message.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// INTEGER, CHARACTER, BOOLEAN; REAL by its bits.
    Word(u64),
    /// TEXT.
    Text(Vec<u8>),
}

/// What a client wants.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// Which communication; the first message of one begins it.
    pub communication: Communication,
    /// The number that the embedder gave the system component.
    pub system: u32,
    /// The message and its parameters; none when the client has finished: nothing more comes,
    /// and nothing can be answered.
    pub message: Option<(u32, Vec<Value>)>,
}

/// Why an answer was not taken.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The client has finished meanwhile.
    Gone,
    /// The protocol does not allow the message now, or it has other parameters.
    Protocol,
    /// No memory for a text within the limit.
    OutOfMemory,
}

struct Line {
    server: ProcessRef,
    system: u32,
    /// Answers for which there is no room yet.
    pending: VecDeque<(u16, Vec<Value>)>,
    /// The protocol state once these are sent.
    state: u16,
    noted: bool,
    /// Its messages are left where they are.
    held: bool,
}

/// All communications with system components.
#[derive(Default)]
pub(crate) struct Systems {
    offered: Vec<(String, u32)>,
    lines: BTreeMap<u64, Line>,
    noted: VecDeque<u64>,
    last: u64,
}

impl Systems {
    /// Whether a request may be waiting.
    pub(crate) fn is_noted(&self) -> bool {
        !self.noted.is_empty()
    }
}

impl Worker {
    /// Offers an interface to the entry component: whatever it requires of that name will be
    /// served by system component `system`. Before [`Worker::start`].
    pub fn offer(&mut self, interface: &str, system: u32) {
        self.machine.systems.offered.push((interface.to_owned(), system));
    }

    /// Takes the next request.
    pub fn take_request(&mut self) -> Option<Request> {
        crew::visit(self, Worker::next_of_requests)
    }

    fn next_of_requests(&mut self) -> Option<Request> {
        while let Some(&id) = self.machine.systems.noted.front() {
            if let Some(request) = next_request(self, id) {
                return Some(request);
            }
            self.machine.systems.noted.pop_front();
            if let Some(line) = self.machine.systems.lines.get_mut(&id) {
                line.noted = false;
            }
        }
        None
    }

    /// Sends a message to a client, in its time.
    ///
    /// # Errors
    /// It cannot be sent, now or later.
    pub fn answer(
        &mut self,
        communication: Communication,
        message: u32,
        values: Vec<Value>,
    ) -> Result<(), Refused> {
        crew::visit(self, |worker| worker.answer_now(communication, message, values))
    }

    fn answer_now(
        &mut self,
        communication: Communication,
        message: u32,
        values: Vec<Value>,
    ) -> Result<(), Refused> {
        let interfaces = &self.program().interfaces;
        let line = self.machine.systems.lines.get_mut(&communication.0).ok_or(Refused::Gone)?;
        let channel = line.server.channel();
        if channel.has(CLIENT_FINISHED) {
            return Err(Refused::Gone);
        }
        let interface = &interfaces[channel.interface() as usize];
        let known = interface.messages.get(message as usize).ok_or(Refused::Protocol)?;
        let state = if line.pending.is_empty() { channel.state() } else { line.state };
        let allowed = if state == START { known.initial } else { known.may_follow(state) };
        let fits = known.parameters.len() == values.len()
            && known.parameters.iter().zip(&values).all(|(kind, value)| match value {
                Value::Word(_) => *kind == Kind::Scalar,
                Value::Text(_) => *kind == Kind::Text,
            });
        if !allowed || !fits || known.direction != Direction::Out {
            return Err(Refused::Protocol);
        }
        line.pending.push_back((message as u16, values));
        line.state = message as u16;
        flush(self, communication.0)
    }

    /// Breaks a communication: its client faults when it next uses it, now if it waits there.
    pub fn fail(&mut self, communication: Communication) {
        crew::visit(self, |worker| {
            let Some(line) = worker.machine.systems.lines.remove(&communication.0) else { return };
            let channel = line.server.channel();
            if !channel.has(CLIENT_FINISHED) {
                channel::close_failed(worker, channel);
            }
            process::forget(worker, line.server);
        });
    }

    /// Takes no more messages of a client for now: it waits when the channel is full. Once it has
    /// finished, what it has sent is taken all the same.
    pub fn hold_off(&mut self, communication: Communication) {
        crew::visit(self, |worker| {
            if let Some(line) = worker.machine.systems.lines.get_mut(&communication.0) {
                line.held = true;
            }
        });
    }

    /// Takes messages again of a client that was held off.
    pub fn attend_to(&mut self, communication: Communication) {
        crew::visit(self, |worker| {
            let Some(line) = worker.machine.systems.lines.get_mut(&communication.0) else { return };
            line.held = false;
            let server = line.server;
            note(worker, server);
        });
    }

    /// The communications that are open, with their system component's number.
    pub fn communications(&self) -> impl Iterator<Item = (Communication, u32)> {
        let lines = self.machine.systems.lines.iter();
        lines.map(|(&id, line)| (Communication(id), line.system))
    }
}

/// Connects what the entry component requires with what the embedder offers.
pub(crate) fn connect_entry(worker: &mut Worker, entry: ComponentRef) {
    for (name, system) in std::mem::take(&mut worker.machine.systems.offered) {
        for required in &entry.descriptor().required {
            let interface = &worker.program().interfaces[required.interface as usize];
            if interface.name == name
                && let Ok(slot) = crate::component::make_slot(worker, entry, required, 1)
            {
                slot.set_port(port(PORT_SYSTEM, required.interface, system));
            }
        }
    }
}

/// The server's side of a new communication.
pub(crate) fn serve(
    worker: &mut Worker,
    system: u32,
    interface: u32,
) -> Result<ProcessRef, OutOfMemory> {
    let server = process::create_system(worker, interface)?;
    let systems = &mut worker.machine.systems;
    systems.last += 1;
    server.set_wait(systems.last);
    let pending = VecDeque::new();
    let line = Line { server, system, pending, state: START, noted: false, held: false };
    systems.lines.insert(systems.last, line);
    Ok(server)
}

/// Something has changed on a channel of a system component.
pub(crate) fn note(worker: &mut Worker, server: ProcessRef) {
    let systems = &mut worker.machine.systems;
    if let Some(line) = systems.lines.get_mut(&server.wait())
        && !line.noted
    {
        line.noted = true;
        systems.noted.push_back(server.wait());
        worker.machine.attention = true;
    }
}

fn next_request(worker: &mut Worker, id: u64) -> Option<Request> {
    let line = worker.machine.systems.lines.get(&id)?;
    let (server, system, held) = (line.server, line.system, line.held);
    let (channel, communication) = (server.channel(), Communication(id));
    if channel.has(CLIENT_FINISHED) {
        channel::drop_unread(worker, channel);
    } else if flush(worker, id).is_err() {
        // Without memory for it the answer is lost: the client sees a communication that failed.
        worker.machine.systems.lines.remove(&id);
        channel::close_failed(worker, channel);
        process::forget(worker, server);
        return Some(Request { communication, system, message: None });
    }
    if held && !channel.has(CLIENT_FINISHED) {
        return None;
    }
    if let Some(head) = head_from(channel, FROM_CLIENT) {
        let values = take_values(worker, channel, head);
        channel::notify_client(worker, channel);
        return Some(Request { communication, system, message: Some((u32::from(head), values)) });
    }
    if channel.has(CLIENT_FINISHED) {
        worker.machine.systems.lines.remove(&id);
        process::forget(worker, server);
        return Some(Request { communication, system, message: None });
    }
    None
}

fn take_values(worker: &mut Worker, channel: ChannelRef, head: u16) -> Vec<Value> {
    let kinds = &interface_of(worker, channel).messages[usize::from(head)].parameters;
    let mut words = vec![0u64; kinds.len()];
    channel::take(worker, channel, Words(words.as_mut_ptr()));
    let value = |(&word, kind): (&u64, &Kind)| match kind {
        Kind::Text => {
            let bytes = text::bytes(word).to_vec();
            text::free(worker, word);
            Value::Text(bytes)
        }
        _ => Value::Word(word),
    };
    words.iter().zip(kinds).map(value).collect()
}

/// Moves answers that wait into the channel as far as there is room.
fn flush(worker: &mut Worker, id: u64) -> Result<(), Refused> {
    let Some(line) = worker.machine.systems.lines.get(&id) else { return Err(Refused::Gone) };
    let channel = line.server.channel();
    while !is_full(channel) {
        let line = worker.machine.systems.lines.get_mut(&id).ok_or(Refused::Gone)?;
        let Some((message, values)) = line.pending.pop_front() else { break };
        let mut words = Vec::with_capacity(values.len());
        for value in values {
            words.push(match value {
                Value::Word(word) => word,
                Value::Text(bytes) => {
                    text::make(worker, &bytes).map_err(|_| Refused::OutOfMemory)?
                }
            });
        }
        let payload = Words(words.as_mut_ptr());
        channel::put(worker, channel, message, FROM_SERVER, payload)
            .map_err(|_| Refused::Protocol)?;
        channel::notify_client(worker, channel);
    }
    Ok(())
}

/// The components some process of which waits for a system component.
pub(crate) fn waiting(worker: &Worker) -> Vec<ComponentRef> {
    let lines = worker.machine.systems.lines.values();
    let channels = lines.map(|line| line.server.channel());
    channels
        .filter(|&channel| waits(worker, channel))
        .map(ChannelRef::client_component)
        .filter(|component| !component.is_null())
        .collect()
}

/// Whether a process is blocked at the channel, or awaits a condition while an answer is owed.
fn waits(worker: &Worker, channel: ChannelRef) -> bool {
    if channel.has(CLIENT_WAITS) {
        return true;
    }
    let component = channel.client_component();
    if component.is_null() || component.await_queue().is_null() {
        return false;
    }
    let answers = interface_of(worker, channel).messages.iter();
    let mut owed = answers.filter(|message| message.direction == Direction::Out);
    owed.any(|message| message.may_follow(channel.state()))
}
