//! Which components wait for system components.

use crate::channel::interface_of;
use crate::handle::{ChannelRef, ComponentRef, ProcessRef};
use crate::layout::CLIENT_WAITS;
use crate::machine::Worker;
use crate::program::Direction;

/// The components some process of which waits for a system component.
pub(crate) fn waiting(worker: &Worker) -> Vec<ComponentRef> {
    let components = waiting_channels(worker).map(ChannelRef::client_component);
    components.filter(|component| !component.is_null()).collect()
}

/// Whether there are any.
pub(crate) fn is_waited_for(worker: &Worker) -> bool {
    waiting_channels(worker).any(|channel| !channel.client_component().is_null())
}

pub(crate) fn waiting_channels(worker: &Worker) -> impl Iterator<Item = ChannelRef> {
    let servers = worker.machine.systems.servers.iter();
    let channels = servers.map(ProcessRef::channel);
    channels.filter(|&channel| waits(worker, channel))
}

/// Whether a process is blocked at the channel, or awaits a condition while an answer is owed.
pub(crate) fn waits(worker: &Worker, channel: ChannelRef) -> bool {
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
