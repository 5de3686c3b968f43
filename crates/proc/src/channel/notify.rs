//! Waking the process that waits at the other end.

use crate::handle::ChannelRef;
use crate::layout::{CLIENT_WAITS, CLIENT_WATCHES, OUTSIDE, SERVER_WAITS, SERVER_WATCHES, SYSTEM};
use crate::machine::Worker;
use crate::monitor;
use crate::outside::note as outside;

/// The channel has changed: wakes the server process, conditions or system component waiting on it.
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
    notify_watching_client(worker, channel);
}

/// Something has arrived for a client that watches the channel.
pub(crate) fn notify_watching_client(worker: &mut Worker, channel: ChannelRef) {
    if !channel.has(CLIENT_WATCHES) {
        return;
    }
    if let Some(component) = channel.client_component().some() {
        monitor::poke(worker, component);
    } else if channel.has(OUTSIDE) {
        outside::note(worker.first(), channel);
    }
}
