//! Functions of lists. Vectors are taken too; the result is a list.

use super::call::Call;
use super::declaration::{Function, one, optional, repeated};
use crate::eval::EvalError;
use crate::flat::Seq;
use crate::limits::ListBuilder;
use crate::types::TypeSet;
use crate::value::Value;

const ANY: TypeSet = TypeSet::ANY;
const BOOL: TypeSet = TypeSet::BOOL;
const INT: TypeSet = TypeSet::INT;
const LIST: TypeSet = TypeSet::LIST;
const SEQUENCE: TypeSet = TypeSet::SEQUENCE;
/// The types with a number of elements.
const SIZED: TypeSet = SEQUENCE.union(TypeSet::MATRIX).union(TypeSet::TEXT).union(TypeSet::BYTES);

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("initList", &[repeated("x", ANY)], LIST, init_list)
        .doc("The list of the arguments.")
        .examples(&[("f_initList()", "[]"), ("f_initList(1, \"a\")", "[1, \"a\"]")]),
    Function::new("initSet", &[repeated("x", ANY)], LIST, init_set)
        .doc("The list of the different arguments, in ascending order.")
        .examples(&[("f_initSet(3, 1, 3)", "[1, 3]")]),
    Function::new("cons", &[one("x", ANY), one("list", SEQUENCE)], LIST, cons)
        .doc("The list with `x` put before its first element.")
        .examples(&[("f_cons(1, [2, 3])", "[1, 2, 3]")]),
    Function::new("consList", &[one("x", ANY), one("list", SEQUENCE)], LIST, cons)
        .doc("Older name of `f_cons`.")
        .examples(&[("f_consList(1, [2])", "[1, 2]")]),
    Function::new("append", &[one("x", ANY), optional("list", SEQUENCE)], LIST, append)
        .doc("The list with `x` put after its last element; without a list, `x` alone.")
        .examples(&[("f_append(3, [1, 2])", "[1, 2, 3]"), ("f_append(3)", "[3]")]),
    Function::new("concat", &[one("a", SEQUENCE), repeated("b", SEQUENCE)], LIST, concat)
        .doc("The elements of all lists, one list after the other.")
        .examples(&[("f_concat([1, 2], [2, 3])", "[1, 2, 2, 3]")]),
    Function::new("union", &[one("a", SEQUENCE), repeated("b", SEQUENCE)], LIST, union)
        .doc("The different elements of all lists, in ascending order.")
        .examples(&[("f_union([3, 1], [2, 3])", "[1, 2, 3]")]),
    Function::new("intersect", &[one("a", SEQUENCE), one("b", SEQUENCE)], LIST, intersect)
        .doc("The different elements of `a` that are also in `b`, in the order of `a`.")
        .examples(&[("f_intersect([3, 1, 3, 2], [2, 3])", "[3, 2]")]),
    Function::new("member", &[one("list", SEQUENCE), one("x", ANY)], BOOL, member)
        .doc("Whether `x` is an element of the list.")
        .examples(&[("f_member([1, 2], 2)", "true"), ("f_member([], 2)", "false")]),
    Function::new("inList", &[one("list", SEQUENCE), one("x", ANY)], BOOL, member)
        .doc("Older name of `f_member`.")
        .examples(&[("f_inList([1, 2], 3)", "false")]),
    Function::new("contains", &[one("list", SEQUENCE), one("x", ANY)], BOOL, member)
        .doc("Another name of `f_member`.")
        .examples(&[("f_contains([\"a\"], \"a\")", "true")]),
    Function::new("first", &[one("list", SEQUENCE)], ANY, first)
        .doc("The first element of a list that is not empty.")
        .examples(&[("f_first([1, 2, 3])", "1")]),
    Function::new("car", &[one("list", SEQUENCE)], ANY, first)
        .doc("Lisp's name of `f_first`.")
        .examples(&[("f_car([1, 2, 3])", "1")]),
    Function::new("cdr", &[one("list", SEQUENCE)], LIST, cdr)
        .doc("A list that is not empty without its first element.")
        .examples(&[("f_cdr([1, 2, 3])", "[2, 3]")]),
    Function::new("last", &[one("list", SEQUENCE)], ANY, last)
        .doc("The last element of a list that is not empty.")
        .examples(&[("f_last([1, 2, 3])", "3")]),
    Function::new("removeLast", &[one("list", SEQUENCE)], LIST, remove_last)
        .doc("A list that is not empty without its last element.")
        .examples(&[("f_removeLast([1, 2, 3])", "[1, 2]")]),
    Function::new("size", &[one("x", SIZED)], INT, size)
        .doc("The number of elements; of a matrix its rows, of a text its characters.")
        .examples(&[("f_size([1, 2])", "2"), ("f_size(\"Mühle\")", "5")]),
    Function::new("empty", &[one("x", SIZED)], BOOL, empty)
        .doc("Whether there are no elements.")
        .examples(&[("f_empty([])", "true"), ("f_empty([1])", "false")]),
];

fn init_list<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    call.give_list(call.arguments().iter().copied())
}

fn init_set<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    call.give_list(distinct_sorted(call.arguments().to_vec()))
}

/// The different ones among the values, in ascending order.
pub(crate) fn distinct_sorted(mut values: Vec<Value<'_>>) -> Vec<Value<'_>> {
    values.sort_by(Value::total_order);
    values.dedup_by(|a, b| a.total_order(b).is_eq());
    values
}

fn cons<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let mut list = ListBuilder::new(call.name());
    list.push(call.value(0))?;
    list.extend(call.seq(1)?)?;
    Ok(Value::List(list.finish(call.scope().scratch)))
}

fn append<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let mut list = ListBuilder::new(call.name());
    if call.arguments().len() > 1 {
        list.extend(call.seq(1)?)?;
    }
    list.push(call.value(0))?;
    Ok(Value::List(list.finish(call.scope().scratch)))
}

fn concat<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let mut list = ListBuilder::new(call.name());
    for index in 0..call.arguments().len() {
        list.extend(call.seq(index)?)?;
    }
    Ok(Value::List(list.finish(call.scope().scratch)))
}

fn union<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let mut elements = Vec::new();
    for index in 0..call.arguments().len() {
        elements.extend(call.seq(index)?.iter());
    }
    call.give_list(distinct_sorted(elements))
}

fn intersect<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    // Sorted by the total order, in which language equality of mixed numbers and IDs is lost:
    // like a set, a list holds an ID and a number as two.
    let wanted = distinct_sorted(call.seq(1)?.iter().collect());
    let mut given = vec![false; wanted.len()];
    call.give_list(call.seq(0)?.iter().filter(|value| {
        match wanted.binary_search_by(|candidate| candidate.total_order(value)) {
            Ok(at) => !std::mem::replace(&mut given[at], true),
            Err(_) => false,
        }
    }))
}

fn member<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let x = call.value(1);
    Ok(Value::Bool(call.seq(0)?.iter().any(|element| element.equal(&x))))
}

/// The elements of the argument, of which there must be one.
fn elements<'a>(call: &Call<'_, 'a>) -> Result<Seq<'a>, EvalError> {
    let list = call.seq(0)?;
    if list.is_empty() { Err(call.fail("the list is empty")) } else { Ok(list) }
}

fn first<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(elements(call)?.get(0).unwrap_or(Value::Null))
}

fn last<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(elements(call)?.iter().last().unwrap_or(Value::Null))
}

fn cdr<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::List(elements(call)?.tail().unwrap_or(Seq::EMPTY)))
}

fn remove_last<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let list = elements(call)?;
    call.give_list(list.iter().take(list.len() - 1))
}

fn count(call: &Call<'_, '_>) -> Result<usize, EvalError> {
    Ok(match call.value(0) {
        Value::Str(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        _ => call.seq(0)?.len(),
    })
}

fn size<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::Int(count(call)? as i64))
}

fn empty<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::Bool(count(call)? == 0))
}
