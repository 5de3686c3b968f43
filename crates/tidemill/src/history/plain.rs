//! Values of rules in histories.

use tidemill_history::Value as Plain;
use tidemill_relation::Value;

/// The value in a history: numbers of equal value are equal.
pub(super) fn plain(value: Value<'_>) -> Plain {
    match value {
        Value::Null => Plain::Null,
        Value::Bool(value) => Plain::Bool(value),
        Value::Int(value) => Plain::Int(value),
        // Whole doubles below 2^53 are exactly these integers.
        Value::Double(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
            Plain::Int(value as i64)
        }
        Value::List(values) | Value::Vector(values) => {
            Plain::List(values.iter().map(plain).collect())
        }
        other => Plain::Text(other.to_string()),
    }
}
