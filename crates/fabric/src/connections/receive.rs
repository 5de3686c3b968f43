//! Receiving over connections: bytes, the frames in them, and their senders.

use super::connection::{Origin, RemoteEnd};
use super::greeting::greeter;
use super::{ConnectionId, Connections, Context, HELD_BYTES_MAX, Step};
use crate::counters::Count;
use crate::head::Head;
use crate::token::is_hello;

impl Connections {
    /// Whether anything but its end is expected from a connection.
    pub fn reads(&self, id: ConnectionId) -> bool {
        self.guard.is_some() || self.all.get(&id).is_some_and(|one| one.origin == Origin::Taken)
    }

    /// Takes bytes that came over a connection; [`Connections::step`] reads the frames in them.
    pub fn push(&mut self, id: ConnectionId, bytes: &[u8], now_ns: u64) {
        let Some(connection) = self.all.get_mut(&id) else { return };
        connection.received_ns = now_ns;
        connection.reader.push(bytes);
        self.held += connection.settle_held();
    }

    /// Takes the next frame of a connection.
    pub fn step(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Step<'_> {
        let Some(connection) = self.all.get_mut(&id) else { return Step::Quiet };
        if self.guard.is_none() && connection.origin == Origin::Made {
            if connection.reader.held() == 0 {
                return Step::Quiet;
            }
            cx.counters.count(Count::Malformed);
            return Step::Bad(Count::Malformed);
        }
        let before = connection.reader.held();
        self.frame.clear();
        match connection.reader.next_frame() {
            Ok(Some(frame)) => self.frame.extend_from_slice(frame),
            Ok(None) if self.held > HELD_BYTES_MAX => {
                cx.counters.count(Count::FrameFull);
                return Step::Bad(Count::FrameFull);
            }
            Ok(None) => {
                if self.guard.is_some() && connection.peer.is_none() {
                    connection.reader.shrink();
                }
                return Step::Quiet;
            }
            Err(_) => {
                cx.counters.count(Count::FrameTooLong);
                return Step::Bad(Count::FrameTooLong);
            }
        }
        let after = connection.reader.held();
        self.held -= before - after;
        connection.held = after;
        if let RemoteEnd::Unknown(_) = connection.from
            && is_hello(&self.frame)
        {
            return Step::Tool(std::mem::take(&mut self.frame));
        }
        match self.guard {
            Some(_) => self.step_sealed(id, cx),
            None => self.step_open(id, cx),
        }
    }

    pub(super) fn step_open(&mut self, id: ConnectionId, cx: &mut Context<'_>) -> Step<'_> {
        let (frame, Some(one)) = (&self.frame, self.all.get_mut(&id)) else { return Step::Quiet };
        if let RemoteEnd::Unknown(from) = &mut one.from {
            self.from = std::mem::take(from);
            match greeter(frame) {
                Some(address) => {
                    one.from = RemoteEnd::Node(address.to_owned());
                    return Step::Named { from: &self.from, name: one.from.name() };
                }
                None => one.from = RemoteEnd::Nameless(self.from.clone()),
            }
        }
        let from = one.from.name();
        // Acknowledgements go to the sender's address.
        let wants_answer = || Head::decode(frame).is_ok_and(|head| head.ack.is_some());
        if matches!(one.from, RemoteEnd::Nameless(_)) && wants_answer() {
            cx.counters.count(Count::BadAck);
            return Step::Taken { from, bytes: frame.len() };
        }
        Step::Content { from, bytes: frame }
    }

    /// The peer of a connection, as far as it is known.
    pub fn name(&self, id: ConnectionId) -> &str {
        self.all.get(&id).map_or("", |one| one.from.name())
    }
}
