//! Bounds of a look-up: conditions after a join that an ordered index can use.
//!
//! A bound only leaves out rows of which its condition does not hold, so a look-up without its
//! bounds is a slower one with the same results. The condition follows the join as a filter.

use crate::expr::{End, Expr, Reg};
use crate::operator::{Binary, Unary};
use crate::table::Side;

/// A condition on the last column of an ordered index, whose other operands are known before the
/// look-up.
#[derive(Clone, PartialEq, Debug)]
pub enum Bound {
    /// The column, perhaps with a number added, compares in this way with a value.
    Compare {
        /// `<`, `<=`, `>` or `>=`.
        operator: Binary,
        /// What is added to the column, which then holds integers only.
        added: Option<Expr>,
        /// The value.
        value: Expr,
    },
    /// The column lies in a ring interval. It is a bound if the interval does not wrap.
    Within {
        /// Where the interval begins.
        from: Expr,
        /// Where it ends.
        to: Expr,
        /// Whether it contains `from`.
        low: End,
        /// Whether it contains `to`.
        high: End,
    },
}

impl Bound {
    /// The bound of the column in `column` that a condition is, if it is one. `is_known` says
    /// whether an operand is known before the look-up.
    pub fn of(condition: &Expr, column: Reg, is_known: &dyn Fn(&Expr) -> bool) -> Option<Bound> {
        match condition {
            Expr::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let compare = |operator: Binary, side: &Expr, value: &Expr| {
                    let added = added_to(side, column, is_known)?;
                    is_known(value).then(|| Bound::Compare {
                        operator,
                        added,
                        value: value.clone(),
                    })
                };
                let turned = turned(*operator)?;
                compare(*operator, left, right).or_else(|| compare(turned, right, left))
            }
            Expr::In { operands, low, high } => {
                let [value, from, to] = &**operands;
                let is_bound = *value == Expr::Reg(column) && is_known(from) && is_known(to);
                let (low, high) = (*low, *high);
                is_bound.then(|| Bound::Within { from: from.clone(), to: to.clone(), low, high })
            }
            _ => None,
        }
    }

    /// Its operands.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let (first, second) = match self {
            Bound::Compare { added, value, .. } => (added.as_ref(), value),
            Bound::Within { from, to, .. } => (Some(from), to),
        };
        first.into_iter().chain([second])
    }

    /// Its operands, to be changed.
    pub fn operands_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let (first, second) = match self {
            Bound::Compare { added, value, .. } => (added.as_mut(), value),
            Bound::Within { from, to, .. } => (Some(from), to),
        };
        first.into_iter().chain([second])
    }
}

/// The conditions that are joined by `&&` in one, in order.
pub fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    match condition {
        Expr::And(operands) => operands.iter().flat_map(conjuncts).collect(),
        condition => vec![condition],
    }
}

/// The side of its right operand on which a comparison of order wants its left one.
pub(crate) fn side(operator: Binary) -> Option<Side> {
    Some(match operator {
        Binary::Less => Side::Less,
        Binary::LessEqual => Side::AtMost,
        Binary::Greater => Side::Greater,
        Binary::GreaterEqual => Side::AtLeast,
        _ => return None,
    })
}

/// The comparison with its operands exchanged, if it is one of order.
fn turned(operator: Binary) -> Option<Binary> {
    Some(match operator {
        Binary::Less => Binary::Greater,
        Binary::LessEqual => Binary::GreaterEqual,
        Binary::Greater => Binary::Less,
        Binary::GreaterEqual => Binary::LessEqual,
        _ => return None,
    })
}

/// What an expression adds to the column, if it is nothing but a sum with it.
fn added_to(expr: &Expr, column: Reg, is_known: &dyn Fn(&Expr) -> bool) -> Option<Option<Expr>> {
    match expr {
        Expr::Reg(reg) => (*reg == column).then_some(None),
        Expr::Binary(operator, operands) => {
            let [left, right] = &**operands;
            let is_column = |side: &Expr| *side == Expr::Reg(column);
            let added = match operator {
                Binary::Add if is_column(left) => right.clone(),
                Binary::Add if is_column(right) => left.clone(),
                Binary::Subtract if is_column(left) => {
                    Expr::Unary(Unary::Negate, Box::new(right.clone()))
                }
                _ => return None,
            };
            is_known(&added).then_some(Some(added))
        }
        _ => None,
    }
}
