//! The client's side of a communication.

use super::open::{Opening, Probe};
use super::{finish, guard, head_from, interface_of, is_full, notify_server, open, put, take};
use crate::channel::entries::hands_over;
use crate::handle::{ChannelRef, SlotRef, Words};
use crate::layout::{
    ANY, CLIENT_FINISHED, CLIENT_WAITS, FAILED, FINISH, FROM_CLIENT, FROM_SERVER, OK, SERVER_ENDED,
    SERVER_WAITS, START, SYSTEM, Slot,
};
use crate::machine::Context;
use crate::outside::launched;
use crate::process::ProcessState;
use crate::program::Direction;
use crate::{component, crew, sessions, system};

/// Finishes the communication of a slot in order.
fn close(cx: &mut Context, slot: SlotRef) {
    finish(cx.worker, slot, CLIENT_FINISHED);
    sessions::free_closed(cx.worker, slot);
}

/// The channel of a slot that has not failed; null if none is open.
fn channel_of(cx: &mut Context, slot: SlotRef, position: u32) -> Result<ChannelRef, u32> {
    let channel = slot.channel();
    if channel.0 == FAILED {
        let failed = open::failed_at(cx.worker, cx.component(), slot);
        return Err(cx.failed_partner(failed, position));
    }
    Ok(channel)
}

/// Waits, unless the server waits too or is done.
fn block(
    cx: &mut Context,
    slot: SlotRef,
    channel: ChannelRef,
    state: ProcessState,
    position: u32,
) -> u32 {
    if channel.has(SERVER_ENDED) {
        return match launched::retires(cx.worker, cx.component(), channel) {
            Some(root) => cx.retire(root),
            None => cx.finished(channel, FROM_CLIENT, position),
        };
    }
    if channel.has(SERVER_WAITS) {
        return cx.deadlock(channel, FROM_CLIENT, position);
    }
    channel.raise(CLIENT_WAITS);
    channel.set_client_process(cx.process);
    cx.process.set_wait(slot.0.expose_provenance() as u64);
    cx.block(state)
}

/// The channel to send a message on; opens a communication if there is none, or if the protocol
/// requires a new one.
fn channel_for(
    cx: &mut Context,
    slot: SlotRef,
    number: u16,
    position: u32,
) -> Result<ChannelRef, u32> {
    let channel = channel_of(cx, slot, position)?;
    let opening = Opening::Message(number, Direction::In);
    if channel.is_null() {
        return open::open(cx, slot, opening, position);
    }
    let state = channel.state();
    let interface = interface_of(cx.worker, channel);
    let message = &interface.messages[usize::from(number)];
    // A communication that is open without a message waits for the one it was opened for; unless
    // a test opened it, and the server is done without one.
    let is_unused = state == START && channel.has(SERVER_ENDED);
    let allowed = if state == START { message.initial } else { message.may_follow(state) };
    if allowed && !is_unused {
        return Ok(channel);
    }
    let ended = is_unused || state != START && interface.messages[usize::from(state)].may_end;
    if !ended || !message.initial {
        return Err(cx.against_protocol(channel, number, FROM_CLIENT, position));
    }
    finish(cx.worker, slot, CLIENT_FINISHED);
    open::open(cx, slot, opening, position)
}

pub(crate) fn client_send(
    cx: &mut Context,
    slot: *mut Slot,
    message: u32,
    payload: *mut u64,
    position: u32,
) -> u32 {
    let slot = cx.slot(slot);
    guard::hold_slot(cx.worker, slot);
    let status = send(cx, slot, message as u16, Words(payload), position);
    guard::release(cx.worker);
    status
}

fn send(cx: &mut Context, slot: SlotRef, number: u16, payload: Words, position: u32) -> u32 {
    let channel = match channel_for(cx, slot, number, position) {
        Ok(channel) => channel,
        Err(status) => return status,
    };
    // A communication that has just been opened may be one between loops.
    guard::hold(cx.worker, channel);
    if is_full(channel) {
        return block(cx, slot, channel, ProcessState::Send, position);
    }
    if hands_over(cx.worker, channel, number) {
        return crew::later(cx);
    }
    if let Err(reason) = put(cx.worker, channel, number, FROM_CLIENT, payload) {
        return cx.fault(reason, 0, position);
    }
    cx.worker.note_message(cx.process);
    notify_server(cx.worker, channel);
    if interface_of(cx.worker, channel).messages[usize::from(number)].must_end {
        close(cx, slot);
    }
    OK
}

pub(crate) fn client_receive(
    cx: &mut Context,
    slot: *mut Slot,
    message: u32,
    destination: *mut u64,
    position: u32,
) -> u32 {
    let slot = cx.slot(slot);
    guard::hold_slot(cx.worker, slot);
    let status = receive(cx, slot, message as u16, Words(destination), position);
    guard::release(cx.worker);
    status
}

fn receive(cx: &mut Context, slot: SlotRef, number: u16, into: Words, position: u32) -> u32 {
    let channel = match channel_of(cx, slot, position) {
        Ok(channel) if channel.is_null() => {
            match open::open(cx, slot, Opening::Message(number, Direction::Out), position) {
                Ok(channel) => channel,
                Err(status) => return status,
            }
        }
        Ok(channel) => channel,
        Err(status) => return status,
    };
    guard::hold(cx.worker, channel);
    match head_from(channel, FROM_SERVER) {
        None => return block(cx, slot, channel, ProcessState::Receive, position),
        Some(head) if head != number => {
            return cx.unexpected(channel, (number, head), FROM_CLIENT, position);
        }
        Some(_) => take(cx.worker, channel, into),
    }
    cx.worker.note_message(cx.process);
    let message = &interface_of(cx.worker, channel).messages[usize::from(number)];
    match channel.has(SYSTEM) {
        true if system::close_stateless(cx.worker, slot, message) => return OK,
        true => system::note_taken(cx.worker.first(), channel.server()),
        false => notify_server(cx.worker, channel),
    }
    if message.must_end {
        close(cx, slot);
    }
    OK
}

/// What the client can receive now: a message, FINISH, or nothing yet.
fn at_hand(channel: ChannelRef) -> Option<u32> {
    match head_from(channel, FROM_SERVER) {
        Some(head) => Some(u32::from(head)),
        None if channel.has(SERVER_ENDED) => Some(FINISH),
        None => None,
    }
}

/// Whether the available entry matches a pattern.
pub(super) fn matches(pattern: u32, there: u32) -> u64 {
    u64::from(pattern == there || pattern == ANY)
}

/// As [`matches`] without an open communication, where the client would have to begin one: no
/// message can come.
fn is_closed(pattern: u32) -> u64 {
    u64::from(pattern == FINISH)
}

pub(crate) fn client_peek(cx: &mut Context, slot: *mut Slot, pattern: u32, position: u32) -> u32 {
    let slot = cx.slot(slot);
    guard::hold_slot(cx.worker, slot);
    let status = peek(cx, slot, pattern, position);
    guard::release(cx.worker);
    status
}

fn peek(cx: &mut Context, slot: SlotRef, pattern: u32, position: u32) -> u32 {
    let channel = match channel_of(cx, slot, position) {
        Ok(channel) if channel.is_null() => match open::probe(cx, slot, position) {
            Probe::Open(channel) => channel,
            Probe::BeginsWithIn => {
                cx.frame.set_result(is_closed(pattern));
                return OK;
            }
            Probe::Unconnected(at) => return open::park(cx, at),
            Probe::Elsewhere => return crew::later(cx),
            Probe::Failed(status) => return status,
        },
        Ok(channel) => channel,
        Err(status) => return status,
    };
    guard::hold(cx.worker, channel);
    match at_hand(channel) {
        Some(there) => {
            cx.frame.set_result(matches(pattern, there));
            OK
        }
        None => block(cx, slot, channel, ProcessState::Receive, position),
    }
}

pub(crate) fn client_input(cx: &mut Context, slot: *mut Slot, pattern: u32, position: u32) -> u32 {
    let slot = cx.slot(slot);
    guard::hold_slot(cx.worker, slot);
    let status = input(cx, slot, pattern, position);
    guard::release(cx.worker);
    status
}

/// It may be part of a condition, which cannot wait: a missing connection is watched, and the
/// condition is evaluated again once it is connected.
fn input(cx: &mut Context, slot: SlotRef, pattern: u32, position: u32) -> u32 {
    let is = match channel_of(cx, slot, position) {
        Ok(channel) if channel.is_null() => match open::probe_now(cx, slot, position) {
            Probe::Open(_) | Probe::Elsewhere => 0,
            Probe::BeginsWithIn => is_closed(pattern),
            Probe::Unconnected(at) => {
                component::watch_connection(cx.worker, at, cx.component());
                0
            }
            Probe::Failed(status) => return status,
        },
        Ok(channel) => at_hand(channel).map_or(0, |there| matches(pattern, there)),
        Err(status) => return status,
    };
    cx.frame.set_result(is);
    OK
}

pub(crate) fn client_wake(cx: &mut Context, slot: *mut Slot) -> u32 {
    let channel = cx.slot(slot).channel();
    if !channel.is_null() && channel.0 != FAILED {
        notify_server(cx.worker, channel);
    }
    OK
}
