//! The automaton of an interface: each message has one name, so the state is the last message.

use tidemill_stdx::id::Id;

use crate::ir::MessageId;

/// Which message may follow which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protocol {
    /// At the start, then after each message in order of its number.
    pub states: Vec<ProtocolState>,
}

/// A state of a communication.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProtocolState {
    /// Ascending.
    pub next: Vec<MessageId>,
    /// Whether the communication may end here. If `next` is empty, it must.
    pub may_end: bool,
}

impl ProtocolState {
    /// Whether the message may come next.
    pub fn allows(&self, message: MessageId) -> bool {
        self.next.binary_search(&message).is_ok()
    }
}

impl Protocol {
    /// The state after the message, or at the start.
    pub fn after(&self, last: Option<MessageId>) -> &ProtocolState {
        &self.states[last.map_or(0, |message| message.index() + 1)]
    }
}
