//! Which values are true.

use super::EvalError;
use crate::value::Value;

/// The truth of a condition: a boolean, or an integer other than 0.
#[inline]
pub fn is_true(value: Value<'_>, what: &'static str) -> Result<bool, EvalError> {
    match value {
        Value::Bool(value) => Ok(value),
        Value::Int(value) => Ok(value != 0),
        _ => Err(EvalError::Type { what, given: value.type_of().name().to_owned() }),
    }
}
