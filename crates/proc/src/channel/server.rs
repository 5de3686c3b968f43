//! The server's side of a communication: the process's own channel.

use super::client::matches;
use super::{drop_unread, guard, head_from, interface_of, is_full, notify_client, put, take};
use crate::channel::entries::hands_over;
use crate::fault::Reason;
use crate::handle::{ChannelRef, Words};
use crate::layout::{
    CLIENT_FAILED, CLIENT_FINISHED, CLIENT_WAITS, FINISH, FROM_CLIENT, FROM_SERVER, OK,
    SERVER_WAITS, START,
};
use crate::machine::Context;
use crate::process::ProcessState;
use crate::program::WordKind;
use crate::{crew, words};

/// Waits, unless the client waits too.
fn block(cx: &mut Context, channel: ChannelRef, state: ProcessState, position: u32) -> u32 {
    if channel.has(CLIENT_WAITS) {
        return cx.deadlock(channel, FROM_SERVER, position);
    }
    channel.raise(SERVER_WAITS);
    cx.process.set_wait(0);
    cx.block(state)
}

pub(crate) fn server_send(cx: &mut Context, message: u32, payload: *mut u64, position: u32) -> u32 {
    let channel = cx.process.channel();
    guard::hold(cx.worker, channel);
    let status = send(cx, channel, message as u16, Words(payload), position);
    guard::release(cx.worker);
    status
}

fn send(cx: &mut Context, channel: ChannelRef, number: u16, payload: Words, position: u32) -> u32 {
    let known = &interface_of(cx.worker, channel).messages[usize::from(number)];
    let state = channel.state();
    let allowed = if state == START { known.initial } else { known.may_follow(state) };
    if !allowed {
        return cx.against_protocol(channel, number, FROM_SERVER, position);
    }
    if channel.has(CLIENT_FINISHED) {
        return send_nowhere(cx, channel, number, payload);
    }
    if is_full(channel) {
        return block(cx, channel, ProcessState::Send, position);
    }
    if hands_over(cx.worker, channel, number) {
        return crew::later(cx);
    }
    if let Err(reason) = put(cx.worker, channel, number, FROM_SERVER, payload) {
        return cx.fault(reason, 0, position);
    }
    cx.worker.note_message(cx.process);
    notify_client(cx.worker, channel);
    OK
}

/// The client has stopped reading: the message is dropped.
fn send_nowhere(cx: &mut Context, channel: ChannelRef, number: u16, payload: Words) -> u32 {
    channel.set_state(number);
    let message = &interface_of(cx.worker, channel).messages[usize::from(number)];
    for (index, &kind) in message.parameters.iter().enumerate() {
        if kind != WordKind::Scalar {
            words::drop_word(cx.worker, kind, payload.at(index));
        }
    }
    OK
}

/// What the server can receive now: a message, FINISH, or nothing yet.
fn at_hand(cx: &mut Context, channel: ChannelRef) -> Option<u32> {
    if channel.has(CLIENT_FINISHED) {
        drop_unread(cx.worker, channel);
    }
    match head_from(channel, FROM_CLIENT) {
        Some(head) => Some(u32::from(head)),
        None if channel.has(CLIENT_FINISHED) => Some(FINISH),
        None => None,
    }
}

pub(crate) fn server_receive(
    cx: &mut Context,
    message: u32,
    destination: *mut u64,
    position: u32,
) -> u32 {
    let channel = cx.process.channel();
    guard::hold(cx.worker, channel);
    let status = receive(cx, channel, message, Words(destination), position);
    guard::release(cx.worker);
    status
}

fn receive(cx: &mut Context, channel: ChannelRef, message: u32, into: Words, position: u32) -> u32 {
    match at_hand(cx, channel) {
        None => block(cx, channel, ProcessState::Receive, position),
        Some(FINISH) if channel.has(CLIENT_FAILED) => {
            cx.fault_with(Reason::PartnerFailed, "the client has failed".to_owned(), position)
        }
        Some(FINISH) => cx.finished(channel, FROM_SERVER, position),
        Some(head) if head != message => {
            cx.unexpected(channel, (message as u16, head as u16), FROM_SERVER, position)
        }
        Some(_) => {
            take(cx.worker, channel, into);
            cx.worker.note_message(cx.process);
            notify_client(cx.worker, channel);
            OK
        }
    }
}

pub(crate) fn server_peek(cx: &mut Context, pattern: u32, position: u32) -> u32 {
    let channel = cx.process.channel();
    guard::hold(cx.worker, channel);
    let status = match at_hand(cx, channel) {
        None => block(cx, channel, ProcessState::Receive, position),
        Some(there) => {
            cx.frame.set_result(matches(pattern, there));
            OK
        }
    };
    guard::release(cx.worker);
    status
}

pub(crate) fn server_input(cx: &mut Context, pattern: u32, _: u32) -> u32 {
    let channel = cx.process.channel();
    guard::hold(cx.worker, channel);
    let there = at_hand(cx, channel);
    guard::release(cx.worker);
    cx.frame.set_result(there.map_or(0, |there| matches(pattern, there)));
    OK
}

pub(crate) fn server_wake(cx: &mut Context) -> u32 {
    notify_client(cx.worker, cx.process.channel());
    OK
}
