//! A history is partitioned by key, and each part is ordered by itself: a history of several
//! objects is linearizable if that of each is (Herlihy and Wing).

use std::collections::BTreeMap;

use crate::model::{self, Action, Model, Values};
use crate::object::{Object, Step};
use crate::operation::{Malformed, Operation, Value};
use crate::search::{Call, Found, search};
use crate::shrink::shrink;

/// States that the search looks at for one part. The problem is NP-complete; this is some seconds.
const STATES_MAX: u64 = 1 << 22;

/// Whether a history is linearizable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is.
    Linearizable,
    /// It is not.
    Fails(Failure),
    /// The search gave up on too many orders, in the part of this key.
    Undecided(Option<Value>),
}

/// A part of a history that has no order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The key, where the model has keys.
    pub key: Option<Value>,
    /// Operations by position: these cannot be ordered, wherever others are placed that were
    /// invoked by `end`.
    pub operations: Vec<usize>,
    /// The time by which there is no order.
    pub end: i64,
    /// The number of others in the part.
    pub others: usize,
}

/// An operation and its position.
type Placed<'h> = (usize, &'h Operation);

/// Decides whether a history is linearizable.
///
/// # Errors
/// An operation that the model does not have, or that returned before it was called.
pub fn check(model: Model, history: &[Operation]) -> Result<Verdict, Malformed> {
    let mut values = Values::default();
    in_time(history)?;
    for (key, part) in parts(model, history) {
        let verdict = match model {
            Model::Register | Model::Kv => order(model, &part, |operation| {
                let (name, arguments) = of_register(model, operation)?;
                model::register(name, (&arguments, &operation.result), &mut values)
            }),
            Model::Queue => order(model, &part, |it| model::queue(it, &mut values)),
            Model::Set => order(model, &part, |it| model::set(it, &mut values)),
            Model::Counter => order(model, &part, model::counter),
        }?;
        match verdict {
            Verdict::Linearizable => {}
            Verdict::Fails(failure) => return Ok(Verdict::Fails(Failure { key, ..failure })),
            Verdict::Undecided(_) => return Ok(Verdict::Undecided(key)),
        }
    }
    Ok(Verdict::Linearizable)
}

/// Decides whether a history is linearizable for an object that is no [`Model`].
///
/// # Errors
/// An operation that returned before it was called.
pub fn check_object(object: &dyn Object, history: &[Operation]) -> Result<Verdict, Malformed> {
    in_time(history)?;
    let counts = |(operation, it): &(usize, &Operation)| {
        it.returned.is_some() || !object.only_reads(*operation)
    };
    let call = |(operation, it): (usize, &Operation)| {
        let action = Step { object, operation, is_pending: it.returned.is_none() };
        let (invoked, returned) = (it.invoked, it.returned);
        (operation, Call { action, invoked, returned, repeats: false })
    };
    let (numbers, calls): (Vec<usize>, Vec<Call<Step<'_>>>) =
        history.iter().enumerate().filter(counts).map(call).unzip();
    Ok(order_of(&calls, &numbers, history.len()))
}

/// Checks that operations return after they have been invoked.
fn in_time(history: &[Operation]) -> Result<(), Malformed> {
    let is_early = |it: &Operation| it.returned.is_some_and(|returned| returned < it.invoked);
    match history.iter().position(is_early) {
        None => Ok(()),
        Some(operation) => {
            Err(Malformed { operation, reason: "it returned before it was invoked".to_owned() })
        }
    }
}

/// The parts of a history, by key.
fn parts(model: Model, history: &[Operation]) -> BTreeMap<Option<Value>, Vec<Placed<'_>>> {
    let is_apart = match model {
        Model::Register | Model::Queue | Model::Counter => false,
        Model::Kv => true,
        // A set is one truth value for each element, unless all of it is read at once.
        Model::Set => history.iter().all(|operation| operation.name != "read"),
    };
    let mut parts: BTreeMap<Option<Value>, Vec<Placed<'_>>> = BTreeMap::new();
    for (number, operation) in history.iter().enumerate() {
        let key = match &operation.argument {
            _ if !is_apart => None,
            Value::List(values) if model == Model::Kv => values.first().cloned(),
            argument => Some(argument.clone()),
        };
        parts.entry(key).or_default().push((number, operation));
    }
    parts
}

/// An operation as one of a register, with its arguments but for the key.
fn of_register(model: Model, operation: &Operation) -> Option<(&str, Vec<&Value>)> {
    let name = operation.name.as_str();
    let values: Vec<&Value> = match &operation.argument {
        Value::Null => Vec::new(),
        Value::List(values) if name != "write" => values.iter().collect(),
        value => vec![value],
    };
    match (model, name, &values[..]) {
        (Model::Register, _, _) if name == "write" => Some((name, vec![&operation.argument])),
        (Model::Register, _, _) => Some((name, values)),
        (_, "get", [_]) => Some(("read", Vec::new())),
        (_, "delete", [_]) => Some(("write", vec![&Value::Null])),
        (_, "put", [_, value]) => Some(("write", vec![value])),
        (_, "cas", [_, rest @ ..]) => Some(("cas", rest.to_vec())),
        _ => None,
    }
}

/// Looks for an order of one part.
fn order<A: Action + Clone>(
    model: Model,
    part: &[Placed<'_>],
    mut action: impl FnMut(&Operation) -> Option<A>,
) -> Result<Verdict, Malformed> {
    let mut calls = Vec::with_capacity(part.len());
    let mut numbers = Vec::with_capacity(part.len());
    for (number, operation) in part {
        let Some(action) = action(operation) else {
            let Operation { name, argument, result, .. } = operation;
            let known = model.operations();
            let name = model.name().to_owned() + " has no " + name;
            let reason = format!("{name} {argument} with result {result}; it has {known}");
            return Err(Malformed { operation: *number, reason });
        };
        let (invoked, returned) = (operation.invoked, operation.returned);
        let action = if returned.is_none() { action.pending() } else { action };
        if returned.is_some() || !action.only_reads() {
            calls.push(Call { action, invoked, returned, repeats: false });
            numbers.push(*number);
        }
    }
    Ok(order_of(&calls, &numbers, part.len()))
}

/// Looks for an order of calls, whose positions in the history are these; `count` operations are in
/// their part of it.
fn order_of<A: Action + Clone>(calls: &[Call<A>], numbers: &[usize], count: usize) -> Verdict {
    let mut states_left = STATES_MAX;
    match search(calls, &mut states_left) {
        Found::Order => Verdict::Linearizable,
        Found::TooMany => Verdict::Undecided(None),
        Found::NoOrder => {
            let (shown, end) = shrink(calls);
            let operations: Vec<usize> = shown.into_iter().map(|at| numbers[at]).collect();
            let others = count - operations.len();
            Verdict::Fails(Failure { key: None, operations, end, others })
        }
    }
}
