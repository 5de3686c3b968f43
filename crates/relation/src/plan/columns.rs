//! Which columns of a relation a plan reads.

use super::{Bind, Lookup, Plan, RelationId, Step, Strand};
use crate::table::Access;

impl Plan {
    /// Whether a strand or view uses a column of a relation, counted from 0.
    pub fn reads_column(&self, relation: RelationId, column: usize) -> bool {
        let uses = |columns: &[Bind]| columns.get(column).is_some_and(|it| *it != Bind::Ignore);
        let spec = self.relation(relation).table();
        let in_key = |access: Access| match (access, spec) {
            (Access::Index(number), Some(spec)) => {
                spec.indexes.get(number as usize).is_some_and(|it| it.contains(&(column as u32)))
            }
            (Access::Ordered(number), Some(spec)) => {
                spec.ordered.get(number as usize).is_some_and(|it| it.contains(&(column as u32)))
            }
            _ => false,
        };
        let looks_up = |lookup: &Lookup| {
            lookup.relation == relation && (uses(&lookup.columns) || in_key(lookup.access))
        };
        let strand = |strand: &Strand| {
            let trigger = &strand.trigger;
            trigger.relation == relation && uses(&trigger.columns)
                || strand.steps.iter().any(|step| match step {
                    Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => {
                        looks_up(lookup)
                    }
                    Step::Let(..) | Step::Match(..) | Step::Filter(_) => false,
                })
        };
        let views = self.strata.iter().flat_map(|stratum| &stratum.rules);
        self.strands.iter().any(strand) || views.flat_map(|view| &view.deltas).any(strand)
    }
}
