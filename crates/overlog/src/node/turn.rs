//! The state of the running turn.

use tidemill_relation::plan::{Action, RelationId, RuleId};
use tidemill_relation::view::Change;
use tidemill_relation::{TupleBuf, Value};

use super::allowances::Taken;
use super::tuples::{Crossing, Derived, Send, TupleOrigin};
use super::untaken::Untaken;

/// The state of the running turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) now_ns: u64,
    /// Event tuples whose strands run now, and how many have run. It is swapped with the queue, so
    /// both are boxed.
    pub(super) current: Option<Box<TupleBuf<Derived>>>,
    pub(super) position: usize,
    pub(super) taken: Taken,
    /// The rule that ran last.
    pub(super) at_work: Option<RuleId>,
    /// Event tuples derived meanwhile.
    pub(super) queue: Box<TupleBuf<Derived>>,
    /// Event tuples derived meanwhile that start nothing.
    pub(super) untaken: Untaken,
    /// Event tuples whose strands ran before [`derive`](super::Node::derive) was called.
    pub(super) ahead: usize,
    /// Table changes in the order of derivation.
    pub(super) changes: TupleBuf<Derived>,
    /// Tuples for other nodes in the order of derivation.
    pub(super) sends: TupleBuf<Send>,
    /// Tuples for the world outside the fleet: events in the order in which they were taken, then
    /// changes of tables.
    pub(super) crossings: TupleBuf<Crossing>,
    /// The net changes of the turn before, kept for their memory.
    pub(super) net: TupleBuf<Change>,
    /// Its commit removes expired rows.
    pub(super) expiry: bool,
}

impl Turn {
    /// Whether its commit has nothing to do.
    #[inline]
    pub(super) fn changes_nothing(&self) -> bool {
        !self.expiry && self.changes.is_empty() && self.sends.is_empty()
    }

    /// Notes a change of a table that comes from outside.
    pub(super) fn put(&mut self, relation: RelationId, action: Action, columns: &[Value<'_>]) {
        self.changes.push(Derived { relation, origin: TupleOrigin::Outside, action }, columns);
    }
}
