//! The arithmetic operators for each pair of types.

use super::wide;
use crate::eval::{EvalError, Scope};
use crate::id::Id;
use crate::limits;
use crate::text;
use crate::value::Value;

type Evaluated<'a> = Result<Value<'a>, EvalError>;

const NS_PER_S: i64 = 1_000_000_000;

/// Two numbers converted to a common type.
enum Pair {
    Ints(i64, i64),
    Doubles(f64, f64),
    Ids(Id, Id),
}

/// The numeric pair that two values make, if they do.
fn numeric_pair(left: Value<'_>, right: Value<'_>) -> Option<Pair> {
    Some(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Pair::Ints(a, b),
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            Pair::Doubles(left.as_double()?, right.as_double()?)
        }
        (Value::Id(_), _) | (_, Value::Id(_)) => Pair::Ids(left.as_id()?, right.as_id()?),
        _ => Pair::Ints(left.as_int()?, right.as_int()?),
    })
}

/// A number beside a time or an interval: seconds, in nanoseconds. `None` if it is no number.
fn seconds(value: Value<'_>) -> Option<Result<i64, EvalError>> {
    Some(match value {
        Value::Double(s) => rounded(s * NS_PER_S as f64),
        _ => value.as_int()?.checked_mul(NS_PER_S).ok_or(EvalError::Overflow),
    })
}

/// A number of nanoseconds as an integer.
fn rounded(ns: f64) -> Result<i64, EvalError> {
    // The upper bound is 2^63, the first double out of range; NaN is in no range.
    let range = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    let ns = ns.round();
    if range.contains(&ns) { Ok(ns as i64) } else { Err(EvalError::Overflow) }
}

fn no_operands<'a>(what: &'static str, left: Value<'_>, right: Value<'_>) -> Evaluated<'a> {
    let given = format!("{} and {}", left.type_of().name(), right.type_of().name());
    Err(EvalError::Type { what, given })
}

fn int<'a>(value: Option<i64>) -> Evaluated<'a> {
    value.map(Value::Int).ok_or(EvalError::Overflow)
}

fn time<'a>(value: Option<i64>) -> Evaluated<'a> {
    value.map(Value::Time).ok_or(EvalError::Overflow)
}

fn interval<'a>(value: Option<i64>) -> Evaluated<'a> {
    value.map(Value::Interval).ok_or(EvalError::Overflow)
}

pub(super) fn complement<'a>(value: Value<'a>) -> Evaluated<'a> {
    match value {
        Value::Int(value) => Ok(Value::Int(!value)),
        Value::Id(id) => Ok(Value::Id(id.zip(Id::ZERO, |limb, _| !limb))),
        _ => Err(EvalError::Type { what: "~", given: value.type_of().name().to_owned() }),
    }
}

pub(super) fn negate<'a>(value: Value<'a>) -> Evaluated<'a> {
    match value {
        Value::Int(value) => int(value.checked_neg()),
        Value::Double(value) => Ok(Value::Double(-value)),
        Value::Id(id) => Ok(Value::Id(Id::ZERO.wrapping_sub(id))),
        Value::Interval(ns) => interval(ns.checked_neg()),
        _ => Err(EvalError::Type { what: "-", given: value.type_of().name().to_owned() }),
    }
}

pub(super) fn add<'a>(left: Value<'a>, right: Value<'a>, scope: Scope<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Str(_), _) | (_, Value::Str(_)) => return join("+", &[left, right], scope),
        (Value::Time(a), Value::Interval(b)) | (Value::Interval(a), Value::Time(b)) => {
            return time(a.checked_add(b));
        }
        (Value::Interval(a), Value::Interval(b)) => return interval(a.checked_add(b)),
        (Value::Time(ns), number) | (number, Value::Time(ns)) => {
            if let Some(s) = seconds(number) {
                return time(ns.checked_add(s?));
            }
        }
        (Value::Interval(ns), number) | (number, Value::Interval(ns)) => {
            if let Some(s) = seconds(number) {
                return interval(ns.checked_add(s?));
            }
        }
        _ => {}
    }
    match numeric_pair(left, right) {
        Some(Pair::Ints(a, b)) => int(a.checked_add(b)),
        Some(Pair::Doubles(a, b)) => Ok(Value::Double(a + b)),
        Some(Pair::Ids(a, b)) => Ok(Value::Id(a.wrapping_add(b))),
        None => no_operands("+", left, right),
    }
}

/// The texts of `values` one after the other.
pub(crate) fn join<'a>(
    what: &'static str,
    values: &[Value<'a>],
    scope: Scope<'a>,
) -> Evaluated<'a> {
    let mut joined = String::new();
    for &value in values {
        text::push_plain(&mut joined, value);
        limits::check_size(what, joined.len())?;
    }
    Ok(Value::Str(scope.scratch.alloc_str(&joined)))
}

pub(super) fn subtract<'a>(left: Value<'a>, right: Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Time(a), Value::Time(b)) => return interval(a.checked_sub(b)),
        (Value::Time(a), Value::Interval(b)) => return time(a.checked_sub(b)),
        (Value::Interval(a), Value::Interval(b)) => return interval(a.checked_sub(b)),
        (Value::Time(ns), number) => {
            if let Some(s) = seconds(number) {
                return time(ns.checked_sub(s?));
            }
        }
        (Value::Interval(ns), number) => {
            if let Some(s) = seconds(number) {
                return interval(ns.checked_sub(s?));
            }
        }
        (number, Value::Interval(ns)) => {
            if let Some(s) = seconds(number) {
                return interval(s?.checked_sub(ns));
            }
        }
        _ => {}
    }
    match numeric_pair(left, right) {
        Some(Pair::Ints(a, b)) => int(a.checked_sub(b)),
        Some(Pair::Doubles(a, b)) => Ok(Value::Double(a - b)),
        Some(Pair::Ids(a, b)) => Ok(Value::Id(a.wrapping_sub(b))),
        None => no_operands("-", left, right),
    }
}

pub(super) fn multiply<'a>(left: Value<'a>, right: Value<'a>) -> Evaluated<'a> {
    if let (Value::Interval(ns), number) | (number, Value::Interval(ns)) = (left, right) {
        return match number {
            Value::Double(factor) => rounded(ns as f64 * factor).map(Value::Interval),
            Value::Int(_) | Value::Bool(_) => {
                interval(number.as_int().and_then(|factor| ns.checked_mul(factor)))
            }
            _ => no_operands("*", left, right),
        };
    }
    match numeric_pair(left, right) {
        Some(Pair::Ints(a, b)) => int(a.checked_mul(b)),
        Some(Pair::Doubles(a, b)) => Ok(Value::Double(a * b)),
        Some(Pair::Ids(a, b)) => Ok(Value::Id(wide::multiply(a, b))),
        None => no_operands("*", left, right),
    }
}

pub(super) fn divide<'a>(left: Value<'a>, right: Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Interval(_), Value::Interval(0)) => return Err(EvalError::DivisionByZero),
        (Value::Interval(a), Value::Interval(b)) => {
            return Ok(Value::Double(a as f64 / b as f64));
        }
        (Value::Interval(ns), Value::Double(divisor)) => {
            return rounded(ns as f64 / nonzero_double(divisor)?).map(Value::Interval);
        }
        (Value::Interval(ns), Value::Int(_) | Value::Bool(_)) => {
            return interval(ns.checked_div(nonzero(right.as_int().unwrap_or(0))?));
        }
        _ => {}
    }
    match numeric_pair(left, right) {
        Some(Pair::Ints(a, b)) => int(a.checked_div(nonzero(b)?)),
        Some(Pair::Doubles(a, b)) => Ok(Value::Double(a / nonzero_double(b)?)),
        Some(Pair::Ids(a, b)) => {
            let (quotient, _) = wide::divide(a, b).ok_or(EvalError::DivisionByZero)?;
            Ok(Value::Id(quotient))
        }
        None => no_operands("/", left, right),
    }
}

pub(crate) fn remainder<'a>(left: Value<'a>, right: Value<'a>) -> Evaluated<'a> {
    if let Value::Interval(ns) = left {
        let divisor = match right {
            Value::Interval(divisor) => divisor,
            _ => match seconds(right) {
                Some(divisor) => divisor?,
                None => return no_operands("%", left, right),
            },
        };
        return Ok(Value::Interval(ns.wrapping_rem(nonzero(divisor)?)));
    }
    match numeric_pair(left, right) {
        // The least integer modulo -1 is 0: the remainder fits where the quotient does not.
        Some(Pair::Ints(a, b)) => Ok(Value::Int(a.wrapping_rem(nonzero(b)?))),
        Some(Pair::Doubles(a, b)) => Ok(Value::Double(libm::fmod(a, nonzero_double(b)?))),
        Some(Pair::Ids(a, b)) => {
            let (_, rest) = wide::divide(a, b).ok_or(EvalError::DivisionByZero)?;
            Ok(Value::Id(rest))
        }
        None => no_operands("%", left, right),
    }
}

fn nonzero(divisor: i64) -> Result<i64, EvalError> {
    if divisor == 0 { Err(EvalError::DivisionByZero) } else { Ok(divisor) }
}

fn nonzero_double(divisor: f64) -> Result<f64, EvalError> {
    if divisor == 0.0 { Err(EvalError::DivisionByZero) } else { Ok(divisor) }
}

pub(super) fn power<'a>(left: Value<'a>, right: Value<'a>) -> Evaluated<'a> {
    let pair = numeric_pair(left, right);
    if let (Some(Pair::Ints(..) | Pair::Ids(..)), Some(..0)) = (&pair, right.as_int()) {
        let reason = "a negative exponent needs a double".to_owned();
        return Err(EvalError::Argument { what: "**", reason });
    }
    match pair {
        Some(Pair::Ints(base, exponent)) => int(int_power(base, exponent as u64)),
        Some(Pair::Doubles(a, b)) => Ok(Value::Double(libm::pow(a, b))),
        Some(Pair::Ids(a, b)) => Ok(Value::Id(wide::power(a, b))),
        None => no_operands("**", left, right),
    }
}

fn int_power(base: i64, exponent: u64) -> Option<i64> {
    match base {
        // The bases whose powers fit whatever the exponent is.
        0 | 1 => Some(if exponent == 0 { 1 } else { base }),
        -1 => Some(if exponent.is_multiple_of(2) { 1 } else { -1 }),
        _ => base.checked_pow(u32::try_from(exponent).ok()?),
    }
}

/// The number of bits to shift by, at most 200: all shifts wider than a value are alike.
fn shift_count(what: &'static str, right: Value<'_>) -> Result<u32, EvalError> {
    match right {
        Value::Id(id) => {
            Ok(id.to_int().filter(|bits| (0..200).contains(bits)).unwrap_or(200) as u32)
        }
        _ => match right.as_int().unwrap_or(0) {
            ..0 => {
                let reason = "cannot shift by a negative number of bits".to_owned();
                Err(EvalError::Argument { what, reason })
            }
            bits => Ok(bits.min(200) as u32),
        },
    }
}

pub(super) fn shift_left<'a>(left: Value<'a>, right: Value<'a>) -> Evaluated<'a> {
    match numeric_pair(left, right) {
        Some(Pair::Ints(value, _)) => {
            let bits = shift_count("<<", right)?;
            let shifted = value.checked_shl(bits).filter(|shifted| shifted >> bits == value);
            int(if value == 0 { Some(0) } else { shifted })
        }
        Some(Pair::Ids(id, _)) => Ok(Value::Id(id.shift_left(shift_count("<<", right)?))),
        _ => no_operands("<<", left, right),
    }
}

pub(super) fn shift_right<'a>(left: Value<'a>, right: Value<'a>) -> Evaluated<'a> {
    match numeric_pair(left, right) {
        Some(Pair::Ints(value, _)) => {
            let bits = shift_count(">>", right)?;
            Ok(Value::Int(value >> bits.min(i64::BITS - 1)))
        }
        Some(Pair::Ids(id, _)) => Ok(Value::Id(id.shift_right(shift_count(">>", right)?))),
        _ => no_operands(">>", left, right),
    }
}

/// `&`, `|` and `^`: `f` works bit by bit, so it may be given any part of the operands.
pub(super) fn bitwise<'a>(
    what: &'static str,
    left: Value<'a>,
    right: Value<'a>,
    f: impl Fn(i64, i64) -> i64,
) -> Evaluated<'a> {
    if let (Value::Bool(a), Value::Bool(b)) = (left, right) {
        return Ok(Value::Bool(f(a as i64, b as i64) != 0));
    }
    match numeric_pair(left, right) {
        Some(Pair::Ints(a, b)) => Ok(Value::Int(f(a, b))),
        Some(Pair::Ids(a, b)) => {
            Ok(Value::Id(a.zip(b, |a, b| f(i64::from(a), i64::from(b)) as u32)))
        }
        _ => no_operands(what, left, right),
    }
}

pub(super) fn append<'a>(left: Value<'a>, right: Value<'a>, scope: Scope<'a>) -> Evaluated<'a> {
    let made: fn(crate::flat::Seq<'a>) -> Value<'a> = match (left, right) {
        (Value::Vector(_), Value::Vector(_)) => Value::Vector,
        (Value::List(_) | Value::Vector(_), Value::List(_) | Value::Vector(_)) => Value::List,
        _ => return no_operands("|||", left, right),
    };
    let mut list = limits::ListBuilder::new("|||");
    for seq in [left, right].iter().filter_map(Value::as_seq) {
        list.extend(seq)?;
    }
    Ok(made(list.finish(scope.scratch)))
}
