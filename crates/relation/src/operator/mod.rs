//! The operators of the language: what each means on operands of each type.
//!
//! Every operator has one [`Declaration`] with the types it takes and gives: the checker uses it
//! ([`Binary::result_type`]), the catalogue prints it, and the tests evaluate its examples.
//!
//! Beside a double an integer counts as a double, beside an ID as an ID (everything modulo
//! 2^160), a boolean beside a number as 0 or 1, and a number beside a time or an interval as
//! seconds.

mod arithmetic;
mod declared;
mod operators;
mod ring;
#[cfg(test)]
mod tests;
mod wide;

use std::cmp::Ordering;

pub(crate) use arithmetic::join;
pub use declared::{Declaration, Signature, catalogue};
pub use operators::{Binary, Unary};
pub use ring::{End, compare, in_ring};

use crate::eval::{EvalError, Scope, is_true};
use crate::value::Value;

impl Unary {
    /// Applies it.
    pub fn apply<'a>(self, value: Value<'a>, _: Scope<'a>) -> Result<Value<'a>, EvalError> {
        match self {
            Unary::Not => is_true(value, "!").map(|truth| Value::Bool(!truth)),
            Unary::Complement => arithmetic::complement(value),
            Unary::Negate => arithmetic::negate(value),
        }
    }
}

impl Binary {
    /// [`Binary::apply`] to operands that stay where they are. Two integers, which most operands
    /// are, take a fast path.
    #[inline]
    pub fn apply_to<'a>(
        self,
        left: &Value<'a>,
        right: &Value<'a>,
        scope: Scope<'a>,
    ) -> Result<Value<'a>, EvalError> {
        if let (&Value::Int(a), &Value::Int(b)) = (left, right)
            && let Some(value) = self.of_ints(a, b)
        {
            return Ok(value);
        }
        self.apply(*left, *right, scope)
    }

    /// The result of two integers; `None` where it takes more than an instruction or is an error.
    #[inline]
    fn of_ints(self, a: i64, b: i64) -> Option<Value<'static>> {
        Some(match self {
            Binary::Add => Value::Int(a.checked_add(b)?),
            Binary::Subtract => Value::Int(a.checked_sub(b)?),
            Binary::Multiply => Value::Int(a.checked_mul(b)?),
            Binary::BitAnd => Value::Int(a & b),
            Binary::BitOr => Value::Int(a | b),
            Binary::BitXor => Value::Int(a ^ b),
            _ => Value::Bool(self.compares(a.cmp(&b))?),
        })
    }

    /// Whether it compares its operands, as it can those of all types.
    pub fn is_comparison(self) -> bool {
        self.compares(Ordering::Equal).is_some()
    }

    /// The result of a comparison for operands in this order; `None` for the other operators.
    #[inline]
    fn compares(self, order: Ordering) -> Option<bool> {
        Some(match self {
            Binary::Equal => order.is_eq(),
            Binary::NotEqual => order.is_ne(),
            Binary::Less => order.is_lt(),
            Binary::LessEqual => order.is_le(),
            Binary::Greater => order.is_gt(),
            Binary::GreaterEqual => order.is_ge(),
            _ => return None,
        })
    }

    /// Applies it; texts and lists that it makes lie in the scratch region.
    pub fn apply<'a>(
        self,
        left: Value<'a>,
        right: Value<'a>,
        scope: Scope<'a>,
    ) -> Result<Value<'a>, EvalError> {
        Ok(match self {
            Binary::Add => arithmetic::add(left, right, scope)?,
            Binary::Subtract => arithmetic::subtract(left, right)?,
            Binary::Multiply => arithmetic::multiply(left, right)?,
            Binary::Divide => arithmetic::divide(left, right)?,
            Binary::Remainder => arithmetic::remainder(left, right)?,
            Binary::Power => arithmetic::power(left, right)?,
            Binary::ShiftLeft => arithmetic::shift_left(left, right)?,
            Binary::ShiftRight => arithmetic::shift_right(left, right)?,
            Binary::BitAnd => arithmetic::bitwise("&", left, right, |a, b| a & b)?,
            Binary::BitOr => arithmetic::bitwise("|", left, right, |a, b| a | b)?,
            Binary::BitXor => arithmetic::bitwise("^", left, right, |a, b| a ^ b)?,
            Binary::Append => arithmetic::append(left, right, scope)?,
            Binary::Equal
            | Binary::NotEqual
            | Binary::Less
            | Binary::LessEqual
            | Binary::Greater
            | Binary::GreaterEqual => {
                Value::Bool(self.compares(compare(left, right)).unwrap_or(false))
            }
        })
    }
}
