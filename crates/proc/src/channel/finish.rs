//! How communications end.

use crate::channel::Unread;
use crate::channel::hold;
use crate::channel::interface_of;
use crate::channel::notify_server;
use crate::channel::notify_watching_client;
use crate::channel::release;
use crate::channel::take_unread;
use crate::crew;
use crate::handle::{ChannelRef, ComponentRef, SlotRef};
use crate::layout::{CLIENT_FINISHED, CLIENT_WAITS, FAILED, FROM_SERVER, SERVER_ENDED};
use crate::machine::Worker;
use crate::process::{self, Role};

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

/// Whether a communication is open at a state where the protocol may not end.
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
    // SAFETY: the word is in a slot of the live client: `finish` clears the channel's client before
    // the slot is freed.
    unsafe { client.write(FAILED) };
    if channel.has(CLIENT_WAITS) {
        channel.clear(CLIENT_WAITS);
        worker.wake(channel.client_process());
    }
    notify_watching_client(worker, channel);
}
