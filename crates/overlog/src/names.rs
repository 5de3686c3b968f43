//! The identity of the tuples of a program: their ids in what is recorded of them.

use tidemill_relation::Value;
use tidemill_relation::plan::{Plan, Relation, RelationId};
use tidemill_relation::tuple_id::Naming;

use crate::check::system::{self, PERIODIC};

/// The ids of the tuples of each relation, the same on all nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names(Vec<Named>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Named {
    naming: Naming,
    /// The relation whose tuples these are to the program; none for those that are only passed
    /// between the parts of a rule.
    public: Option<RelationId>,
    /// The columns that count: candidates have the number of a rule before them, and may have
    /// their trail behind.
    skip: usize,
    count: usize,
    /// The column with the destination, for rows that are shipped.
    ships_to: Option<u32>,
}

impl Names {
    /// For a plan whose views are `shipped` from one relation to another: rows that were shipped
    /// are those that the sender has, and candidates are rows of their table.
    pub(crate) fn new(plan: &Plan, shipped: &[(RelationId, RelationId)]) -> Names {
        let plain = |(id, relation): (RelationId, &Relation)| {
            let naming = Naming::new(&relation.name);
            let public = Some(id).filter(|_| !is_part(plan, id));
            Named { naming, public, skip: 0, count: usize::MAX, ships_to: None }
        };
        let mut named: Vec<Named> = (0..).map(RelationId).zip(&plan.relations).map(plain).collect();
        for (out, into) in shipped {
            named[into.index()].naming = named[out.index()].naming;
            named[into.index()].public = named[out.index()].public;
            named[out.index()].ships_to = Some(plan.relation(*into).location);
        }
        for (at, relation) in plan.relations.iter().enumerate() {
            if let Some(candidates) = relation.candidates {
                let Named { naming, public, .. } = named[at];
                let count = relation.arity();
                let own = Named { naming, public, skip: 1, count, ships_to: None };
                named[candidates.index()] = own;
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
        self.naming(relation).id(self.columns(relation, columns))
    }

    /// What makes the ids of a relation's tuples, from the [columns](Names::columns) that count.
    pub(crate) fn naming(&self, relation: RelationId) -> Naming {
        self.0[relation.index()].naming
    }

    /// The columns of a tuple that count.
    pub(crate) fn columns<'v>(
        &self,
        relation: RelationId,
        columns: impl Iterator<Item = Value<'v>>,
    ) -> impl Iterator<Item = Value<'v>> {
        let Named { skip, count, .. } = self.0[relation.index()];
        columns.skip(skip).take(count)
    }

    /// The relation whose tuple this is to the program, if it is not only passed between the parts
    /// of a rule.
    pub(crate) fn public(&self, relation: RelationId) -> Option<RelationId> {
        self.0[relation.index()].public
    }

    /// The column of a view's row with the node to which it is shipped, if it is.
    pub(crate) fn ships_to(&self, relation: RelationId) -> Option<u32> {
        self.0[relation.index()].ships_to
    }
}

/// Hidden relations that stand between the parts of a rule.
pub(crate) fn is_part(plan: &Plan, relation: RelationId) -> bool {
    let it = plan.relation(relation);
    it.hidden && it.name != PERIODIC && system::find(&it.name).is_none()
}
