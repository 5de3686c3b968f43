//! Whether a program reads the time that its rules take, which is measured only then.

use tidemill_relation::plan::{Bind, Lookup, Plan, RelationId, Step, Strand};
use tidemill_relation::table::Access;

use crate::node::Program;

/// The relation of the costs of rules, and its column with the time.
pub(super) const RULE: &str = "sys::rule";
pub(super) const NS: usize = 4;

/// Whether a program reads the time that rules took.
pub(super) fn is_read(program: &Program) -> bool {
    let plan = program.plan();
    plan.find(RULE).is_some_and(|rule| program.watches(rule) || reads(plan, rule, NS))
}

/// Whether a strand or view of a plan uses a column of a table.
fn reads(plan: &Plan, relation: RelationId, column: usize) -> bool {
    let uses = |columns: &[Bind]| columns.get(column).is_some_and(|bind| *bind != Bind::Ignore);
    let spec = plan.relation(relation).table();
    let in_key = |access: Access| match (access, spec) {
        (Access::Index(number), Some(spec)) => {
            spec.indexes.get(number as usize).is_some_and(|it| it.contains(&(column as u32)))
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
    let views = plan.strata.iter().flat_map(|stratum| &stratum.rules);
    plan.strands.iter().any(strand) || views.flat_map(|view| &view.deltas).any(strand)
}
