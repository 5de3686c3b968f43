//! Events of components that the embedder made, noted for it.

use crate::channel::head_from;
use crate::communication::Communication;
use crate::fault::Fault;
use crate::handle::{ChannelRef, ComponentRef, ProcessRef, SlotRef};
use crate::layout::{CLIENT_WATCHES, FAILED, FROM_SERVER, OUTSIDE, SERVER_ENDED, Slot};
use crate::machine::Worker;
use crate::outside::launched::{is_launched, note_over};
use crate::process::Role;

/// A slot's target that names a communication. It is not looked up as a component: a name is no
/// number in the table of them, and connections are not followed through the slot.
fn name_of(channel: ChannelRef) -> Option<Communication> {
    let client = channel.client();
    let is_open = channel.has(OUTSIDE) && !client.is_null();
    is_open.then(|| Communication(SlotRef(client.cast()).target()))
}

impl Worker {
    /// Notes a component, whether something has arrived or not.
    pub fn renote(&mut self, name: Communication) {
        let machine = &mut self.machine;
        if let Some(session) = machine.outside.sessions.get_mut(name)
            && !std::mem::replace(&mut session.is_noted, true)
        {
            machine.outside.noted.push_back(name);
            machine.attention = true;
        }
    }
}

/// Makes the embedder the client of a channel that has just been opened.
pub(crate) fn be_client(channel: ChannelRef, slot: SlotRef) {
    channel.set_client(slot.channel_word());
    // So inlined code calls the run-time, which notifies the embedder of what is sent.
    channel.raise(OUTSIDE | CLIENT_WATCHES);
    slot.set_channel(channel);
}

/// Something has arrived on a channel, or its server is done or gone.
pub(crate) fn note(worker: &mut Worker, channel: ChannelRef) {
    let Some(name) = name_of(channel) else { return };
    // That the server has taken a message is not noted.
    let has_come = head_from(channel, FROM_SERVER).is_some() || channel.has(SERVER_ENDED);
    let has_failed = SlotRef(channel.client().cast()).channel().0 == FAILED;
    if !has_come && !has_failed {
        return;
    }
    worker.renote(name);
}

/// A component without an owner has failed.
pub(crate) fn note_fault(worker: &mut Worker, component: ComponentRef, fault: &Fault) {
    let is_entry = component.id() == worker.machine.entry;
    if is_launched(worker, component) {
        note_over(worker, component, Some(fault.message.clone()));
    } else if let Some(&name) = worker.machine.outside.ending.get(&component.id()) {
        let why = worker.machine.outside.faults.entry(component.id());
        why.or_insert_with(|| fault.message.clone());
        worker.renote(name);
    } else if component.owner().is_null() && !is_entry && !component.is_terminating() {
        let why = worker.machine.outside.faults.entry(component.id());
        why.or_insert_with(|| fault.message.clone());
    }
}

/// Whether the client of a process is the embedder.
pub(crate) fn serves_embedder(process: ProcessRef) -> bool {
    Role::of(process) == Role::Server && process.channel().has(OUTSIDE)
}

/// The components that the embedder made, those that are ending included.
pub(crate) fn components(worker: &Worker) -> Vec<ComponentRef> {
    let table = &worker.machine.table;
    let spoken_to = worker.machine.outside.sessions.iter();
    let spoken_to = spoken_to.filter(|(_, session)| !session.is_ending);
    let known: Vec<ComponentRef> =
        spoken_to.filter_map(|(_, session)| table.get(session.component)).collect();
    let is_left = |component: &ComponentRef| {
        let is_ours = component.is_terminating() || is_launched(worker, *component);
        component.owner().is_null() && is_ours && component.id() != worker.machine.entry
    };
    // One with a client outside is not terminated.
    let left: Vec<ComponentRef> = table.iter().filter(is_left).collect();
    known.into_iter().chain(left).collect()
}

/// Everything has been torn down.
pub(crate) fn clear(worker: &mut Worker) {
    let outside = std::mem::take(&mut worker.machine.outside);
    for (_, session) in outside.sessions.iter() {
        worker.memory.give(session.slot.0.cast(), size_of::<Slot>());
    }
}
