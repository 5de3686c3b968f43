//! What is known of communications with system components.

use crate::communication::{Communication, CommunicationMap, Value, Values};
use crate::handle::ProcessRef;
use std::collections::VecDeque;

/// What a client wants.
#[derive(Debug)]
pub struct Request {
    /// Which communication; the first message of one begins it.
    pub communication: Communication,
    /// The number that the embedder gave the system component.
    pub system: u32,
    /// The message; none when the client has finished: nothing more comes, and nothing can be
    /// answered.
    pub message: Option<u32>,
    /// Its parameters. [`Worker::reuse`](crate::Worker::reuse) takes their memory back.
    pub values: Values,
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

/// Messages with their parameters.
pub(crate) type Answers = VecDeque<(u16, Vec<Value<'static>>)>;

pub(crate) struct Line {
    pub(crate) server: ProcessRef,
    pub(crate) system: u32,
    /// Answers for which there is no room yet. Boxed, as most communications never have any.
    pub(crate) pending: Option<Box<Answers>>,
    /// The protocol state once these are sent.
    pub(crate) state: u16,
    pub(crate) noted: bool,
    /// Its messages are left where they are.
    pub(crate) held: bool,
}

/// All communications with system components.
#[derive(Default)]
pub(crate) struct Systems {
    pub(crate) offered: Vec<(String, u32)>,
    pub(crate) lines: CommunicationMap<Line>,
    /// Places of former lines.
    pub(crate) free: Vec<u32>,
    pub(crate) noted: VecDeque<Communication>,
    /// How many there have been.
    pub(crate) count: u32,
    /// Memory for the parameters of the next request.
    pub(crate) spare: Values,
    /// Memory for the words of an answer.
    pub(crate) words: Vec<u64>,
}

impl Systems {
    /// Whether a request may be waiting.
    pub(crate) fn is_noted(&self) -> bool {
        !self.noted.is_empty()
    }

    pub(crate) fn new_name(&mut self) -> Communication {
        let place = self.free.pop().unwrap_or(self.lines.len() as u32);
        self.count = self.count.wrapping_add(1);
        Communication::new(place, self.count)
    }

    pub(crate) fn remove(&mut self, name: Communication) -> Option<Line> {
        let line = self.lines.remove(name)?;
        self.free.push(name.place() as u32);
        Some(line)
    }
}
