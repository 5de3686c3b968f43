//! Comparison as operators see it, and ring intervals.

use std::cmp::Ordering;

use crate::value::Value;

const NS_PER_S: i64 = 1_000_000_000;

/// One end of a ring interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// `[` or `]`: the end belongs to the interval.
    Closed,
    /// `(` or `)`: it does not.
    Open,
}

/// Order of the operators: [`Value::compare`], but an interval beside a number is seconds.
pub fn compare(left: Value<'_>, right: Value<'_>) -> Ordering {
    match (left, right) {
        (Value::Interval(ns), Value::Int(_) | Value::Bool(_) | Value::Double(_)) => {
            compare_seconds(ns, right)
        }
        (Value::Int(_) | Value::Bool(_) | Value::Double(_), Value::Interval(ns)) => {
            compare_seconds(ns, left).reverse()
        }
        _ => left.compare(&right),
    }
}

fn compare_seconds(ns: i64, number: Value<'_>) -> Ordering {
    match number {
        Value::Double(seconds) => {
            Value::Double(ns as f64 / NS_PER_S as f64).compare(&Value::Double(seconds))
        }
        _ => {
            let seconds = i128::from(number.as_int().unwrap_or(0));
            i128::from(ns).cmp(&(seconds * i128::from(NS_PER_S)))
        }
    }
}

/// Whether `value` lies in the ring interval from `from` clockwise to `to`.
///
/// With equal ends it is the whole ring, or, if both ends are open, all but that point.
pub fn in_ring(value: Value<'_>, from: Value<'_>, to: Value<'_>, low: End, high: End) -> bool {
    let above = match compare(value, from) {
        Ordering::Greater => true,
        Ordering::Equal => low == End::Closed,
        Ordering::Less => false,
    };
    let below = match compare(value, to) {
        Ordering::Less => true,
        Ordering::Equal => high == End::Closed,
        Ordering::Greater => false,
    };
    if compare(from, to).is_lt() { above && below } else { above || below }
}
