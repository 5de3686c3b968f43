//! Liveness in a simulation: rows of the table `unsettled`, which must be gone in time.
//!
//! ```text
//! last fault            + S                + 1.5 S
//!     |----------------- | ================ |
//!      may be unsettled    must be settled
//! ```

use tidemill_overlog::node::CrossingKind;
use tidemill_overlog::program::Compiled;
use tidemill_relation::plan::RelationId;
use tidemill_relation::text::DisplayTuple;
use tidemill_relation::{Seq, Value};
use tidemill_stdx::ordered::OrderedMap;

/// The name of the table.
pub(crate) const TABLE: &str = "unsettled";

/// Whether these rules can have unsettled rows: nodes have that table, or rules at `@SIM` derive
/// it.
pub(crate) fn is_derived(rules: &Compiled) -> bool {
    let mut of_all = rules.global.iter().flat_map(|global| &global.heads);
    let is_table = |id| rules.plan.relation(id).table().is_some();
    of_all.any(|head| head.name == TABLE) || rules.plan.find(TABLE).is_some_and(is_table)
}

/// The times after which rows of `unsettled` fail a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settle {
    /// The time after the last fault for which they may exist.
    pub after_ns: u64,
    /// The age that they may have after that.
    pub tolerated_ns: u64,
}

impl Settle {
    /// The time after the last fault at which checking ends.
    pub fn over_ns(self) -> u64 {
        self.after_ns.saturating_add(self.after_ns / 2)
    }
}

/// The rows of all nodes, with the times of their insertion.
#[derive(Debug)]
pub(crate) struct Unsettled {
    settle: Settle,
    /// The table at nodes, if they have it.
    pub(crate) relation: Option<RelationId>,
    last_fault_ns: u64,
    /// By node and row.
    rows: OrderedMap<(String, String), u64>,
}

impl Unsettled {
    /// Faults that are drawn or set by options end at `calm_ns`.
    pub(crate) fn new(settle: Settle, relation: Option<RelationId>, calm_ns: u64) -> Unsettled {
        Unsettled { settle, relation, last_fault_ns: calm_ns, rows: OrderedMap::new() }
    }

    /// A row was inserted or deleted.
    pub(crate) fn changed(&mut self, node: &str, kind: CrossingKind, row: Seq<'_>, now_ns: u64) {
        let values: Vec<Value<'_>> = row.iter().collect();
        let row = DisplayTuple::new(TABLE, values.iter().copied()).to_string();
        let key = (node.to_owned(), row);
        match kind {
            CrossingKind::Delete => drop(self.rows.remove(&key)),
            CrossingKind::Insert | CrossingKind::Event => drop(self.rows.insert(key, now_ns)),
        }
    }

    /// A node has crashed: removes its rows.
    pub(crate) fn crashed(&mut self, node: &str) {
        self.rows.retain(|(holder, _), _| holder != node);
    }

    /// A fault has begun, which ends at `until_ns`.
    pub(crate) fn fault(&mut self, until_ns: u64) {
        self.last_fault_ns = self.last_fault_ns.max(until_ns);
    }

    /// The time at which the first row fails the run, unless it is deleted before, with that row
    /// and the time of its insertion.
    pub(crate) fn due(&self) -> Option<(u64, &(String, String), u64)> {
        let begin = self.last_fault_ns.saturating_add(self.settle.after_ns);
        let end = self.last_fault_ns.saturating_add(self.settle.over_ns());
        let due = |(key, since): (_, &u64)| {
            (begin.max(since.saturating_add(self.settle.tolerated_ns)), key, *since)
        };
        self.rows.iter().map(due).min_by_key(|(at, ..)| *at).filter(|(at, ..)| *at <= end)
    }
}

#[cfg(test)]
mod tests {
    use tidemill_relation::SeqBuilder;

    use super::*;

    fn unsettled(tolerated_ns: u64) -> Unsettled {
        Unsettled::new(Settle { after_ns: 100, tolerated_ns }, None, 0)
    }

    fn row(number: i64) -> SeqBuilder {
        SeqBuilder::from_iter([Value::Int(number)])
    }

    #[test]
    fn rows_may_be_there_until_faults_are_over() {
        let mut it = unsettled(0);
        it.changed("n0:1", CrossingKind::Insert, row(1).as_seq(), 5);
        assert_eq!(it.due().map(|(at, ..)| at), Some(100));
        it.fault(40);
        let key = ("n0:1".to_owned(), "unsettled(1)".to_owned());
        assert_eq!(it.due(), Some((140, &key, 5)));
        it.changed("n0:1", CrossingKind::Delete, row(1).as_seq(), 6);
        assert_eq!(it.due(), None);
        it.changed("n1:1", CrossingKind::Insert, row(1).as_seq(), 180);
        assert_eq!(it.due().map(|(at, ..)| at), Some(180));
        it.crashed("n1:1");
        it.changed("n1:1", CrossingKind::Insert, row(1).as_seq(), 191);
        assert_eq!(it.due(), None);
    }

    #[test]
    fn short_ones_are_tolerated() {
        let mut it = unsettled(20);
        it.changed("n0:1", CrossingKind::Insert, row(1).as_seq(), 120);
        assert_eq!(it.due().map(|(at, ..)| at), Some(140));
        it.changed("n0:1", CrossingKind::Insert, row(2).as_seq(), 70);
        assert_eq!(it.due().map(|(at, ..)| at), Some(100));
        it.changed("n0:1", CrossingKind::Delete, row(2).as_seq(), 90);
        assert_eq!(it.due().map(|(at, ..)| at), Some(140));
    }
}
