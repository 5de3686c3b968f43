//! The types that registers are expected to hold, before any run has been observed.

use crate::plan::{Bind, Plan, RelationId, Strand};
use crate::types::TypeSet;
use crate::value::Type;

use super::slots::lookup_of;

/// The types by which to compile a strand that has not run: integers wherever a column may hold
/// them, else what the column is declared to hold.
pub fn expected(plan: &Plan, strand: &Strand) -> Vec<TypeSet> {
    let mut types = vec![TypeSet::ANY; strand.regs as usize];
    let mut columns = |relation: RelationId, binds: &[Bind]| {
        let declared = plan.relation(relation).columns.iter();
        for (bind, &column) in binds.iter().zip(declared) {
            if let Bind::Reg(reg) = bind {
                let is_integer = column.contains(Type::Int);
                types[reg.0 as usize] = if is_integer { TypeSet::INT } else { column };
            }
        }
    };
    columns(strand.trigger.relation, &strand.trigger.columns);
    for lookup in strand.steps.iter().filter_map(lookup_of) {
        columns(lookup.relation, &lookup.columns);
    }
    types
}
