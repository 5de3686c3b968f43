//! The counters of nodes that have crashed: what they did is part of the sums of a run.

use tidemill_fabric::counters::Counters as MailCounters;

use crate::node::{Counters, Node};

/// The counters of all lives that have ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FormerLives {
    /// What the nodes have counted.
    pub counters: Counters,
    /// What their networks have counted.
    pub mail: MailCounters,
    /// Events that waited in their inboxes.
    pub waiting: u64,
}

impl FormerLives {
    /// Adds a life that ends.
    pub(super) fn add(&mut self, node: &Node, mail: &MailCounters) {
        self.counters.add(node.counters());
        self.mail.merge(mail);
        self.waiting += node.waiting() as u64;
    }
}
