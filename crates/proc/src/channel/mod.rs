//! Communications: four entries between a client and a server process.
//!
//! One FIFO serves both directions; each entry bears its sender. A side that finds the head not
//! from the other one waits for it; a side that finds four entries waits for room; if the other
//! side waits already, both would for ever: a protocol deadlock, and the one who came second
//! faults. Who finishes is the client; the server sees that when it has read all before it.
//!
//! The server's end of a finished client: what it still sends goes nowhere. The client's end of a
//! server that is done: it has finished too, and waiting for it is a protocol deadlock.

mod client;
mod guard;
mod open;
mod server;

pub(crate) use client::{client_input, client_peek, client_receive, client_send, client_wake};
pub(crate) use guard::{hold, release, set_remote};
pub(crate) use open::{open_from_outside, slot_offered, slot_required, unpark};
pub(crate) use server::{server_input, server_peek, server_receive, server_send, server_wake};

use crate::component::{self, hand_over};
use crate::fault::Reason;
use crate::handle::{ChannelRef, ComponentRef, SlotRef, Words};
use crate::layout::{
    CLIENT_FINISHED, CLIENT_WAITS, CLIENT_WATCHES, ENTRIES, FAILED, FROM_CLIENT, FROM_SERVER,
    OUTSIDE, SERVER_ENDED, SERVER_WAITS, SERVER_WATCHES, SYSTEM, Worker, tag,
};
use crate::process::{self, Role};
use crate::program::{Interface, Kind, Message};
use crate::{crew, monitor, outside, words};

#[inline]
pub(crate) fn interface_of<'a>(worker: &Worker, channel: ChannelRef) -> &'a Interface {
    let program: &'a crate::program::Program = worker.program();
    &program.interfaces[channel.interface() as usize]
}

#[inline]
pub(crate) fn is_full(channel: ChannelRef) -> bool {
    usize::from(channel.count()) == ENTRIES
}

/// The message at the head if the other side sent it.
#[inline]
pub(crate) fn head_from(channel: ChannelRef, sender: u16) -> Option<u16> {
    let tag = channel.tag(channel.head());
    (channel.count() > 0 && tag & 1 == sender).then_some(tag >> 1)
}

/// Puts a message behind the others; there is room. Owned words move.
pub(crate) fn put(
    worker: &mut Worker,
    channel: ChannelRef,
    number: u16,
    sender: u16,
    payload: Words,
) -> Result<(), Reason> {
    let interface = interface_of(worker, channel);
    let message = &interface.messages[usize::from(number)];
    if message.parameters.contains(&Kind::Component) {
        let receiver = match sender {
            FROM_CLIENT => channel.server().component(),
            _ => channel.client_component(),
        };
        hand_over_all(message, payload, receiver)?;
    }
    let place = (channel.head() + channel.count()) & 3;
    let entry = channel.entry(place, interface);
    for (index, kind) in message.parameters.iter().enumerate() {
        let word = payload.get(index);
        entry.set(index, word);
        if !matches!(kind, Kind::Scalar | Kind::Reference) {
            payload.set(index, 0);
        }
    }
    channel.set_tag(place, tag(number, sender));
    channel.set_count(channel.count() + 1);
    channel.set_state(number);
    Ok(())
}

/// Whether a message hands over components, in a tree that may reach over several loops.
fn hands_over(worker: &Worker, channel: ChannelRef, number: u16) -> bool {
    crew::is_spread(worker)
        && interface_of(worker, channel).messages[usize::from(number)]
            .parameters
            .contains(&Kind::Component)
}

/// Gives the components of a message to their new owner, all or none.
fn hand_over_all(message: &Message, payload: Words, receiver: ComponentRef) -> Result<(), Reason> {
    let places = message.parameters.iter().enumerate();
    let sent: Vec<ComponentRef> = places
        .filter(|(_, kind)| **kind == Kind::Component)
        .filter_map(|(index, _)| ComponentRef::of_word(payload.get(index)).some())
        .collect();
    if receiver.is_null() && !sent.is_empty() {
        return Err(Reason::NotMovable);
    }
    if sent.iter().any(|&component| receiver.is_within(component)) {
        return Err(Reason::OwnershipCycle);
    }
    sent.into_iter().try_for_each(|component| hand_over(component, receiver))
}

/// Takes the head out, whose message is known.
pub(crate) fn take(worker: &Worker, channel: ChannelRef, destination: Words) {
    let interface = interface_of(worker, channel);
    let head = channel.head();
    let message = &interface.messages[usize::from(channel.tag(head) >> 1)];
    let entry = channel.entry(head, interface);
    for index in 0..message.parameters.len() {
        destination.set(index, entry.get(index));
    }
    pass_head(channel);
}

/// The head has been taken.
#[inline]
pub(crate) fn pass_head(channel: ChannelRef) {
    channel.set_head((channel.head() + 1) & 3);
    channel.set_count(channel.count() - 1);
}

/// Drops the head.
fn drop_head(worker: &mut Worker, channel: ChannelRef) {
    let interface = interface_of(worker, channel);
    let head = channel.head();
    let message = &interface.messages[usize::from(channel.tag(head) >> 1)];
    let entry = channel.entry(head, interface);
    for (index, &kind) in message.parameters.iter().enumerate() {
        words::drop_word(worker, kind, entry.at(index));
    }
    pass_head(channel);
}

/// What becomes of components in messages that their receiver does not read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// They are told to end.
    Ends,
    /// They have gone with their owner.
    IsGone,
}

/// Takes components out of the messages of one side, before the end of their owner, the receiver:
/// later nobody could tell whether they still exist.
pub(crate) fn take_unread(worker: &mut Worker, channel: ChannelRef, sender: u16, what: Unread) {
    let interface = interface_of(worker, channel);
    for place in 0..channel.count() {
        let place = (channel.head() + place) & 3;
        let tag = channel.tag(place);
        if tag & 1 != sender {
            continue;
        }
        let entry = channel.entry(place, interface);
        for (index, &kind) in
            interface.messages[usize::from(tag >> 1)].parameters.iter().enumerate()
        {
            match what {
                _ if kind != Kind::Component => {}
                Unread::Ends => words::drop_word(worker, kind, entry.at(index)),
                Unread::IsGone => words::free_word(worker, kind, entry.at(index)),
            }
        }
    }
}

/// Drops what nobody will read.
pub(crate) fn drop_entries(worker: &mut Worker, channel: ChannelRef) {
    while channel.count() > 0 {
        drop_head(worker, channel);
    }
}

/// Drops what the server has sent to a client that reads no more.
pub(crate) fn drop_unread(worker: &mut Worker, channel: ChannelRef) {
    while head_from(channel, FROM_SERVER).is_some() {
        drop_head(worker, channel);
    }
}

/// The channel has changed: whoever of the server's side waits for that goes on.
#[inline]
pub(crate) fn notify_server(worker: &mut Worker, channel: ChannelRef) {
    if !channel.has(SERVER_WAITS | SERVER_WATCHES | SYSTEM) {
        return;
    }
    if channel.has(SERVER_WAITS) {
        channel.clear(SERVER_WAITS);
        worker.push_home(channel.server());
    }
    if channel.has(SERVER_WATCHES) {
        monitor::poke(worker, channel.server().component());
    }
    if channel.has(SYSTEM) {
        crate::system::note(worker.first(), channel.server());
    }
}

/// The same for the client's side.
#[inline]
pub(crate) fn notify_client(worker: &mut Worker, channel: ChannelRef) {
    if !channel.has(CLIENT_WAITS | CLIENT_WATCHES) {
        return;
    }
    if channel.has(CLIENT_WAITS) {
        channel.clear(CLIENT_WAITS);
        worker.push_home(channel.client_process());
    }
    tell_watching_client(worker, channel);
}

/// Something has come for a client that is to be told of it.
pub(crate) fn tell_watching_client(worker: &mut Worker, channel: ChannelRef) {
    if !channel.has(CLIENT_WATCHES) {
        return;
    }
    if let Some(component) = channel.client_component().some() {
        monitor::poke(worker, component);
    } else if channel.has(OUTSIDE) {
        outside::note(worker.first(), channel);
    }
}

/// The client finishes what is open at a slot.
pub(crate) fn finish(worker: &mut Worker, slot: SlotRef, how: u32) {
    let channel = slot.channel();
    slot.set_channel(ChannelRef::NULL);
    if channel.is_null() || channel.0 == FAILED {
        return;
    }
    hold(worker, channel);
    // A process of the client that still waits here looks again.
    if channel.has(CLIENT_WAITS) {
        channel.clear(CLIENT_WAITS);
        worker.wake(channel.client_process());
    }
    let is_torn = channel.client_component().some().is_some_and(ComponentRef::is_doomed);
    let unread = if is_torn { Unread::IsGone } else { Unread::Ends };
    take_unread(worker, channel, FROM_SERVER, unread);
    channel.raise(CLIENT_FINISHED | how);
    channel.set_client(std::ptr::null_mut());
    channel.set_client_component(ComponentRef::NULL);
    let server = channel.server();
    let ends = Role::of(server) == Role::Server && channel.has(SERVER_ENDED);
    if ends && !crew::is_elsewhere(worker, server.component()) {
        release(worker);
        process::end(worker, server);
        return;
    }
    if ends {
        // Its own loop ends it, and frees the channel: the guard first.
        release(worker);
        worker.push_home(server);
    } else {
        notify_server(worker, channel);
        release(worker);
    }
}

/// Whether a communication is open, and the protocol goes on from where it is.
pub(crate) fn is_in_middle(worker: &mut Worker, channel: ChannelRef) -> bool {
    if channel.is_null() || channel.0 == FAILED {
        return false;
    }
    hold(worker, channel);
    let state = channel.state();
    let messages = &interface_of(worker, channel).messages;
    let ends =
        channel.has(SERVER_ENDED) || messages.get(usize::from(state)).is_none_or(|it| it.may_end);
    release(worker);
    !ends
}

/// The server's process is killed: its client finds the communication failed.
pub(crate) fn close_failed(worker: &mut Worker, channel: ChannelRef) {
    let client = channel.client();
    if client.is_null() {
        return;
    }
    // SAFETY: the word is in the slot of a live client, which would have taken it back before its
    // end.
    unsafe { client.write(FAILED) };
    if channel.has(CLIENT_WAITS) {
        channel.clear(CLIENT_WAITS);
        worker.wake(channel.client_process());
    }
    tell_watching_client(worker, channel);
}

/// The component on the other side of who sends as `sender`; null if it is the system, or gone.
pub(crate) fn partner_of(channel: ChannelRef, sender: u16) -> ComponentRef {
    match sender {
        FROM_CLIENT => channel.server().component(),
        _ => channel.client_component(),
    }
}

/// The component's life forbids new communications.
pub(crate) fn is_closed(component: ComponentRef) -> bool {
    matches!(component::Life::of(component), component::Life::Finally | component::Life::Closing)
}
