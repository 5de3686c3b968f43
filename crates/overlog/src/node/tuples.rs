//! Tuples within a turn, and out of it.

use smallvec::SmallVec;
use tidemill_relation::Value;
use tidemill_relation::plan::{Action, RelationId, RuleId};

/// The columns of a tuple; those of most need no memory of their own.
pub(super) type Columns<'a> = SmallVec<[Value<'a>; 8]>;

/// A tuple for another node; its location column says which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    /// The relation.
    pub relation: RelationId,
    /// Delete the row instead of inserting it.
    pub delete: bool,
    /// A change of a view: sent by reliable ordered delivery.
    pub view: bool,
    /// The column with its destination.
    pub location: u32,
}

/// A tuple for the world outside the fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Its relation.
    pub relation: RelationId,
    /// The kind of crossing.
    pub kind: CrossingKind,
}

/// The kind of a tuple for the world outside the fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CrossingKind {
    /// An event that was taken.
    Event,
    /// A row that was inserted.
    Insert,
    /// A row that was deleted.
    Delete,
}

/// A tuple that waits inside the turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derived {
    pub(super) relation: RelationId,
    pub(super) origin: TupleOrigin,
    pub(super) action: Action,
}

/// The origin of a tuple.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TupleOrigin {
    /// From outside: it started the turn.
    Outside,
    /// A rule.
    Rule(RuleId),
    /// An external operator.
    Stage,
}

impl TupleOrigin {
    pub(super) fn rule(self) -> Option<RuleId> {
        match self {
            TupleOrigin::Rule(rule) => Some(rule),
            TupleOrigin::Outside | TupleOrigin::Stage => None,
        }
    }
}
