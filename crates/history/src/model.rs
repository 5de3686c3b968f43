//! The sequential objects that histories are compared with.
//!
//! All of them are total: in each state each operation has a result. So a pending operation, whose
//! result is unknown, can come after all others, and need not be placed at all.

use std::hash::Hash;

use tidemill_stdx::hash::{Map, Set};

use crate::operation::{Operation, Value};

/// A sequential object. A null result matches any, unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// One value, null at first: `read` gives it (null too), `write` V, `cas` [OLD, NEW] gives
    /// whether the value was OLD.
    Register,
    /// A register for each key: `get` K, `put` [K, V], `cas` [K, OLD, NEW], `delete` K.
    Kv,
    /// First in, first out: `enqueue` V, `dequeue` gives a value, or null if there is none.
    Queue,
    /// `add` V and `remove` V give whether they changed it, `contains` V, `read` gives all as a
    /// list in any order.
    Set,
    /// 0 at first: `add` N, `increment` and `decrement` give the new value, `read`.
    Counter,
}

impl Model {
    /// All of them.
    pub const ALL: [Model; 5] =
        [Model::Register, Model::Kv, Model::Queue, Model::Set, Model::Counter];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Model::Register => "register",
            Model::Kv => "kv",
            Model::Queue => "queue",
            Model::Set => "set",
            Model::Counter => "counter",
        }
    }

    /// The operations that it has.
    pub(crate) fn operations(self) -> &'static str {
        match self {
            Model::Register => "read, write V, cas [OLD, NEW]",
            Model::Kv => "get K, put [K, V], cas [K, OLD, NEW], delete K",
            Model::Queue => "enqueue V, dequeue",
            Model::Set => "add V, remove V, contains V, read",
            Model::Counter => "add N, increment, decrement, read",
        }
    }
}

/// An operation with its result, as the search performs it.
pub(crate) trait Action {
    /// The state of the object.
    type State: Clone + Eq + Hash + Default;

    /// Repeating its changes leads to few states.
    const HAS_FEW_STATES: bool;

    /// The state after it, unless its result would have been another.
    fn step(&self, state: &Self::State) -> Option<Self::State>;

    /// Of the states that it may lead to, the one with this number, from 0. There are several if
    /// the object has a choice.
    fn nth_step(&self, state: &Self::State, number: u32) -> Option<Self::State> {
        if number == 0 { self.step(state) } else { None }
    }

    /// It changes no state.
    fn only_reads(&self) -> bool;

    /// The same operation, with an unknown result.
    fn pending(&self) -> Self;

    /// Merges values that no result distinguishes.
    fn merge(actions: &mut [&mut Self]) {
        let _ = actions;
    }
}

/// Numbers in place of values. 0 is null.
#[derive(Default)]
pub(crate) struct Values(Map<Value, u32>);

impl Values {
    pub(crate) fn number(&mut self, value: &Value) -> u32 {
        if *value == Value::Null {
            return 0;
        }
        let next = self.0.len() as u32 + 1;
        *self.0.entry(value.clone()).or_insert(next)
    }
}

/// Of a register. A result that is `None` is not known.
#[derive(Clone, Debug)]
pub(crate) enum RegisterAction {
    Read { result: Option<u32> },
    Write { value: u32 },
    Cas { old: u32, new: u32, result: Option<bool> },
}

impl Action for RegisterAction {
    type State = u32;
    const HAS_FEW_STATES: bool = true;

    fn step(&self, state: &u32) -> Option<u32> {
        match *self {
            RegisterAction::Read { result } => agrees(result, *state).then_some(*state),
            RegisterAction::Write { value } => Some(value),
            RegisterAction::Cas { old, new, result } => {
                let swaps = *state == old;
                agrees(result, swaps).then_some(if swaps { new } else { *state })
            }
        }
    }

    fn only_reads(&self) -> bool {
        matches!(
            self,
            RegisterAction::Read { .. } | RegisterAction::Cas { result: Some(false), .. }
        )
    }

    fn pending(&self) -> RegisterAction {
        match *self {
            RegisterAction::Read { .. } => RegisterAction::Read { result: None },
            RegisterAction::Write { value } => RegisterAction::Write { value },
            RegisterAction::Cas { old, new, .. } => RegisterAction::Cas { old, new, result: None },
        }
    }

    fn merge(actions: &mut [&mut RegisterAction]) {
        let asked_for = |action: &&mut RegisterAction| match **action {
            RegisterAction::Read { result } => result,
            RegisterAction::Write { .. } => None,
            RegisterAction::Cas { old, .. } => Some(old),
        };
        let known: Set<u32> = actions.iter().filter_map(asked_for).collect();
        for action in actions {
            if let RegisterAction::Write { value } | RegisterAction::Cas { new: value, .. } = action
                && !known.contains(value)
            {
                *value = u32::MAX;
            }
        }
    }
}

/// Of a queue. Dequeuing the value 0 means that it was empty.
#[derive(Clone, Debug)]
pub(crate) enum QueueAction {
    Enqueue { value: u32 },
    Dequeue { result: Option<u32> },
}

impl Action for QueueAction {
    type State = Vec<u32>;
    const HAS_FEW_STATES: bool = false;

    fn step(&self, state: &Vec<u32>) -> Option<Vec<u32>> {
        match *self {
            QueueAction::Enqueue { value } => Some(state.iter().copied().chain([value]).collect()),
            QueueAction::Dequeue { result } => {
                let first = state.first().copied().unwrap_or(0);
                agrees(result, first).then(|| state.iter().copied().skip(1).collect())
            }
        }
    }

    fn only_reads(&self) -> bool {
        matches!(self, QueueAction::Dequeue { result: Some(0) })
    }

    fn pending(&self) -> QueueAction {
        match *self {
            QueueAction::Enqueue { value } => QueueAction::Enqueue { value },
            QueueAction::Dequeue { .. } => QueueAction::Dequeue { result: None },
        }
    }
}

/// Of a set, whose state is its elements in order.
#[derive(Clone, Debug)]
pub(crate) enum SetAction {
    Add { value: u32, result: Option<bool> },
    Remove { value: u32, result: Option<bool> },
    Contains { value: u32, result: Option<bool> },
    Read { result: Option<Vec<u32>> },
}

impl Action for SetAction {
    type State = Vec<u32>;
    const HAS_FEW_STATES: bool = true;

    fn step(&self, state: &Vec<u32>) -> Option<Vec<u32>> {
        match self {
            SetAction::Add { value, result } => {
                let place = state.binary_search(value);
                agrees(*result, place.is_err()).then(|| {
                    let mut state = state.clone();
                    if let Err(at) = place {
                        state.insert(at, *value);
                    }
                    state
                })
            }
            SetAction::Remove { value, result } => {
                let place = state.binary_search(value);
                agrees(*result, place.is_ok()).then(|| {
                    let mut state = state.clone();
                    if let Ok(at) = place {
                        state.remove(at);
                    }
                    state
                })
            }
            SetAction::Contains { value, result } => {
                agrees(*result, state.binary_search(value).is_ok()).then(|| state.clone())
            }
            SetAction::Read { result } => {
                result.as_ref().is_none_or(|result| result == state).then(|| state.clone())
            }
        }
    }

    fn only_reads(&self) -> bool {
        match self {
            SetAction::Add { result, .. } | SetAction::Remove { result, .. } => {
                *result == Some(false)
            }
            SetAction::Contains { .. } | SetAction::Read { .. } => true,
        }
    }

    fn pending(&self) -> SetAction {
        match *self {
            SetAction::Add { value, .. } => SetAction::Add { value, result: None },
            SetAction::Remove { value, .. } => SetAction::Remove { value, result: None },
            SetAction::Contains { value, .. } => SetAction::Contains { value, result: None },
            SetAction::Read { .. } => SetAction::Read { result: None },
        }
    }
}

/// Of a counter, which wraps.
#[derive(Clone, Debug)]
pub(crate) struct CounterAction {
    pub(crate) added: i64,
    pub(crate) result: Option<i64>,
}

impl Action for CounterAction {
    type State = i64;
    const HAS_FEW_STATES: bool = false;

    fn step(&self, state: &i64) -> Option<i64> {
        let sum = state.wrapping_add(self.added);
        agrees(self.result, sum).then_some(sum)
    }

    fn only_reads(&self) -> bool {
        self.added == 0
    }

    fn pending(&self) -> CounterAction {
        CounterAction { added: self.added, result: None }
    }
}

/// Whether a result may have been this.
fn agrees<T: PartialEq>(result: Option<T>, actual: T) -> bool {
    result.is_none_or(|result| result == actual)
}

/// The operation of a register; `values` are those of its argument without the key.
pub(crate) fn register(
    name: &str,
    (arguments, result): (&[&Value], &Value),
    values: &mut Values,
) -> Option<RegisterAction> {
    Some(match (name, arguments) {
        ("read", []) => RegisterAction::Read { result: Some(values.number(result)) },
        ("write", [value]) => RegisterAction::Write { value: values.number(value) },
        ("cas", [old, new]) => RegisterAction::Cas {
            old: values.number(old),
            new: values.number(new),
            result: truth(result)?,
        },
        _ => return None,
    })
}

/// The operation of a queue.
pub(crate) fn queue(operation: &Operation, values: &mut Values) -> Option<QueueAction> {
    let Operation { name, argument, result, .. } = operation;
    Some(match (name.as_str(), argument) {
        ("enqueue", Value::Null) => return None,
        ("enqueue", value) => QueueAction::Enqueue { value: values.number(value) },
        ("dequeue", Value::Null) => QueueAction::Dequeue { result: Some(values.number(result)) },
        _ => return None,
    })
}

/// The operation of a set.
pub(crate) fn set(operation: &Operation, values: &mut Values) -> Option<SetAction> {
    let Operation { name, argument, result, .. } = operation;
    Some(match (name.as_str(), argument, result) {
        ("read", Value::Null, Value::List(all)) => {
            let mut all: Vec<u32> = all.iter().map(|value| values.number(value)).collect();
            all.sort_unstable();
            SetAction::Read { result: Some(all) }
        }
        ("read", Value::Null, Value::Null) => SetAction::Read { result: None },
        (_, Value::Null, _) => return None,
        (name, value, result) => {
            let (value, result) = (values.number(value), truth(result)?);
            match name {
                "add" => SetAction::Add { value, result },
                "remove" => SetAction::Remove { value, result },
                "contains" => SetAction::Contains { value, result },
                _ => return None,
            }
        }
    })
}

/// The operation of a counter.
pub(crate) fn counter(operation: &Operation) -> Option<CounterAction> {
    let Operation { name, argument, result, .. } = operation;
    let result = match result {
        Value::Null => None,
        Value::Int(result) => Some(*result),
        _ => return None,
    };
    let added = match (name.as_str(), argument) {
        ("add", Value::Int(added)) => *added,
        ("increment", Value::Null) => 1,
        ("decrement", Value::Null) => -1,
        ("read", Value::Null) => 0,
        _ => return None,
    };
    Some(CounterAction { added, result })
}

/// A truth value; `Some(None)`: it is not known.
fn truth(value: &Value) -> Option<Option<bool>> {
    match value {
        Value::Null => Some(None),
        Value::Bool(value) => Some(Some(*value)),
        _ => None,
    }
}
