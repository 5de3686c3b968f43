//! Tuples on their way through a turn, and out of it.

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
    /// Take the row out instead of putting it in.
    pub delete: bool,
    /// A change of a view: goes by reliable ordered delivery.
    pub view: bool,
    /// The column that says where it goes.
    pub location: u32,
}

/// A tuple for the world outside the fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Its relation.
    pub relation: RelationId,
    /// What became of it.
    pub kind: CrossingKind,
}

/// What became of a tuple for the world outside the fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CrossingKind {
    /// It is an event, which was taken.
    Event,
    /// It is a row, which was inserted.
    Insert,
    /// It is a row, which was deleted.
    Delete,
}

/// A tuple that waits inside the turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derived {
    pub(super) relation: RelationId,
    pub(super) origin: Origin,
    pub(super) action: Action,
}

/// Where a tuple comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// From outside: it started the turn.
    Outside,
    /// A rule.
    Rule(RuleId),
    /// An external operator.
    Stage,
}

impl Origin {
    pub(super) fn rule(self) -> Option<RuleId> {
        match self {
            Origin::Rule(rule) => Some(rule),
            Origin::Outside | Origin::Stage => None,
        }
    }
}
