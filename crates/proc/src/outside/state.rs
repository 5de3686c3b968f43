//! The components that the embedder communicates with.

use std::collections::VecDeque;

use tidemill_stdx::ordered::OrderedMap;

use crate::communication::{Communication, CommunicationMap};
use crate::component::ComponentId;
use crate::handle::SlotRef;

/// One component.
pub(crate) struct OutsideSession {
    /// A block of its own.
    pub(crate) slot: SlotRef,
    pub(crate) component: ComponentId,
    /// Which of the interfaces that its type offers.
    pub(crate) offered: u32,
    pub(crate) is_noted: bool,
    /// The embedder has ended it.
    pub(crate) is_ending: bool,
    /// The current implementation has sent a message that the embedder has received.
    pub(crate) has_answered: bool,
}

impl OutsideSession {
    pub(crate) fn new(slot: SlotRef, component: ComponentId, offered: u32) -> OutsideSession {
        let (is_noted, is_ending, has_answered) = (false, false, false);
        OutsideSession { slot, component, offered, is_noted, is_ending, has_answered }
    }
}

/// The end of a component that was [launched](crate::Worker::launch).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Over {
    /// Which one.
    pub component: ComponentId,
    /// Why it has failed; `None` if it has ended.
    pub fault: Option<String>,
}

/// All components that the embedder communicates with.
#[derive(Default)]
pub(crate) struct Outside {
    pub(crate) sessions: CommunicationMap<OutsideSession>,
    /// Places of former sessions.
    pub(crate) free: Vec<u32>,
    /// The number of sessions opened so far.
    pub(crate) count: u32,
    pub(crate) noted: VecDeque<Communication>,
    /// Components that the embedder has ended and that are not gone yet.
    pub(crate) ending: OrderedMap<ComponentId, Communication>,
    /// Why components have failed, until the embedder takes it.
    pub(crate) faults: OrderedMap<ComponentId, String>,
    /// Components have been launched: they live on this loop.
    pub(crate) has_launched: bool,
    /// Their ends.
    pub(crate) over: VecDeque<Over>,
}

impl Outside {
    /// Whether something may have arrived.
    pub(crate) fn is_noted(&self) -> bool {
        !self.noted.is_empty() || !self.over.is_empty()
    }
}
