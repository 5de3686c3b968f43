//! The entries of a channel: messages that were sent and not yet received.

use crate::component::{self, hand_over};
use crate::fault::Reason;
use crate::handle::{ChannelRef, ComponentRef, Words};
use crate::layout::{ENTRIES, FROM_CLIENT, FROM_SERVER, SYSTEM, tag};
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::{Interface, Message, WordKind};
use crate::{crew, words};

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

/// Puts a message after the others; there is room. Owned words move.
pub(crate) fn put(
    worker: &mut Worker,
    channel: ChannelRef,
    number: u16,
    sender: u16,
    payload: Words,
) -> Result<(), Reason> {
    let interface = interface_of(worker, channel);
    let message = &interface.messages[usize::from(number)];
    if message.parameters.contains(&WordKind::Component) {
        let receiver = match sender {
            FROM_CLIENT => channel.server().component(),
            _ => channel.client_component(),
        };
        hand_over_all(message, payload, receiver)?;
    }
    if channel.has(SYSTEM) && channel.entry_block().0.is_null() && interface.entry_size > 0 {
        let block = worker.memory.take_unset(interface.entries_size());
        channel.set_entry_block(Words(block.map_err(|OutOfMemory| Reason::OutOfMemory)?.cast()));
    }
    let place = (channel.head() + channel.count()) & 3;
    let entry = channel.entry(place, interface);
    for (index, kind) in message.parameters.iter().enumerate() {
        let word = payload.get(index);
        entry.set(index, word);
        if !matches!(kind, WordKind::Scalar | WordKind::Reference) {
            payload.set(index, 0);
        }
    }
    channel.set_tag(place, tag(number, sender));
    channel.set_count(channel.count() + 1);
    channel.set_state(number);
    worker.note_put(channel);
    Ok(())
}

/// Whether a message hands over components, in a tree that may reach over several loops.
#[inline]
pub(crate) fn hands_over(worker: &Worker, channel: ChannelRef, number: u16) -> bool {
    crew::is_spread(worker)
        && interface_of(worker, channel).messages[usize::from(number)]
            .parameters
            .contains(&WordKind::Component)
}

/// Gives the components of a message to their new owner, all or none.
pub(crate) fn hand_over_all(
    message: &Message,
    payload: Words,
    receiver: ComponentRef,
) -> Result<(), Reason> {
    let places = message.parameters.iter().enumerate();
    let sent: Vec<ComponentRef> = places
        .filter(|(_, kind)| **kind == WordKind::Component)
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
#[inline]
pub(crate) fn take(worker: &mut Worker, channel: ChannelRef, destination: Words) {
    let interface = interface_of(worker, channel);
    let head = channel.head();
    let message = &interface.messages[usize::from(channel.tag(head) >> 1)];
    let entry = channel.entry(head, interface);
    for index in 0..message.parameters.len() {
        destination.set(index, entry.get(index));
    }
    pass_head(worker, channel);
}

/// The head has been taken. A system component's channel that is empty needs no entries: of many
/// that wait, few hold anything, and what those use is in the cache.
#[inline]
pub(crate) fn pass_head(worker: &mut Worker, channel: ChannelRef) {
    channel.set_head((channel.head() + 1) & 3);
    channel.set_count(channel.count() - 1);
    if channel.count() == 0 && channel.has(SYSTEM) && !channel.entry_block().0.is_null() {
        let size = interface_of(worker, channel).entries_size();
        worker.memory.give(channel.entry_block().0.cast(), size);
        channel.set_entry_block(Words(std::ptr::null_mut()));
    }
}

/// Drops the head.
pub(crate) fn drop_head(worker: &mut Worker, channel: ChannelRef) {
    let interface = interface_of(worker, channel);
    let head = channel.head();
    let message = &interface.messages[usize::from(channel.tag(head) >> 1)];
    let entry = channel.entry(head, interface);
    for (index, &kind) in message.parameters.iter().enumerate() {
        words::drop_word(worker, kind, entry.at(index));
    }
    pass_head(worker, channel);
}

/// What happens to components in unread messages.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// They are terminated.
    Ends,
    /// They have been released with their owner.
    IsGone,
}

/// Takes components out of the messages to one side before their owner, the receiver, ends:
/// afterwards nothing records whether they still exist.
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
                _ if kind != WordKind::Component => {}
                Unread::Ends => words::drop_word(worker, kind, entry.at(index)),
                Unread::IsGone => words::free_word(worker, kind, entry.at(index)),
            }
        }
    }
}

/// Drops all entries; they have no reader.
pub(crate) fn drop_entries(worker: &mut Worker, channel: ChannelRef) {
    while channel.count() > 0 {
        drop_head(worker, channel);
    }
}

/// Drops what the server has sent to a client that has stopped reading.
pub(crate) fn drop_unread(worker: &mut Worker, channel: ChannelRef) {
    while head_from(channel, FROM_SERVER).is_some() {
        drop_head(worker, channel);
    }
}

/// The component that receives what `sender` sends; null if it is the system, or released.
#[inline]
pub(crate) fn partner_of(channel: ChannelRef, sender: u16) -> ComponentRef {
    match sender {
        FROM_CLIENT => channel.server().component(),
        _ => channel.client_component(),
    }
}

/// The component's life forbids new communications.
#[inline]
pub(crate) fn is_closed(component: ComponentRef) -> bool {
    matches!(component::Life::of(component), component::Life::Finally | component::Life::Closing)
}
