//! Aggregates: what rule heads compute over the rows of a group.
//!
//! Each is declared once ([`Aggregate::declaration`]). An [`Accumulator`] takes the values of a
//! group one by one and then gives the result. MKLIST keeps their order; the other results do not
//! depend on it as long as values that are equal are also the same (1 and 1.0 are not: there the
//! first one stays). A [`Running`] aggregate also removes values.

mod declared;
mod exact;
mod functions;
mod running;
#[cfg(test)]
mod tests;

use hashbrown::HashTable;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;

pub use declared::{Declaration, Empty, catalogue};
pub use functions::Aggregate;
pub use running::{Irregular, Running};

use crate::eval::{EvalError, Scope};
use crate::flat::OwnedValue;
use crate::function::distinct_sorted;
use crate::id::Id;
use crate::limits::{self, ListBuilder};
use crate::value::{Type, Value};
use exact::ExactSum;

/// Takes the values of one group and gives the aggregate over them.
#[derive(Clone, Debug)]
pub struct Accumulator {
    aggregate: Aggregate,
    count: u64,
    state: Summary,
}

/// Large and rare states are boxed: strands make and move one of these for each column of a result.
#[derive(Clone, Debug)]
enum Summary {
    Count,
    Extreme(Option<OwnedValue>),
    Sum(Sum),
    Distinct(Box<Distinct>),
    Values(Vec<OwnedValue>),
    Top { k: i64, values: Vec<OwnedValue> },
}

impl Accumulator {
    /// Of an empty group; different values are hashed with `secret`.
    pub fn new(aggregate: Aggregate, secret: Secret) -> Accumulator {
        let state = match aggregate {
            Aggregate::Count => Summary::Count,
            Aggregate::CountDistinct | Aggregate::MkSet => {
                Summary::Distinct(Box::new(Distinct::new(secret)))
            }
            Aggregate::Min | Aggregate::Max | Aggregate::ArgMax => Summary::Extreme(None),
            Aggregate::Sum | Aggregate::Avg => Summary::Sum(Sum::Nothing),
            Aggregate::MkList => Summary::Values(Vec::new()),
            Aggregate::TopK => Summary::Top { k: 0, values: Vec::new() },
        };
        Accumulator { aggregate, count: 0, state }
    }

    /// The aggregate that it computes.
    pub fn aggregate(&self) -> Aggregate {
        self.aggregate
    }

    /// Adds the value of one row, unless that is an error; `COUNT<*>` takes any value.
    pub fn add(&mut self, value: Value<'_>) -> Result<(), EvalError> {
        let what = self.aggregate.name();
        match &mut self.state {
            Summary::Count => {}
            Summary::Extreme(extreme) => match extreme {
                Some(held) if self.aggregate.is_better(value, held.get()) => held.set(value),
                Some(_) => {}
                None => *extreme = Some(OwnedValue::new(value)),
            },
            Summary::Sum(sum) => sum.add(what, value)?,
            Summary::Distinct(distinct) => distinct.add(value),
            Summary::Values(values) => values.push(OwnedValue::new(value)),
            Summary::Top { k, values } => {
                let (wanted, value) = top_argument(value)?;
                *k = wanted.max(*k);
                values.push(OwnedValue::new(value));
            }
        }
        self.count += 1;
        Ok(())
    }

    /// The aggregate over what was added; a text or list in it lies in the scratch region.
    pub fn finish<'a>(&self, scope: Scope<'a>) -> Result<Value<'a>, EvalError> {
        let scratch = scope.scratch;
        let what = self.aggregate.name();
        match &self.state {
            Summary::Count => Ok(Value::Int(self.count as i64)),
            Summary::Extreme(extreme) => Ok((extreme.as_ref())
                .map_or(Value::Null, |value| limits::copy_into(value.get(), scratch))),
            Summary::Sum(sum) if self.aggregate == Aggregate::Sum => sum.total(),
            Summary::Sum(sum) => sum.mean(self.count),
            Summary::Distinct(distinct) if self.aggregate == Aggregate::CountDistinct => {
                Ok(Value::Int(distinct.values.len() as i64))
            }
            Summary::Distinct(distinct) => {
                let values = distinct.values.iter().map(OwnedValue::get).collect();
                list(what, distinct_sorted(values), scratch)
            }
            Summary::Values(values) => list(what, values.iter().map(OwnedValue::get), scratch),
            Summary::Top { k, values } => {
                let mut values: Vec<_> = values.iter().map(OwnedValue::get).collect();
                values.sort_by(|a, b| b.total_order(a));
                let k = usize::try_from(*k).unwrap_or(usize::MAX);
                list(what, values.into_iter().take(k), scratch)
            }
        }
    }
}

fn list<'v, 'a>(
    what: &'static str,
    values: impl IntoIterator<Item = Value<'v>>,
    scratch: &'a Bump,
) -> Result<Value<'a>, EvalError> {
    let mut list = ListBuilder::new(what);
    for value in values {
        list.push(value)?;
    }
    Ok(Value::List(list.finish(scratch)))
}

/// The two elements of an argument of TOPK.
fn top_argument(value: Value<'_>) -> Result<(i64, Value<'_>), EvalError> {
    let pair: Vec<_> = value.as_seq().into_iter().flatten().take(3).collect();
    match pair[..] {
        [Value::Int(k @ 0..), value] => Ok((k, value)),
        _ => {
            let reason = "takes lists [K, V] with an integer K >= 0".to_owned();
            Err(EvalError::Argument { what: Aggregate::TopK.name(), reason })
        }
    }
}

/// The different values of a group by equality of the language.
#[derive(Clone, Debug)]
struct Distinct {
    values: Vec<OwnedValue>,
    /// Positions in `values`, by hash.
    positions: HashTable<usize>,
    secret: Secret,
}

impl Distinct {
    fn new(secret: Secret) -> Distinct {
        Distinct { values: Vec::new(), positions: HashTable::new(), secret }
    }

    fn add(&mut self, value: Value<'_>) {
        let Distinct { values, positions, secret } = self;
        let hash = value.hash(secret);
        let known = positions.find(hash, |&at| values[at].get().equal(&value));
        if known.is_none() {
            positions.insert_unique(hash, values.len(), |&at| values[at].get().hash(secret));
            values.push(OwnedValue::new(value));
        }
    }
}

/// A running sum; of integers without overflow, of doubles without rounding.
#[derive(Clone, Debug)]
enum Sum {
    Nothing,
    Ints(i128),
    Doubles(Box<ExactSum>),
    Ids(Id),
    Intervals(i128),
}

impl Sum {
    fn add(&mut self, what: &'static str, value: Value<'_>) -> Result<(), EvalError> {
        if let Sum::Nothing = self {
            *self = match value {
                Value::Int(_) | Value::Bool(_) => Sum::Ints(0),
                Value::Double(_) => Sum::Doubles(Box::default()),
                Value::Id(_) => Sum::Ids(Id::ZERO),
                Value::Interval(_) => Sum::Intervals(0),
                _ => return Err(cannot_add(what, value.type_of())),
            };
        }
        match (&mut *self, value) {
            (Sum::Ints(sum), Value::Int(_) | Value::Bool(_)) => {
                *sum += i128::from(value.as_int().unwrap_or(0));
            }
            // Beside a double integers count as doubles, beside an ID as IDs.
            (Sum::Ints(sum), Value::Double(double)) => {
                let mut doubles: Box<ExactSum> = Box::default();
                doubles.add_int(*sum);
                doubles.add(double);
                *self = Sum::Doubles(doubles);
            }
            (Sum::Ints(sum), Value::Id(id)) => {
                *self = Sum::Ids(id.wrapping_add(wide_int(*sum)));
            }
            (Sum::Doubles(sum), Value::Double(double)) => sum.add(double),
            (Sum::Doubles(sum), Value::Int(_) | Value::Bool(_)) => {
                sum.add_int(value.as_int().unwrap_or(0).into());
            }
            (Sum::Ids(sum), Value::Id(_) | Value::Int(_) | Value::Bool(_)) => {
                *sum = sum.wrapping_add(value.as_id().unwrap_or_default());
            }
            (Sum::Intervals(sum), Value::Interval(ns)) => *sum += i128::from(ns),
            _ => return Err(cannot_add(what, value.type_of())),
        }
        Ok(())
    }

    fn total<'a>(&self) -> Result<Value<'a>, EvalError> {
        let narrow = |sum: i128| i64::try_from(sum).map_err(|_| EvalError::Overflow);
        Ok(match self {
            Sum::Nothing => Value::Int(0),
            Sum::Ints(sum) => Value::Int(narrow(*sum)?),
            Sum::Doubles(sum) => Value::Double(sum.total()),
            Sum::Ids(sum) => Value::Id(*sum),
            Sum::Intervals(sum) => Value::Interval(narrow(*sum)?),
        })
    }

    fn mean<'a>(&self, count: u64) -> Result<Value<'a>, EvalError> {
        Ok(match self {
            Sum::Nothing => Value::Null,
            Sum::Ints(sum) => Value::Double(*sum as f64 / count as f64),
            Sum::Doubles(sum) => Value::Double(sum.total() / count as f64),
            Sum::Ids(_) => return Err(cannot_add("AVG", Type::Id)),
            // The mean of 64-bit numbers has 64 bits.
            Sum::Intervals(sum) => Value::Interval((sum / i128::from(count)) as i64),
        })
    }
}

fn cannot_add(what: &'static str, given: Type) -> EvalError {
    EvalError::Type { what, given: given.name().to_owned() }
}

/// A sum of integers as an ID, modulo 2^160.
fn wide_int(sum: i128) -> Id {
    let mut bytes = [if sum < 0 { 0xff } else { 0 }; Id::BYTES];
    bytes[4..].copy_from_slice(&sum.to_be_bytes());
    Id::from_be_bytes(bytes)
}
