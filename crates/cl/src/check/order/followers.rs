//! The automaton of an interface the other way round: the states in which a message can come.

use tidemill_stdx::id::{Id, IdVec};

use super::states::States;
use crate::ir::MessageId;
use crate::ir::protocol::Protocol;

/// The states before messages of one interface.
pub(super) struct Followers {
    /// The number of states.
    pub(super) count: usize,
    /// By message: the states that allow it.
    allowing: IdVec<MessageId, States>,
    /// By message: the states in which nothing else can come.
    forcing: IdVec<MessageId, States>,
    /// The states in which the communication may end.
    may_end: States,
    /// The start, and those in which it may end.
    idle: States,
}

impl Followers {
    pub(super) fn new(protocol: &Protocol) -> Followers {
        let count = protocol.states.len();
        let messages = count.saturating_sub(1);
        let mut followers = Followers {
            count,
            allowing: IdVec::filled(States::none(count), messages),
            forcing: IdVec::filled(States::none(count), messages),
            may_end: States::none(count),
            idle: States::only(0, count),
        };
        for (at, state) in protocol.states.iter().enumerate() {
            for message in &state.next {
                followers.allowing[*message].add(at);
            }
            match state.next.as_slice() {
                _ if state.may_end => followers.may_end.add(at),
                [one] => followers.forcing[*one].add(at),
                _ => {}
            }
        }
        followers.idle.unite(&followers.may_end);
        followers
    }

    /// The states in which the message can come; `again` if the communication may begin again where
    /// it may have ended.
    pub(super) fn before(&self, message: MessageId, again: Again) -> States {
        let mut states = self.allowing[message].clone();
        if again == Again::Yes && self.allowing[message].meets(&States::only(0, self.count)) {
            states.unite(&self.may_end);
        }
        states
    }

    /// The states in which the message comes if anything does, and something has to.
    pub(super) fn forcing(&self, message: MessageId) -> &States {
        &self.forcing[message]
    }

    /// The states in which nothing need come.
    pub(super) fn idle(&self) -> &States {
        &self.idle
    }

    /// The state after a message, alone.
    pub(super) fn after(&self, message: MessageId) -> States {
        States::only(message.index() + 1, self.count)
    }

    /// The start, alone.
    pub(super) fn start(&self) -> States {
        States::only(0, self.count)
    }
}

/// Whether a communication may begin again: not that of a server with its client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Again {
    Yes,
    No,
}
