//! The strata that read a table: a commit that changes few tables visits few strata.

use crate::plan::{Plan, RelationId, Stratum};

/// By relation, the strata that read it or select its rows, ascending.
#[derive(Clone, Debug)]
pub(super) struct Readers(Vec<Vec<u32>>);

impl Readers {
    pub(super) fn new(plan: &Plan) -> Readers {
        let mut readers = vec![Vec::new(); plan.relations.len()];
        for (number, stratum) in (0..).zip(&plan.strata) {
            for relation in concerned(plan, stratum) {
                let strata: &mut Vec<u32> = &mut readers[relation.index()];
                if strata.last() != Some(&number) {
                    strata.push(number);
                }
            }
        }
        Readers(readers)
    }

    /// The first stratum from `from` on that one of the relations concerns.
    pub(super) fn next(
        &self,
        from: usize,
        relations: impl Iterator<Item = RelationId>,
    ) -> Option<usize> {
        let first = |relation: RelationId| {
            self.0[relation.index()].iter().map(|number| *number as usize).find(|n| *n >= from)
        };
        relations.filter_map(first).min()
    }
}

fn concerned<'p>(
    plan: &'p Plan,
    stratum: &'p Stratum,
) -> impl Iterator<Item = RelationId> + use<'p> {
    let read = stratum.rules.iter().flat_map(|rule| &rule.body).map(|atom| atom.relation);
    let selected = stratum.selected.iter().copied();
    let candidates = selected.clone().filter_map(|it| plan.relation(it).candidates);
    read.chain(selected).chain(candidates)
}
