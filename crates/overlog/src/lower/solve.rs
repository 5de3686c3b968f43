//! Solving equations for variables.
//!
//! `J == I + 1` beside `t(@N, J)` determines the rows of `t`, so `J` is computed before they are
//! looked up, and nothing is scanned. It may also be solved for `I`: a sum or difference of
//! integers or IDs has exactly one operand for each result.
//!
//! An equation is used only where equal values are the same value: 1 equals 1.0, and a number of
//! seconds an interval, but the results of a rule differ.

use tidemill_relation::TypeSet;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::operator::Binary;
use tidemill_relation::plan::{Pattern, Step};

use super::{Builder, Work};
use crate::glance::type_of_expr;
use crate::ir::{Location, is_impure};

impl Builder<'_> {
    /// Solves an equation for a variable of a predicate that is not joined yet; false if there is
    /// none.
    pub(super) fn solve(&mut self) -> bool {
        let solved = self.pending.iter().enumerate().find_map(|(at, pending)| {
            let (variable, value) = match &pending.work {
                Work::Let(reg, value) if self.is_bound(*reg) => self.solved(value, Expr::Reg(*reg)),
                Work::Filter(Expr::Binary(Binary::Equal, sides)) => {
                    let [left, right] = &**sides;
                    let right_first = self.can_evaluate(left);
                    let (open, known) = if right_first { (right, left) } else { (left, right) };
                    self.solved(open, known.clone())
                }
                _ => None,
            }?;
            Some((at, variable, value))
        });
        let Some((at, variable, value)) = solved else { return false };
        self.pending.remove(at);
        self.bind(variable);
        self.steps.push(Step::Let(variable, value));
        true
    }

    /// Solves `open == known`: the variable and its value.
    fn solved(&self, open: &Expr, known: Expr) -> Option<(Reg, Expr)> {
        if !self.can_evaluate(&known) || is_impure(&known) {
            return None;
        }
        let (types, known_types) = (self.type_of(open), self.type_of(&known));
        if !are_alike(types, known_types) {
            return None;
        }
        match open {
            Expr::Reg(reg) if self.is_sought(*reg) => Some((*reg, known)),
            Expr::Binary(operator @ (Binary::Add | Binary::Subtract), operands) => {
                let [left, right] = &**operands;
                let left_open = !self.can_evaluate(left);
                let (open, other) = if left_open { (left, right) } else { (right, left) };
                if !self.can_evaluate(other) || !self.is_exact(open, other, &known) {
                    return None;
                }
                let other = other.clone();
                let value = match (operator, left_open) {
                    (Binary::Add, _) => (Binary::Subtract, [known, other]),
                    (_, true) => (Binary::Add, [known, other]),
                    (_, false) => (Binary::Subtract, [other, known]),
                };
                self.solved(open, Expr::Binary(value.0, Box::new(value.1)))
            }
            _ => None,
        }
    }

    /// Whether a sum can be undone: one of integers, which do not overflow both ways, or of IDs on
    /// their ring, with integers added.
    fn is_exact(&self, open: &Expr, other: &Expr, known: &Expr) -> bool {
        let [open, other, known] = [open, other, known].map(|one| self.type_of(one));
        open == known
            && match other {
                TypeSet::INT => open == TypeSet::INT || open == TypeSet::ID,
                TypeSet::ID => open == TypeSet::ID,
                _ => false,
            }
    }

    /// Whether a predicate that is not joined yet has this variable as a column, other than its
    /// location: locations are compared, not looked up.
    fn is_sought(&self, reg: Reg) -> bool {
        let place = Location::Var(reg);
        let is_place = |at: &Location| *at == place;
        let has = |pattern: &Pattern| *pattern == Pattern::Reg(reg);
        !self.is_bound(reg)
            && !is_place(&self.here)
            && !self.open.iter().any(|open| is_place(&open.atom.location(self.catalog)))
            && self.open.iter().any(|open| !open.atom.negated && open.atom.columns.iter().any(has))
    }

    pub(super) fn type_of(&self, expr: &Expr) -> TypeSet {
        let of = |reg: Reg| self.types.get(reg.0 as usize).copied().unwrap_or(TypeSet::ANY);
        type_of_expr(expr, &of)
    }
}

/// Whether values of these types that are equal are the same value.
fn are_alike(one: TypeSet, other: TypeSet) -> bool {
    let by_itself = [TypeSet::TEXT, TypeSet::BYTES, TypeSet::TIME];
    let beside_itself = [TypeSet::INT, TypeSet::BOOL, TypeSet::ID, TypeSet::INTERVAL];
    by_itself.contains(&one)
        || by_itself.contains(&other)
        || (one == other && beside_itself.contains(&one))
}
