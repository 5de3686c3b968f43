//! The counters of nodes that have crashed: what they did is part of the sums of a run.

use tidemill_fabric::counters::Counters as MailCounters;
use tidemill_relation::plan::RelationId;

use crate::node::{Counters, Node, TableCounters};

/// The counters of all lives that have ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FormerLives {
    /// What the nodes have counted.
    pub counters: Counters,
    /// By relation: the rows that came to their tables and went.
    pub tables: Vec<TableCounters>,
    /// What their networks have counted.
    pub mail: MailCounters,
    /// Events that waited in their inboxes.
    pub waiting: u64,
}

impl FormerLives {
    /// Adds a life that ends.
    pub(super) fn add(&mut self, node: &Node, mail: &MailCounters) {
        self.counters.add(node.counters());
        let relations = node.program().plan().relations.len();
        self.tables.resize(self.tables.len().max(relations), TableCounters::default());
        for (id, sum) in (0..).map(RelationId).zip(&mut self.tables).take(relations) {
            *sum += node.table_counters(id);
        }
        self.mail.merge(mail);
        self.waiting += node.waiting() as u64;
    }
}
