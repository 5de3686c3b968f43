//! The state of communications with system components.

use std::collections::VecDeque;

use tidemill_stdx::ordered::OrderedMap;

use super::servers::{self, PENDING, Servers};
use crate::communication::{Communication, Value, Values};
use crate::handle::ProcessRef;

/// What a client requests.
#[derive(Debug)]
pub struct Request {
    /// Which communication; the first message of one begins it.
    pub communication: Communication,
    /// The number that the embedder gave the system component.
    pub system: u32,
    /// What the embedder has [marked](crate::Worker::mark) the communication with; 0: nothing yet.
    pub mark: u32,
    /// The message; none when the client has finished: no more follow, and no answer is possible.
    pub message: Option<u32>,
    /// Its parameters. [`Worker::reuse`](crate::Worker::reuse) takes their memory back. Boxed, as a
    /// request passes from function to function.
    pub values: Box<Values>,
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

/// Answers of a communication for which there is no room yet.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) answers: Answers,
    /// The protocol state once these are sent.
    pub(crate) state: u16,
}

/// All communications with system components.
#[derive(Default)]
pub(crate) struct Systems {
    /// Which interface is offered by which system component.
    pub(crate) offered: Vec<(String, u32)>,
    /// System components that remember nothing between two exchanges.
    pub(crate) stateless: Vec<u32>,
    pub(crate) servers: Servers,
    /// Of those that are marked so; most communications never are.
    pub(crate) pending: OrderedMap<Communication, Pending>,
    pub(crate) noted: VecDeque<Communication>,
    /// Memory for the parameters of the next request.
    pub(crate) spare: Option<Box<Values>>,
    /// Memory for the words of an answer.
    pub(crate) words: Vec<u64>,
}

impl Systems {
    /// Whether a request may be waiting.
    pub(crate) fn is_noted(&self) -> bool {
        !self.noted.is_empty()
    }

    /// Forgets a communication that has ended; its block is the caller's.
    pub(crate) fn remove(&mut self, server: ProcessRef) {
        if server.has(PENDING) {
            self.pending.remove(&servers::name_of(server));
        }
        self.servers.remove(server);
    }
}
