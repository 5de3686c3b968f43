//! Histories: operations of clients and their results, as recorded by rules, checked against a
//! sequential object at the end of a simulation.
//!
//! Rules derive `history(@N, Client, Operation, Argument, Result, Invoked, Returned)`. The
//! simulator records each tuple that ever appears, in a table or as an event, so a crash of the
//! node loses none. A tuple whose Returned is null records the invocation; one with equal columns
//! before Result and the same Invoked records the response, and the first such counts.

mod model;
mod plain;
mod rules;

use std::fmt;

use tidemill_history::{Malformed, Operation, Value as Plain, Verdict, check, check_object};
use tidemill_overlog::program::Compiled;
use tidemill_relation::{OwnedValue, Value};
use tidemill_stdx::hash::Map;

pub use model::{Model, ModelName, NoModel};
pub use rules::RuleModel;
pub use tidemill_history::Model as KnownModel;

use plain::plain;
use rules::Asked;

/// The relation.
pub const RELATION: &str = "history";

/// Its columns.
const COLUMNS: usize = 7;

/// The beginnings of failures, before the key.
const NO_ORDER: &str = "no order of these operations";
const TOO_MANY: &str = "too many orders of the operations";

/// The kind of a failure, by the line that names it: what failures of different runs share. `None`
/// if the line is not about a history.
pub(crate) fn kind_of_failure(line: &str) -> Option<String> {
    let (model, failure) = line.strip_prefix("tidemill: ")?.split_once(" history: ")?;
    let kind = if failure.starts_with(NO_ORDER) {
        "no order has the results"
    } else if failure.starts_with(TOO_MANY) {
        "too many orders to try them"
    } else {
        "an operation that cannot be checked"
    };
    Some(format!("{model} history: {kind}"))
}

/// Whether rules declare the relation, with its columns.
pub fn is_recorded(rules: &Compiled) -> bool {
    let plan = &rules.plan;
    plan.find(RELATION).is_some_and(|id| plan.relation(id).arity() == COLUMNS)
}

/// An invocation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Called {
    invoked: i64,
    node: String,
    client: String,
    name: String,
    argument: Plain,
}

/// Its response.
#[derive(Clone, Debug)]
struct Ended {
    /// The argument of the invocation, as it was given.
    argument: OwnedValue,
    result: Plain,
    returned: Option<i64>,
}

/// The history recorded in a run.
#[derive(Clone, Default, Debug)]
pub(crate) struct History {
    operations: Map<Called, Ended>,
    /// The type of its times, by the first one seen.
    times: Option<Times>,
    /// The first tuple that is not an operation, and why.
    wrong: Option<String>,
}

/// The type of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Times {
    /// Times or intervals, nanoseconds.
    Clock,
    /// Integers.
    Counted,
}

impl History {
    /// Records a tuple.
    pub(crate) fn record(&mut self, columns: &[Value<'_>]) {
        if let Err(reason) = self.take(columns) {
            let texts: Vec<String> = columns.iter().map(Value::to_string).collect();
            let note = || format!("history({}): {reason}", texts.join(", "));
            self.wrong.get_or_insert_with(note);
        }
    }

    fn take(&mut self, columns: &[Value<'_>]) -> Result<(), &'static str> {
        let [node, client, name, argument, result, invoked, returned] = columns else {
            return Err("an operation has 7 columns");
        };
        let called = Called {
            invoked: self.time(*invoked)?,
            node: node.as_str().unwrap_or_default().to_owned(),
            client: client.to_string(),
            name: name.as_str().ok_or("the name of an operation is a string")?.to_owned(),
            argument: plain(*argument),
        };
        let returned = match returned {
            Value::Null => None,
            returned => Some(self.time(*returned)?),
        };
        let ended = self.operations.entry(called);
        let ended = ended.or_insert_with(|| Ended {
            argument: OwnedValue::new(*argument),
            result: Plain::Null,
            returned: None,
        });
        if ended.returned.is_none() && returned.is_some() {
            (ended.result, ended.returned) = (plain(*result), returned);
        }
        Ok(())
    }

    fn time(&mut self, value: Value<'_>) -> Result<i64, &'static str> {
        let (times, at) = match value {
            Value::Time(ns) | Value::Interval(ns) => (Times::Clock, ns),
            Value::Int(at) => (Times::Counted, at),
            _ => return Err("Invoked and Returned are times, intervals or integers"),
        };
        if *self.times.get_or_insert(times) == times {
            Ok(at)
        } else {
            Err("Invoked and Returned are of one type in all of a history")
        }
    }

    /// Adds the history of other nodes.
    pub(crate) fn add(&mut self, other: History) {
        self.operations.extend(other.operations);
        self.wrong = self.wrong.take().or(other.wrong);
        if self.times.is_some() && other.times.is_some() && self.times != other.times {
            let reason = "Invoked and Returned are of one type in all of a history";
            self.wrong.get_or_insert_with(|| reason.to_owned());
        }
        self.times = self.times.or(other.times);
    }

    /// Checks it against a model.
    pub(crate) fn check(self, model: &Model) -> Checked {
        let (name, count) = (model.name(), self.operations.len() as u64);
        let returned =
            self.operations.values().filter(|ended| ended.returned.is_some()).count() as u64;
        let checked =
            |failure| Checked { model: name.to_owned(), operations: count, returned, failure };
        if let Some(wrong) = self.wrong {
            return checked(Some(wrong));
        }
        let mut all: Vec<(Called, Ended)> = self.operations.into_iter().collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let operation = |(called, ended): &(Called, Ended)| Operation {
            name: called.name.clone(),
            argument: called.argument.clone(),
            result: ended.result.clone(),
            invoked: called.invoked,
            returned: ended.returned,
        };
        let operations: Vec<Operation> = all.iter().map(operation).collect();
        let times = self.times.unwrap_or(Times::Counted);
        let line = |at: usize| OperationLine { called: &all[at].0, ended: &all[at].1, times };
        let of_key = |key: &Option<Plain>| {
            key.as_ref().map(|key| format!(" of key {key}")).unwrap_or_default()
        };
        let arguments = all.iter().map(|(_, ended)| &ended.argument);
        checked(match verdict(model, &operations, arguments) {
            Err(Wrong::Model(reason)) => Some(reason),
            Ok(Verdict::Linearizable) => None,
            Ok(Verdict::Undecided(key)) => {
                let of_key = of_key(&key);
                Some(format!("{TOO_MANY}{of_key} are possible to try them"))
            }
            Err(Wrong::Operation(wrong)) => {
                Some(format!("{}: {}", line(wrong.operation), wrong.reason))
            }
            Ok(Verdict::Fails(failure)) => {
                let (of_key, others) = (of_key(&failure.key), failure.others);
                let mut text = format!("{NO_ORDER}{of_key} has their results");
                if others > 0 {
                    text += &format!(", wherever the {others} others are placed");
                }
                for at in failure.operations {
                    text += &format!("\n  {}", line(at));
                }
                Some(text)
            }
        })
    }
}

/// Why a history cannot be checked.
enum Wrong {
    /// An operation.
    Operation(Malformed),
    /// A rule of the model has failed.
    Model(String),
}

/// Whether a history, whose arguments as the program has them follow, is linearizable.
fn verdict<'h>(
    model: &Model,
    history: &'h [Operation],
    arguments: impl Iterator<Item = &'h OwnedValue>,
) -> Result<Verdict, Wrong> {
    match model {
        Model::Known(known) => check(*known, history).map_err(Wrong::Operation),
        Model::Rules(rules) => {
            let asked = Asked::new(rules, history.iter().zip(arguments));
            let verdict = check_object(&asked, history).map_err(Wrong::Operation);
            asked.failure().map_or(verdict, |reason| Err(Wrong::Model(reason)))
        }
    }
}

/// The result of checking a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// The name of the model.
    pub model: String,
    /// The number of operations.
    pub operations: u64,
    /// The number of those that have returned.
    pub returned: u64,
    /// Why it is not linearizable, or cannot be checked; several lines.
    pub failure: Option<String>,
}

/// An operation as a line.
struct OperationLine<'h> {
    called: &'h Called,
    ended: &'h Ended,
    times: Times,
}

impl fmt::Display for OperationLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OperationLine {
            called: Called { invoked, node, client, name, argument },
            ended,
            times,
        } = self;
        let time = |f: &mut fmt::Formatter<'_>, at: i64| match times {
            Times::Counted => at.fmt(f),
            Times::Clock => Value::Interval(at).fmt(f),
        };
        time(f, *invoked)?;
        f.write_str("..")?;
        ended.returned.map_or(Ok(()), |returned| time(f, returned))?;
        write!(f, " {node} {client}: {name}")?;
        if *argument != Plain::Null {
            write!(f, " {argument}")?;
        }
        match ended.returned {
            Some(_) => write!(f, " -> {}", ended.result),
            None => f.write_str(" has not returned"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'v>(client: &'v str, name: &'v str, rest: [Value<'v>; 4]) -> [Value<'v>; COLUMNS] {
        let [argument, result, invoked, returned] = rest;
        [
            Value::Str("n0:1"),
            Value::Str(client),
            Value::Str(name),
            argument,
            result,
            invoked,
            returned,
        ]
    }

    #[test]
    fn the_first_return_of_an_operation_counts() {
        let mut history = History::default();
        let (null, at) = (Value::Null, Value::Interval);
        history.record(&row("a", "write", [Value::Int(1), null, at(0), null]));
        history.record(&row("a", "write", [Value::Int(1), null, at(0), at(10)]));
        history.record(&row("a", "write", [Value::Int(1), null, at(0), at(90)]));
        history.record(&row("b", "read", [null, null, at(20), at(30)]));
        let checked = history.check(&Model::Known(KnownModel::Register));
        assert_eq!((checked.operations, checked.returned), (2, 2));
        assert_eq!(
            checked.failure.as_deref(),
            Some(
                "no order of these operations has their results\n  \
                 0.000000000s..0.000000010s n0:1 \"a\": write 1 -> null\n  \
                 0.000000020s..0.000000030s n0:1 \"b\": read -> null"
            )
        );
    }

    #[test]
    fn what_is_no_operation_fails() {
        let checked = |row: &[Value<'_>]| {
            let mut history = History::default();
            history.record(row);
            history.check(&Model::Known(KnownModel::Queue)).failure.expect("it is no operation")
        };
        let (null, one) = (Value::Null, Value::Int(1));
        let times = checked(&row("a", "dequeue", [null, null, null, one]));
        assert!(times.ends_with("are times, intervals or integers"), "{times}");
        let name = checked(&row("a", "pop", [null, null, one, one]));
        assert!(name.starts_with("1..1 n0:1 \"a\": pop -> null: queue has no pop"), "{name}");
    }
}
