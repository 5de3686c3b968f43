//! Random small histories, right and wrong, and the verdicts on them.
//!
//! A history comes from a real object, and in every other one some results are changed, which may
//! or may not make it wrong: whether it is, only a check can say. So the verdicts of both are
//! compared.

use tidemill_history::{Model, Operation, Value, Verdict, check};
use tidemill_stdx::rng::Rng;

use super::porcupine::Porcupine;
use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};

const OPERATIONS: i64 = 14;
/// Arguments are 1 to this.
const VALUES: u64 = 3;

/// The operations of a model. Those of a set that gives all its elements are left out: the peer's
/// input has single numbers.
fn names(model: Model) -> &'static [&'static str] {
    match model {
        Model::Register => &["read", "write", "cas"],
        Model::Kv => &["get", "put"],
        Model::Queue => &["enqueue", "dequeue"],
        Model::Set => &["add", "remove", "contains"],
        Model::Counter => &["add", "increment", "decrement", "read"],
    }
}

/// Compares verdicts, and measures both.
///
/// # Errors
/// The verdicts differ, or are all the same.
pub fn run(extent: Extent, report: &mut Report, peer: Option<&Porcupine>) -> Result<(), String> {
    let count = if extent.small { 200 } else { 5000 };
    for model in Model::ALL {
        let mut random = Rng::new(11);
        let histories: Vec<Vec<Operation>> =
            (0..count).map(|number| history(&mut random, model, number % 2 == 1)).collect();
        let verdicts = || histories.iter().map(|it| is_right(model, it)).collect();
        let (seconds, verdicts) = cpu_seconds::<Result<Vec<bool>, String>>(verdicts);
        let verdicts = verdicts?;
        let right = verdicts.iter().filter(|is_right| **is_right).count();
        if right < count / 10 || right > count * 9 / 10 {
            return Err(format!("{right} of {count} histories of a {} are right", model.name()));
        }
        let name = format!("random-{}", model.name());
        let row = |who, cpu_s| Row::new("histories", &name, who, ("cpu_s", "s"), (cpu_s, count));
        let mut rows = vec![row("tidemill", seconds)];
        if let Some(peer) = peer {
            let theirs = peer.check(model, &histories)?;
            if let Some(at) = (0..count).find(|at| theirs[*at].0 != verdicts[*at]) {
                let (ours, history) = (verdicts[at], &histories[at]);
                return Err(format!("{name} {at}: porcupine says {}: {history:?}", !ours));
            }
            rows.push(row("porcupine", theirs.iter().map(|it| it.1).sum()));
        }
        report.case(&rows, Better::Low);
    }
    Ok(())
}

fn is_right(model: Model, history: &[Operation]) -> Result<bool, String> {
    match check(model, history) {
        Ok(Verdict::Linearizable) => Ok(true),
        Ok(Verdict::Fails(_)) => Ok(false),
        other => Err(format!("{}: {other:?}", model.name())),
    }
}

fn history(random: &mut Rng, model: Model, lies: bool) -> Vec<Operation> {
    let mut state: Vec<(i64, i64)> = Vec::new();
    let operation = |number: i64| {
        let names = names(model);
        let name = names[random.below(names.len() as u64) as usize];
        let mut value = || 1 + random.below(VALUES) as i64;
        let (one, other) = (value(), value());
        let mut result = perform(model, &mut state, name, (one, other));
        if lies && random.chance(0.15) {
            result = match result {
                Value::Bool(truth) => Value::Bool(!truth),
                Value::Int(number) => Value::Int(number % VALUES as i64 + 1),
                _ if matches!(name, "read" | "get" | "dequeue") => Value::Int(one),
                result => result,
            };
        }
        let (one, other) = (Value::Int(one), Value::Int(other));
        let argument = match name {
            "cas" | "put" => Value::List(vec![one, other]),
            "read" | "dequeue" | "increment" | "decrement" => Value::Null,
            _ => one,
        };
        // It takes effect at 8 times its number, and three or so overlap.
        let (before, after) = (random.below(20) as i64, random.below(20) as i64);
        let returned = (!random.chance(0.05)).then_some(8 * number + after);
        let (name, invoked) = (name.to_owned(), 8 * number - before);
        Operation { name, argument, result, invoked, returned }
    };
    (0..OPERATIONS).map(operation).collect()
}

/// Performs an operation: its result. The state is keys and values, elements, or one number.
fn perform(
    model: Model,
    state: &mut Vec<(i64, i64)>,
    name: &str,
    (one, other): (i64, i64),
) -> Value {
    let get = |state: &[(i64, i64)], key| state.iter().find(|it| it.0 == key).map(|it| it.1);
    let set = |state: &mut Vec<(i64, i64)>, key, value| {
        state.retain(|it| it.0 != key);
        state.push((key, value));
    };
    let optional = |value: Option<i64>| value.map_or(Value::Null, Value::Int);
    match (model, name) {
        (Model::Counter, name) => {
            let added = match name {
                "add" => one,
                "increment" => 1,
                "decrement" => -1,
                _ => 0,
            };
            let sum = get(state, 0).unwrap_or(0) + added;
            set(state, 0, sum);
            Value::Int(sum)
        }
        (_, "read") => optional(get(state, 0)),
        (_, "get") => optional(get(state, one)),
        (_, "write") => {
            set(state, 0, one);
            Value::Null
        }
        (_, "put") => {
            set(state, one, other);
            Value::Null
        }
        (_, "cas") => {
            let swaps = get(state, 0) == Some(one);
            if swaps {
                set(state, 0, other);
            }
            Value::Bool(swaps)
        }
        (_, "enqueue") => {
            state.push((0, one));
            Value::Null
        }
        (_, "dequeue") => {
            let first = (!state.is_empty()).then(|| state.remove(0).1);
            optional(first)
        }
        (_, name) => perform_on_set(state, name, one),
    }
}

/// The same for a set: the result says whether it has changed, or contains the element.
fn perform_on_set(state: &mut Vec<(i64, i64)>, name: &str, element: i64) -> Value {
    let had = state.iter().any(|it| it.0 == element);
    state.retain(|it| it.0 != element || name == "contains");
    if name == "add" {
        state.push((element, element));
    }
    Value::Bool(had == (name != "add"))
}
