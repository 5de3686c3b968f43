//! Joins that stop at their first match.
//!
//! A join whose variables are not needed later only tests whether there is a row: all rows derive
//! the same. It may stop early where duplicates have no effect: in views, and in rules that insert
//! or delete rows of a table. Events are a bag, aggregates count what they find, and a table of
//! bounded size keeps the rows that were inserted last.

use tidemill_relation::expr::Reg;
use tidemill_relation::plan::{Bind, Bound, HeadColumn, Lookup, Pattern, Relation, Step, Strand};
use tidemill_stdx::sorted::SortedSet;

/// Lets joins stop at their first match.
pub(crate) fn stop_early(strand: &mut Strand, head: &Relation) {
    let bounded = head.table().is_none_or(|spec| spec.size_max.is_some());
    let bag = head.table().is_none_or(|spec| spec.key == tidemill_relation::table::Key::Bag);
    // Random numbers differ from row to row.
    if bounded || bag || strand.output.aggregates() || !strand.is_pure() {
        return;
    }
    let mut needed = SortedSet::new();
    for column in &strand.output.columns {
        if let HeadColumn::Value(expr) = column {
            expr.for_each_reg(&mut |reg| {
                needed.insert(reg);
            });
        }
    }
    for step in strand.steps.iter_mut().rev() {
        if let Step::Join(lookup) = step
            && !binds(lookup).any(|reg| needed.contains(&reg))
        {
            *step = Step::Exists(lookup.clone());
        }
        reads(step, &mut needed);
    }
}

fn binds(lookup: &Lookup) -> impl Iterator<Item = Reg> {
    lookup.columns.iter().filter_map(|bind| match bind {
        Bind::Reg(reg) => Some(*reg),
        Bind::Ignore | Bind::Equal(_) => None,
    })
}

/// The registers that a step reads; including some that it binds itself, which is harmless.
fn reads(step: &Step, needed: &mut SortedSet<Reg>) {
    let mut need = |reg: Reg| {
        needed.insert(reg);
    };
    match step {
        Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => {
            lookup.key.iter().for_each(|expr| expr.for_each_reg(&mut need));
            let bounds = lookup.bounds.iter().flat_map(Bound::operands);
            bounds.for_each(|expr| expr.for_each_reg(&mut need));
            for bind in &lookup.columns {
                if let Bind::Equal(expr) = bind {
                    expr.for_each_reg(&mut need);
                }
            }
        }
        Step::Let(_, expr) | Step::Filter(expr) => expr.for_each_reg(&mut need),
        Step::Match(reg, pattern) => {
            need(*reg);
            compared(pattern, &mut need);
        }
    }
}

fn compared(pattern: &Pattern, need: &mut impl FnMut(Reg)) {
    match pattern {
        Pattern::Any | Pattern::Reg(_) => {}
        Pattern::Equal(expr) => expr.for_each_reg(need),
        Pattern::List { elements, tail } => {
            elements.iter().chain(tail.as_deref()).for_each(|element| compared(element, need));
        }
    }
}
