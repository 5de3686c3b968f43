//! Joins whose rows are found by a range of one column.
//!
//! In `near(@N, X, Y) :- a(@N, X), b(@N, Y), Y >= X, Y < X + 5.` nothing determines the rows of
//! `b`, but conditions bound them. They follow the join, as others do; the look-up only leaves out
//! rows that they are going to leave out. That must not be visible, so a condition is a bound only
//! where nothing before it may fail for such a row.

use tidemill_relation::TypeSet;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::plan::{Bind, Bound, Lookup, Pattern, Step, Storage, conjuncts};
use tidemill_relation::table::{Access, ORDERED_ROWS_MIN};
use tidemill_stdx::sorted::SortedSet;

use super::{Builder, Indexing, Work};
use crate::ir::Atom;

impl Builder<'_> {
    /// Lets the join that is step `at` find its rows by an ordered index, if conditions after it
    /// bound a column.
    pub(super) fn bound_join(&mut self, at: usize) {
        let steps = self.steps.get(at..).and_then(<[Step]>::split_first);
        let Some((Step::Join(lookup), after)) = steps else { return };
        let may_fail = |bind: &Bind| matches!(bind, Bind::Equal(expr) if !expr.is_given());
        if lookup.columns.iter().any(may_fail) {
            return;
        }
        let mut best: Option<(Access, Vec<Bound>)> = None;
        let lookup = lookup.clone();
        let types = &self.catalog.relation(lookup.relation).columns;
        let bounds_of = |(column, bind): (usize, &Bind)| match bind {
            Bind::Reg(reg) => {
                let is_integer = types.get(column) == Some(&TypeSet::INT);
                bounds(&lookup, (*reg, is_integer), after)
            }
            Bind::Ignore | Bind::Equal(_) => Vec::new(),
        };
        let found: Vec<Vec<Bound>> = lookup.columns.iter().enumerate().map(bounds_of).collect();
        for (column, bounds) in (0..).zip(found) {
            if bounds.len() > best.as_ref().map_or(0, |(_, bounds)| bounds.len())
                && let Some(access) = self.ordered(&lookup, column)
            {
                best = Some((access, bounds));
            }
        }
        if let (Some((access, bounds)), Step::Join(lookup)) = (best, &mut self.steps[at]) {
            (lookup.access, lookup.bounds) = (access, bounds);
        }
    }

    /// The ordered index of a column for a look-up by the same key.
    fn ordered(&mut self, lookup: &Lookup, column: u32) -> Option<Access> {
        let storage = &mut self.catalog.relation_mut(lookup.relation).storage;
        let Storage::Table { spec, .. } = storage else { return None };
        let mut columns = match lookup.access {
            Access::Scan => Vec::new(),
            Access::Index(number) => spec.indexes.get(number as usize)?.clone(),
            Access::Primary | Access::Ordered(_) => return None,
        };
        // Where columns are given, rows are few, unless the program says otherwise.
        let may_add = columns.is_empty()
            && self.indexing == Indexing::Wanted
            && spec.size_max.is_none_or(|rows| rows >= u64::from(ORDERED_ROWS_MIN));
        columns.push(column);
        let known = spec.ordered.iter().position(|ordered| *ordered == columns);
        let number = match known {
            Some(number) => number,
            None if may_add => {
                spec.ordered.push(columns);
                spec.ordered.len() - 1
            }
            None => return None,
        };
        Some(Access::Ordered(number as u32))
    }

    /// Whether conditions bound a column of a predicate, once it is joined.
    pub(super) fn is_bounded(&self, atom: &Atom) -> bool {
        let is_known = |expr: &Expr| self.can_evaluate(expr) && expr.is_repeatable();
        atom.columns.iter().any(|pattern| {
            let Pattern::Reg(reg) = pattern else { return false };
            !self.is_bound(*reg)
                && self.pending.iter().any(|pending| match &pending.work {
                    Work::Filter(condition) => {
                        let mut parts = conjuncts(condition).into_iter();
                        parts.any(|part| Bound::of(part, *reg, &is_known).is_some())
                    }
                    Work::Let(..) => false,
                })
        })
    }
}

/// The bounds that the steps after a look-up set to the column in a register, which holds integers
/// or not only these: then the sum with it is no bound.
fn bounds(lookup: &Lookup, (column, is_integer): (Reg, bool), after: &[Step]) -> Vec<Bound> {
    let mut later = SortedSet::new();
    let mut bind = |reg: Reg| {
        later.insert(reg);
    };
    for bound in &lookup.columns {
        if let Bind::Reg(reg) = bound {
            bind(*reg);
        }
    }
    for step in after {
        match step {
            Step::Let(reg, _) => bind(*reg),
            Step::Match(_, pattern) => pattern.for_each_bound(&mut bind),
            Step::Join(_) | Step::Exists(_) | Step::Absent(_) | Step::Filter(_) => {}
        }
    }
    let is_known = |expr: &Expr| {
        let mut all = expr.is_repeatable();
        expr.for_each_reg(&mut |reg| all &= !later.contains(&reg));
        all
    };
    let of = |condition: &Expr| {
        let bound = Bound::of(condition, column, &is_known)?;
        let is_sum = matches!(bound, Bound::Compare { added: Some(_), .. });
        (is_integer || !is_sum).then_some(bound)
    };
    let mut bounds = Vec::new();
    for step in after {
        let conditions = match step {
            Step::Filter(condition) => conjuncts(condition),
            Step::Let(_, value) if value.is_given() => Vec::new(),
            _ => return bounds,
        };
        for condition in conditions {
            match of(condition) {
                Some(bound) => bounds.push(bound),
                None if cannot_fail(condition) => {}
                None => return bounds,
            }
        }
    }
    bounds
}

/// Whether a condition has a value for all values of its operands.
fn cannot_fail(condition: &Expr) -> bool {
    match condition {
        Expr::Binary(operator, operands) => {
            operator.is_comparison() && operands.iter().all(Expr::is_given)
        }
        Expr::In { operands, .. } => operands.iter().all(Expr::is_given),
        _ => false,
    }
}
