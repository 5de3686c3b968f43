//! Expressions over registers.
//!
//! A strand has numbered registers; expressions read them, constants and node parameters. All
//! temporaries live in the scratch region of the running turn.

use std::fmt;

use smallvec::SmallVec;

pub use crate::eval::{Ambient, EvalError, Param, Scope, is_below, is_true};
pub use crate::operator::End;

use crate::flat::OwnedValue;
pub use crate::function::FunctionId;
use crate::limits::ListBuilder;
use crate::operator::{Binary, Unary};
use crate::value::Value;

/// A register of a strand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub u16);

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A constant of the program.
    Const(OwnedValue),
    /// A register.
    Reg(Reg),
    /// A node parameter.
    Param(Param),
    /// An operator with one operand.
    Unary(Unary, Box<Expr>),
    /// An operator with two operands; both are evaluated.
    Binary(Binary, Box<[Expr; 2]>),
    /// `a && b`: `b` is evaluated only if `a` is true.
    And(Box<[Expr; 2]>),
    /// `a || b`: `b` is evaluated only if `a` is false.
    Or(Box<[Expr; 2]>),
    /// `value in (low, high]`.
    In {
        /// Value, low end, high end.
        operands: Box<[Expr; 3]>,
        /// Whether the low end belongs to it.
        low: End,
        /// Whether the high end belongs to it.
        high: End,
    },
    /// `(condition ? then : otherwise)`; only one branch is evaluated.
    If(Box<[Expr; 3]>),
    /// A call of a built-in function.
    Call(FunctionId, Vec<Expr>),
    /// A list of the values.
    List(Vec<Expr>),
    /// A matrix of rows.
    Matrix(Vec<Vec<Expr>>),
}

impl Expr {
    /// A constant.
    pub fn constant(value: Value<'_>) -> Expr {
        Expr::Const(OwnedValue::new(value))
    }

    /// Calls `f` for every register that the expression reads.
    pub fn for_each_reg(&self, f: &mut impl FnMut(Reg)) {
        match self {
            Expr::Const(_) | Expr::Param(_) => {}
            Expr::Reg(reg) => f(*reg),
            Expr::Unary(_, operand) => operand.for_each_reg(f),
            Expr::Binary(_, operands) | Expr::And(operands) | Expr::Or(operands) => {
                operands.iter().for_each(|operand| operand.for_each_reg(f));
            }
            Expr::In { operands, .. } | Expr::If(operands) => {
                operands.iter().for_each(|operand| operand.for_each_reg(f));
            }
            Expr::Call(_, operands) | Expr::List(operands) => {
                operands.iter().for_each(|operand| operand.for_each_reg(f));
            }
            Expr::Matrix(rows) => {
                rows.iter().flatten().for_each(|operand| operand.for_each_reg(f));
            }
        }
    }

    /// True if it computes nothing, so that it cannot fail.
    pub fn is_given(&self) -> bool {
        matches!(self, Expr::Const(_) | Expr::Reg(_) | Expr::Param(_))
    }
}

impl Expr {
    /// False if a function in it takes the time or random numbers.
    pub fn is_pure(&self) -> bool {
        self.calls_only(&FunctionId::is_pure)
    }

    /// Whether all evaluations in a turn give the same value.
    pub fn is_repeatable(&self) -> bool {
        self.calls_only(&FunctionId::is_repeatable)
    }

    /// Whether it makes a list or matrix of its operands.
    pub(crate) fn has_lists(&self) -> bool {
        let any = |operands: &[Expr]| operands.iter().any(Expr::has_lists);
        match self {
            Expr::Const(_) | Expr::Reg(_) | Expr::Param(_) => false,
            Expr::Unary(_, operand) => operand.has_lists(),
            Expr::Binary(_, operands) | Expr::And(operands) | Expr::Or(operands) => {
                any(&**operands)
            }
            Expr::In { operands, .. } | Expr::If(operands) => any(&**operands),
            Expr::Call(_, operands) => any(operands),
            Expr::List(_) | Expr::Matrix(_) => true,
        }
    }

    /// Whether all functions that are called in it are of one kind.
    pub(crate) fn calls_only(&self, is_one: &impl Fn(FunctionId) -> bool) -> bool {
        let all = |operands: &[Expr]| operands.iter().all(|operand| operand.calls_only(is_one));
        match self {
            Expr::Const(_) | Expr::Reg(_) | Expr::Param(_) => true,
            Expr::Unary(_, operand) => operand.calls_only(is_one),
            Expr::Binary(_, operands) | Expr::And(operands) | Expr::Or(operands) => {
                all(&**operands)
            }
            Expr::In { operands, .. } | Expr::If(operands) => all(&**operands),
            Expr::Call(function, operands) => is_one(*function) && all(operands),
            Expr::List(elements) => all(elements),
            Expr::Matrix(rows) => rows.iter().all(|row| all(row)),
        }
    }
}

/// Evaluates `expr` with the registers `regs`.
pub fn evaluate<'a>(
    expr: &'a Expr,
    regs: &[Value<'a>],
    scope: Scope<'a>,
) -> Result<Value<'a>, EvalError> {
    let value = |expr| evaluate(expr, regs, scope);
    Ok(match expr {
        Expr::Const(constant) => constant.get(),
        Expr::Reg(reg) => regs[reg.0 as usize],
        Expr::Param(param) => scope.ambient.param(*param),
        Expr::Unary(operator, operand) => operator.apply(value(operand)?, scope)?,
        Expr::Binary(operator, operands) => {
            let (mut left, mut right) = (Value::Null, Value::Null);
            let left = operand(&operands[0], regs, scope, &mut left)?;
            let right = operand(&operands[1], regs, scope, &mut right)?;
            operator.apply_to(left, right, scope)?
        }
        Expr::And(operands) => Value::Bool(
            is_true(value(&operands[0])?, "&&")? && is_true(value(&operands[1])?, "&&")?,
        ),
        Expr::Or(operands) => Value::Bool(
            is_true(value(&operands[0])?, "||")? || is_true(value(&operands[1])?, "||")?,
        ),
        Expr::In { operands, low, high } => {
            let [v, from, to] = &**operands;
            let inside = crate::operator::in_ring(value(v)?, value(from)?, value(to)?, *low, *high);
            Value::Bool(inside)
        }
        Expr::If(branches) => {
            let [condition, then, otherwise] = &**branches;
            value(if is_true(value(condition)?, "?:")? { then } else { otherwise })?
        }
        Expr::Call(function, operands) => {
            let arguments: SmallVec<[Value<'a>; 4]> =
                operands.iter().map(value).collect::<Result<_, _>>()?;
            function.call(&arguments, scope)?
        }
        Expr::List(elements) => Value::List(sequence(elements, regs, scope)?),
        Expr::Matrix(rows) => {
            let mut matrix = ListBuilder::new("{}");
            for row in rows {
                matrix.push(Value::Vector(sequence(row, regs, scope)?))?;
            }
            Value::Matrix(matrix.finish(scope.scratch))
        }
    })
}

/// The value of an operand: where it is, if that is a register, else in `space`.
#[inline]
fn operand<'v, 'a>(
    expr: &'a Expr,
    regs: &'v [Value<'a>],
    scope: Scope<'a>,
    space: &'v mut Value<'a>,
) -> Result<&'v Value<'a>, EvalError> {
    match expr {
        Expr::Reg(reg) => Ok(&regs[reg.0 as usize]),
        Expr::Const(constant) => {
            *space = constant.get();
            Ok(space)
        }
        _ => {
            *space = evaluate(expr, regs, scope)?;
            Ok(space)
        }
    }
}

fn sequence<'a>(
    elements: &'a [Expr],
    regs: &[Value<'a>],
    scope: Scope<'a>,
) -> Result<crate::flat::Seq<'a>, EvalError> {
    let mut list = ListBuilder::new("[]");
    for element in elements {
        list.push(evaluate(element, regs, scope)?)?;
    }
    Ok(list.finish(scope.scratch))
}

#[cfg(test)]
mod tests {
    use tidemill_stdx::region::Bump;

    use super::*;
    use crate::testing::Still;

    #[test]
    fn lists_cannot_grow_deeper_than_values_may() {
        // A rule that wraps its list once a turn must fail, not exhaust the stack of those who
        // compare or print the value.
        let wrap = Expr::List(vec![Expr::Reg(Reg(0))]);
        let (scratch, ambient) = (Bump::new(), Still::default());
        let scope = Scope { scratch: &scratch, ambient: &ambient };
        let wrapped =
            (0..1000).try_fold(Value::Int(1), |value, _| evaluate(&wrap, &[value], scope));
        let error = wrapped.expect_err("deep lists are refused").to_string();
        assert_eq!(error, "[]: lists may nest 64 deep");
    }
}
