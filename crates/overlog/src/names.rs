//! The identity of the tuples of a program: their ids in what is recorded of them.

use tidemill_relation::Value;
use tidemill_relation::plan::{Plan, Relation, RelationId};
use tidemill_relation::tuple_id::Naming;

/// The ids of the tuples of each relation, the same on all nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names(Vec<Named>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Named {
    naming: Naming,
    /// Leading columns that do not count.
    skip: usize,
    /// The column with the destination, for rows that are shipped.
    ships_to: Option<u32>,
}

impl Names {
    /// For a plan whose views are `shipped` from one relation to another: rows that were shipped
    /// are those that the sender has, and candidates are rows of their table.
    pub(crate) fn new(plan: &Plan, shipped: &[(RelationId, RelationId)]) -> Names {
        let plain = |relation: &Relation| {
            let naming = Naming::new(&relation.name);
            Named { naming, skip: 0, ships_to: None }
        };
        let mut named: Vec<Named> = plan.relations.iter().map(plain).collect();
        for (out, into) in shipped {
            named[into.index()].naming = named[out.index()].naming;
            named[out.index()].ships_to = Some(plan.relation(*into).location);
        }
        for (at, relation) in plan.relations.iter().enumerate() {
            if let Some(candidates) = relation.candidates {
                let naming = named[at].naming;
                named[candidates.index()] = Named { naming, skip: 1, ships_to: None };
            }
        }
        Names(named)
    }

    /// The id of a tuple: see [`tidemill_relation::tuple_id`].
    pub(crate) fn id<'v>(
        &self,
        relation: RelationId,
        columns: impl Iterator<Item = Value<'v>>,
    ) -> i64 {
        let Named { naming, skip, .. } = self.0[relation.index()];
        naming.id(columns.skip(skip))
    }

    /// Leading columns of a tuple that do not count.
    pub(crate) fn skipped(&self, relation: RelationId) -> usize {
        self.0[relation.index()].skip
    }

    /// The column of a view's row with the node to which it is shipped, if it is.
    pub(crate) fn ships_to(&self, relation: RelationId) -> Option<u32> {
        self.0[relation.index()].ships_to
    }
}
