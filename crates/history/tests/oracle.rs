//! The search against an oracle that tries all orders of small histories.

use std::cell::RefCell;

use tidemill_history::{Failure, Model, Object, Operation, Value, Verdict, check, check_object};
use tidemill_stdx::rng::Rng;

/// The state of an object: the value of each key, or the elements of a queue or set, or a number.
type State = Vec<(Value, Value)>;

/// A sequential object, implemented independently of the crate: its result, and the state
/// afterwards.
fn perform(model: Model, state: &State, name: &str, argument: &Value) -> (Value, State) {
    let mut after = state.clone();
    let part = |at: usize| match argument {
        Value::List(values) => values[at].clone(),
        value => value.clone(),
    };
    let get = |state: &State, key: &Value| {
        state.iter().find(|(it, _)| it == key).map_or(Value::Null, |(_, value)| value.clone())
    };
    let set = |state: &mut State, key: Value, value: Value| {
        state.retain(|(it, _)| *it != key);
        if value != Value::Null {
            state.push((key, value));
        }
        state.sort();
    };
    let one = Value::Int(0);
    let number = |state: &State| match get(state, &one) {
        Value::Int(number) => number,
        _ => 0,
    };
    let result = match (model, name) {
        (Model::Register, "read") => get(state, &one),
        (Model::Register, "write") => {
            set(&mut after, one, argument.clone());
            Value::Null
        }
        (Model::Register, "cas") => {
            let swaps = get(state, &one) == part(0);
            if swaps {
                set(&mut after, one, part(1));
            }
            Value::Bool(swaps)
        }
        (Model::Kv, "get") => get(state, argument),
        (Model::Kv, "put") => {
            set(&mut after, part(0), part(1));
            Value::Null
        }
        (Model::Kv, "delete") => {
            set(&mut after, argument.clone(), Value::Null);
            Value::Null
        }
        (Model::Queue, "enqueue") => {
            after.push((Value::Null, argument.clone()));
            Value::Null
        }
        (Model::Queue, "dequeue") if state.is_empty() => Value::Null,
        (Model::Queue, "dequeue") => after.remove(0).1,
        (Model::Set, "read") => Value::List(state.iter().map(|(it, _)| it.clone()).collect()),
        (Model::Set, _) => {
            let had = get(state, argument) != Value::Null;
            match name {
                "add" => set(&mut after, argument.clone(), Value::Bool(true)),
                "remove" => set(&mut after, argument.clone(), Value::Null),
                _ => return (Value::Bool(had), after),
            }
            Value::Bool(had == (name == "remove"))
        }
        (Model::Counter, _) => {
            let added = match (name, argument) {
                ("add", Value::Int(added)) => *added,
                ("increment", _) => 1,
                ("decrement", _) => -1,
                _ => 0,
            };
            let sum = number(state) + added;
            set(&mut after, one, Value::Int(sum));
            return (Value::Int(sum), after);
        }
        _ => unreachable!("{name}"),
    };
    (result, after)
}

/// Whether some order of some of the pending and all other operations has these results.
fn has_order(model: Model, state: &State, left: &[Operation]) -> bool {
    left.iter().all(|it| it.returned.is_none())
        || (0..left.len()).any(|at| {
            let first = &left[at];
            // None that is left returned before it was called.
            let is_first = left
                .iter()
                .all(|other| other.returned.is_none_or(|returned| returned >= first.invoked));
            let (result, after) = perform(model, state, &first.name, &first.argument);
            let fits = first.returned.is_none() || fits(first, &result);
            let mut rest = left.to_vec();
            rest.remove(at);
            is_first && fits && has_order(model, &after, &rest)
        })
}

/// Whether an operation may have this result.
fn fits(operation: &Operation, result: &Value) -> bool {
    operation.result == *result || operation.result == Value::Null && is_silent(operation)
}

/// An object defined by the oracle.
struct Defined<'h> {
    model: Model,
    history: &'h [Operation],
    states: RefCell<Vec<State>>,
}

impl Object for Defined<'_> {
    fn step(&self, state: u32, operation: usize, is_pending: bool, number: u32) -> Option<u32> {
        let mut states = self.states.borrow_mut();
        if states.is_empty() {
            states.push(State::new());
        }
        let operation = &self.history[operation];
        let (name, argument) = (&operation.name, &operation.argument);
        let (result, after) = perform(self.model, &states[state as usize], name, argument);
        let is_step = number == 0 && (is_pending || fits(operation, &result));
        is_step.then(|| {
            let known = states.iter().position(|state| *state == after);
            known.unwrap_or_else(|| {
                states.push(after);
                states.len() - 1
            }) as u32
        })
    }

    fn only_reads(&self, operation: usize) -> bool {
        matches!(self.history[operation].name.as_str(), "read" | "get" | "contains")
    }
}

/// Whether null as the result of an operation matches any.
fn is_silent(operation: &Operation) -> bool {
    !matches!(operation.name.as_str(), "read" | "get" | "dequeue")
}

const MODELS: [(Model, &[&str]); 6] = [
    (Model::Register, &["read", "read", "write", "cas"]),
    (Model::Kv, &["get", "get", "put", "delete"]),
    (Model::Queue, &["enqueue", "dequeue"]),
    (Model::Set, &["add", "remove", "contains"]),
    (Model::Set, &["add", "remove", "read"]),
    (Model::Counter, &["add", "increment", "decrement", "read"]),
];

/// A history of a real object, with times widened at random; `lies` changes some results.
fn history(random: &mut Rng, model: Model, names: &[&str], lies: bool) -> Vec<Operation> {
    let count = random.range(1..=6);
    let mut state = State::new();
    let mut history = Vec::new();
    for at in 0..count as i64 {
        let name = (*random.pick(names).expect("names")).to_owned();
        let mut value = || Value::Int(random.range(1..=2) as i64);
        let argument = match (model, name.as_str()) {
            (Model::Register | Model::Set, "read") => Value::Null,
            (Model::Queue, "dequeue") => Value::Null,
            (Model::Counter, "add") => value(),
            (Model::Counter, _) => Value::Null,
            (Model::Register, "cas") | (Model::Kv, "put") => Value::List(vec![value(), value()]),
            _ => value(),
        };
        let (mut result, after) = perform(model, &state, &name, &argument);
        state = after;
        if lies && random.chance(0.3) {
            result = match result {
                Value::Bool(truth) => Value::Bool(!truth),
                Value::Int(number) => Value::Int(number % 2 + 1),
                Value::List(mut values) => {
                    values.pop();
                    Value::List(values)
                }
                Value::Null if is_silent_name(&name) => Value::Null,
                _ => Value::Int(1),
            };
        } else if random.chance(0.1) && is_silent_name(&name) {
            result = Value::Null;
        }
        let invoked = at * 4 - random.below(9) as i64;
        let returned = at * 4 + random.below(9) as i64;
        let returned = (!random.chance(0.2)).then_some(returned);
        history.push(Operation { name, argument, result, invoked, returned });
    }
    random.shuffle(&mut history);
    history
}

fn is_silent_name(name: &str) -> bool {
    !matches!(name, "read" | "get" | "dequeue")
}

#[test]
fn the_verdict_is_that_of_all_orders() {
    let mut random = Rng::new(1);
    for (model, names) in MODELS {
        let mut counts = [0; 2];
        for round in 0..2000 {
            let history = history(&mut random, model, names, round % 2 == 0);
            let expected = has_order(model, &State::new(), &history);
            counts[usize::from(expected)] += 1;
            let defined = Defined { model, history: &history, states: RefCell::default() };
            let is_linearizable =
                matches!(check_object(&defined, &history), Ok(Verdict::Linearizable));
            assert_eq!(is_linearizable, expected, "{model:?} {history:?}");
            match check(model, &history) {
                Ok(Verdict::Linearizable) => assert!(expected, "{model:?} {history:?}"),
                Ok(Verdict::Fails(failure)) => {
                    assert!(!expected, "{model:?} {history:?}");
                    is_a_proof(model, &history, &failure);
                }
                other => panic!("{other:?} {model:?} {history:?}"),
            }
        }
        assert!(counts.iter().all(|count| *count > 200), "{model:?} {counts:?}");
    }
}

/// The operations shown have no order, wherever the changes that are not shown are placed.
fn is_a_proof(model: Model, history: &[Operation], failure: &Failure) {
    let part: Vec<Operation> = history
        .iter()
        .enumerate()
        .filter(|(_, operation)| operation.invoked <= failure.end)
        .filter(|(_, operation)| {
            model != Model::Kv || key(model, operation) == failure.key || failure.key.is_none()
        })
        .filter_map(|(at, operation)| {
            if failure.operations.contains(&at) {
                Some(operation.clone())
            } else {
                let free = Operation { invoked: i64::MIN, returned: None, ..operation.clone() };
                changes(operation).then_some(free)
            }
        })
        .collect();
    assert!(!has_order(model, &State::new(), &part), "{failure:?} of {history:?}");
}

/// Whether an operation may change something.
fn changes(operation: &Operation) -> bool {
    let has_failed = match operation.name.as_str() {
        "read" | "get" | "contains" => true,
        "dequeue" => operation.result == Value::Null,
        _ => operation.result == Value::Bool(false),
    };
    operation.returned.is_none() || !has_failed
}

fn key(model: Model, operation: &Operation) -> Option<Value> {
    match &operation.argument {
        Value::List(values) if model == Model::Kv => values.first().cloned(),
        argument => Some(argument.clone()),
    }
}

/// Of a long history with one wrong result, the operations shown are those that it contradicts.
#[test]
fn what_is_shown_is_small() {
    let put = |at: i64| Operation {
        name: "put".to_owned(),
        argument: Value::List(vec![Value::Int(at % 7), Value::Int(at)]),
        result: Value::Null,
        invoked: 10 * at,
        returned: Some(10 * at + 15),
    };
    let get = |at: i64, result: i64| Operation {
        name: "get".to_owned(),
        argument: Value::Int(at % 7),
        result: Value::Int(result),
        invoked: 10 * at + 20,
        returned: Some(10 * at + 22),
    };
    let mut history: Vec<Operation> = (0..7000).flat_map(|at| [put(at), get(at, at)]).collect();
    assert_eq!(check(Model::Kv, &history), Ok(Verdict::Linearizable));
    // A value that was overwritten long before.
    history.push(Operation { invoked: 35_000, returned: Some(35_001), ..get(700, 700) });
    let Ok(Verdict::Fails(failure)) = check(Model::Kv, &history) else { panic!("it is wrong") };
    assert_eq!(failure.key, Some(Value::Int(0)));
    assert!(failure.operations.contains(&14_000), "{failure:?}");
    assert!(failure.operations.len() <= 4, "{failure:?}");
    assert_eq!(failure.operations.len() + failure.others, 2001);
}

#[test]
fn operations_that_a_model_has_not_are_refused() {
    let pop = Operation {
        name: "pop".to_owned(),
        argument: Value::Null,
        result: Value::Null,
        invoked: 0,
        returned: Some(1),
    };
    let error = check(Model::Queue, std::slice::from_ref(&pop)).expect_err("no operation");
    let wanted = "queue has no pop null with result null; it has enqueue V, dequeue";
    assert_eq!((error.operation, error.reason.as_str()), (0, wanted));
    let early = Operation { name: "dequeue".to_owned(), invoked: 2, ..pop };
    let error = check(Model::Queue, &[early]).expect_err("time goes on");
    assert_eq!(error.reason, "it returned before it was invoked");
}

/// Pending operations need no place, and take one where others need it.
#[test]
fn pending_operations_may_have_happened() {
    let operation = |name: &str, argument, result, invoked, returned| Operation {
        name: name.to_owned(),
        argument,
        result,
        invoked,
        returned,
    };
    let write = operation("write", Value::Int(1), Value::Null, 0, None);
    let read = |result, at| operation("read", Value::Null, result, at, Some(at));
    let of = |results: &[Value]| {
        let reads = (1..).zip(results).map(|(at, result)| read(result.clone(), at));
        check(Model::Register, &[write.clone()].into_iter().chain(reads).collect::<Vec<_>>())
    };
    let (old, new) = (Value::Null, Value::Int(1));
    assert_eq!(of(&[old.clone(), old.clone()]), Ok(Verdict::Linearizable));
    assert_eq!(of(&[old.clone(), new.clone()]), Ok(Verdict::Linearizable));
    assert!(matches!(of(&[new, old]), Ok(Verdict::Fails(_))));
}
