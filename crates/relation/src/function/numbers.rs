//! Functions of numbers, and those that choose among values.

use super::call::Call;
use super::declaration::{Function, one, repeated};
use crate::eval::{EvalError, is_true};
use crate::operator::{Binary, Unary, compare};
use crate::types::TypeSet;
use crate::value::Value;

const NUMBER: TypeSet = TypeSet::NUMBER;
const NUMERIC: TypeSet = TypeSet::NUMERIC;
const ANY: TypeSet = TypeSet::ANY;
/// The types with an absolute value.
const MAGNITUDE: TypeSet = NUMBER.union(TypeSet::INTERVAL);
const REMAINDER: TypeSet = NUMBER.union(TypeSet::ID).union(TypeSet::INTERVAL);

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("abs", &[one("x", MAGNITUDE)], MAGNITUDE, abs)
        .narrow(|types| types[0])
        .doc("The absolute value.")
        .examples(&[("f_abs(-3)", "3"), ("f_abs(-1.5s)", "1.500000000s")]),
    Function::new("neg", &[one("x", REMAINDER)], REMAINDER, neg)
        .narrow(|types| types[0])
        .doc("The value with the other sign.")
        .examples(&[("f_neg(3)", "-3"), ("f_neg(-2.5)", "2.5")]),
    Function::new(
        "mod",
        &[one("a", REMAINDER.union(TypeSet::BOOL)), one("b", REMAINDER.union(TypeSet::BOOL))],
        REMAINDER,
        modulo,
    )
    .narrow(|types| Binary::Remainder.result_type(types[0], types[1]).unwrap_or(REMAINDER))
    .doc("The remainder of `a / b`, with the sign of `a`.")
    .examples(&[("f_mod(7, 3)", "1"), ("f_mod(-7, 3)", "-1")]),
    Function::new("floor", &[one("x", NUMBER)], NUMBER, floor)
        .narrow(|types| types[0])
        .doc("The greatest whole number that is not above `x`, of the same type.")
        .examples(&[("f_floor(2.7)", "2.0"), ("f_floor(-2.1)", "-3.0"), ("f_floor(4)", "4")]),
    Function::new("ceil", &[one("x", NUMBER)], NUMBER, ceil)
        .narrow(|types| types[0])
        .doc("The least whole number that is not below `x`, of the same type.")
        .examples(&[("f_ceil(2.1)", "3.0"), ("f_ceil(4)", "4")]),
    Function::new("exp", &[one("x", NUMERIC)], TypeSet::DOUBLE, exp)
        .doc("e to the power of `x`.")
        .examples(&[("f_exp(0)", "1.0")]),
    Function::new("ln", &[one("x", NUMERIC)], TypeSet::DOUBLE, ln)
        .doc("The natural logarithm of `x`, which is above 0.")
        .examples(&[("f_ln(1)", "0.0")]),
    Function::new("min", &[one("x", ANY), repeated("y", ANY)], ANY, min)
        .narrow(any_of)
        .doc("The least of the arguments, the first of those that are equal.")
        .examples(&[("f_min(3, 1.5, 2)", "1.5"), ("f_min(\"b\", \"a\")", "\"a\"")]),
    Function::new("max", &[one("x", ANY), repeated("y", ANY)], ANY, max)
        .narrow(any_of)
        .doc("The greatest of the arguments, the first of those that are equal.")
        .examples(&[("f_max(3, 1.5, 2)", "3")]),
    Function::new(
        "ifelse",
        &[one("condition", TypeSet::WHOLE), one("then", ANY), one("otherwise", ANY)],
        ANY,
        ifelse,
    )
    .narrow(|types| any_of(&types[1..]))
    .doc("`then` if the condition is true or not 0, else `otherwise`; all are evaluated.")
    .examples(&[("f_ifelse(true, 1, 2)", "1"), ("f_ifelse(0, 1, 2)", "2")]),
];

fn any_of(types: &[TypeSet]) -> TypeSet {
    types.iter().fold(TypeSet::NONE, |all, types| all.union(*types))
}

fn abs<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    match call.value(0) {
        Value::Double(x) => Ok(Value::Double(x.abs())),
        Value::Interval(ns) => ns.checked_abs().map(Value::Interval).ok_or(EvalError::Overflow),
        _ => call.int(0)?.checked_abs().map(Value::Int).ok_or(EvalError::Overflow),
    }
}

fn neg<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Unary::Negate.apply(call.value(0), call.scope())
}

fn modulo<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Binary::Remainder.apply(call.value(0), call.value(1), call.scope())
}

fn floor<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(match call.value(0) {
        Value::Double(x) => Value::Double(x.floor()),
        whole => whole,
    })
}

fn ceil<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(match call.value(0) {
        Value::Double(x) => Value::Double(x.ceil()),
        whole => whole,
    })
}

fn exp<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::Double(libm::exp(call.double(0)?)))
}

fn ln<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let x = call.double(0)?;
    if x <= 0.0 {
        return Err(call.fail(format!("{} is not above 0", Value::Double(x))));
    }
    Ok(Value::Double(libm::log(x)))
}

fn min<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let less = |least, &x| if compare(x, least).is_lt() { x } else { least };
    Ok(call.arguments().iter().fold(call.value(0), less))
}

fn max<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let greater = |greatest, &x| if compare(x, greatest).is_gt() { x } else { greatest };
    Ok(call.arguments().iter().fold(call.value(0), greater))
}

fn ifelse<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(call.value(if is_true(call.value(0), call.name())? { 1 } else { 2 }))
}
