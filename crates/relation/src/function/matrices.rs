//! Functions of vectors and matrices. Positions count from 0; lists do as vectors.

use super::call::Call;
use super::declaration::{Function, one};
use crate::eval::EvalError;
use crate::flat::Seq;
use crate::types::TypeSet;
use crate::value::Value;

const ANY: TypeSet = TypeSet::ANY;
const INT: TypeSet = TypeSet::INT;
const SEQUENCE: TypeSet = TypeSet::SEQUENCE;
const MATRIX: TypeSet = TypeSet::MATRIX;

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("getVectorOffset", &[one("v", SEQUENCE), one("i", INT)], ANY, get_vector)
        .doc("Element `i`; also written `V[I]`.")
        .examples(&[("f_getVectorOffset([5, 6, 7], 1)", "6")]),
    Function::new(
        "setVectorOffset",
        &[one("v", SEQUENCE), one("i", INT), one("x", ANY)],
        SEQUENCE,
        set_vector,
    )
    .narrow(|types| types[0])
    .doc("The vector with `x` as element `i`.")
    .examples(&[("f_setVectorOffset([5, 6, 7], 1, 0)", "[5, 0, 7]")]),
    Function::new(
        "getMatrixOffset",
        &[one("m", MATRIX), one("i", INT), one("j", INT)],
        ANY,
        get_matrix,
    )
    .doc("The element in row `i` and column `j`; also written `M{I, J}`.")
    .examples(&[("f_getMatrixOffset({[1, 2], [3, 4]}, 1, 0)", "3")]),
    Function::new(
        "setMatrixOffset",
        &[one("m", MATRIX), one("i", INT), one("j", INT), one("x", ANY)],
        MATRIX,
        set_matrix,
    )
    .doc("The matrix with `x` in row `i` and column `j`.")
    .examples(&[("f_setMatrixOffset({[1, 2], [3, 4]}, 1, 0, 9)", "{[1, 2], [9, 4]}")]),
];

fn get_vector<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let vector = call.seq(0)?;
    let i = call.index(1, vector.len())?;
    Ok(vector.get(i).unwrap_or(Value::Null))
}

fn set_vector<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let vector = call.seq(0)?;
    let changed = replace(call, vector, call.index(1, vector.len())?, call.value(2))?;
    Ok(match call.value(0) {
        Value::Vector(_) => Value::Vector(changed),
        _ => Value::List(changed),
    })
}

/// The elements of `seq`, but `x` as element `index`.
fn replace<'a>(
    call: &Call<'_, 'a>,
    seq: Seq<'a>,
    index: usize,
    x: Value<'a>,
) -> Result<Seq<'a>, EvalError> {
    let pick = |(i, element)| if i == index { x } else { element };
    call.make_seq(seq.iter().enumerate().map(pick))
}

/// The row that argument 1 names, and its number.
fn row<'a>(call: &Call<'_, 'a>) -> Result<(usize, Seq<'a>), EvalError> {
    let rows = call.seq(0)?;
    let i = call.index(1, rows.len())?;
    let row = rows.get(i).and_then(|row| row.as_seq());
    Ok((i, row.unwrap_or(Seq::EMPTY)))
}

fn get_matrix<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let (_, row) = row(call)?;
    let j = call.index(2, row.len())?;
    Ok(row.get(j).unwrap_or(Value::Null))
}

fn set_matrix<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let (i, row) = row(call)?;
    let changed = replace(call, row, call.index(2, row.len())?, call.value(3))?;
    replace(call, call.seq(0)?, i, Value::Vector(changed)).map(Value::Matrix)
}
