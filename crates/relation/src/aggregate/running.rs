//! Aggregates that are kept up to date while values are added and removed.
//!
//! [`Running`] holds the state of one group: counts and sums, or the values in order with their
//! multiplicity. Adding or removing a value costs at most the logarithm of the group, a result no
//! more than its own size.
//!
//! The results are those of [`Accumulator`](super::Accumulator) over the same values in any
//! order. Where the order would matter (values that are equal and not the same, values that
//! cannot be summed together, infinities) the group is [`Irregular`]: its owner aggregates it
//! anew instead.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::exact::ExactSum;
use super::{Aggregate, cannot_add, list, top_argument, wide_int};
use crate::eval::{EvalError, Scope};
use crate::flat::{OwnedValue, SeqBuilder};
use crate::id::Id;
use crate::limits;
use crate::value::{Type, Value};

/// The group cannot be maintained incrementally; its state is void.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Irregular;

/// The aggregates of one group.
#[derive(Clone, Debug)]
pub struct Running {
    results: u64,
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
struct Column {
    aggregate: Aggregate,
    state: ColumnState,
}

#[derive(Clone, Debug)]
enum ColumnState {
    Count,
    Sum(Box<Sum>),
    Values(Multiset),
    Top { sizes: Multiset, values: Multiset },
}

impl Running {
    /// An empty group with these aggregates; `None` if one of them cannot be kept: MKLIST, whose
    /// value is as long as the group and has the order of its rows.
    pub fn new(aggregates: impl Iterator<Item = Aggregate>) -> Option<Running> {
        let column = |aggregate| {
            let state = match aggregate {
                Aggregate::Count => ColumnState::Count,
                Aggregate::Sum | Aggregate::Avg => ColumnState::Sum(Box::default()),
                Aggregate::TopK => {
                    ColumnState::Top { sizes: Multiset::default(), values: Multiset::default() }
                }
                Aggregate::MkList => return None,
                _ => ColumnState::Values(Multiset::default()),
            };
            Some(Column { aggregate, state })
        };
        Some(Running { results: 0, columns: aggregates.map(column).collect::<Option<_>>()? })
    }

    /// Number of results in the group.
    pub fn results(&self) -> u64 {
        self.results
    }

    /// Adds a result: one value for each aggregate.
    ///
    /// # Errors
    /// See [`Irregular`].
    pub fn add(&mut self, values: &[Value<'_>]) -> Result<(), Irregular> {
        self.results += 1;
        let mut columns = self.columns.iter_mut().zip(values);
        columns.try_for_each(|(column, value)| column.change(*value, Change::Add))
    }

    /// Removes a result that is in the group.
    ///
    /// # Errors
    /// See [`Irregular`].
    pub fn remove(&mut self, values: &[Value<'_>]) -> Result<(), Irregular> {
        self.results = self.results.checked_sub(1).ok_or(Irregular)?;
        let mut columns = self.columns.iter_mut().zip(values);
        columns.try_for_each(|(column, value)| column.change(*value, Change::Remove))
    }

    /// The values of the aggregates, in order; long ones lie in the scratch region.
    pub fn values<'a>(
        &self,
        scope: Scope<'a>,
    ) -> impl Iterator<Item = Result<Value<'a>, EvalError>> {
        self.columns.iter().map(move |column| column.value(self.results, scope))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Add,
    Remove,
}

impl Column {
    fn change(&mut self, value: Value<'_>, change: Change) -> Result<(), Irregular> {
        match &mut self.state {
            ColumnState::Count => Ok(()),
            ColumnState::Sum(sum) => sum.change(value, change),
            ColumnState::Values(values) => values.change(value, change),
            ColumnState::Top { sizes, values } => {
                let (size, value) = top_argument(value).map_err(|_| Irregular)?;
                sizes.change(Value::Int(size), change)?;
                values.change(value, change)
            }
        }
    }

    fn value<'a>(&self, results: u64, scope: Scope<'a>) -> Result<Value<'a>, EvalError> {
        let name = self.aggregate.name();
        let copy = |value: Option<&OwnedValue>| {
            value.map_or(Value::Null, |value| limits::copy_into(value.get(), scope.scratch))
        };
        match &self.state {
            ColumnState::Count => Ok(Value::Int(results as i64)),
            ColumnState::Sum(sum) if self.aggregate == Aggregate::Sum => sum.total(),
            ColumnState::Sum(sum) => sum.mean(results),
            ColumnState::Values(values) => match self.aggregate {
                Aggregate::Min => Ok(copy(values.first())),
                Aggregate::Max => Ok(copy(values.last())),
                Aggregate::ArgMax => Ok(copy(values.least_with_greatest_head())),
                Aggregate::CountDistinct => Ok(Value::Int(values.distinct() as i64)),
                _ => list(name, values.ascending(), scope.scratch),
            },
            ColumnState::Top { sizes, values } => {
                let wanted = sizes.last().and_then(|size| size.get().as_int()).unwrap_or(0);
                let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
                list(name, values.descending().take(wanted), scope.scratch)
            }
        }
    }
}

/// Values in order, each with its multiplicity.
#[derive(Clone, Debug, Default)]
struct Multiset {
    counts: BTreeMap<Ordered, u64>,
    /// Values of these types. IDs beside integers and booleans, and intervals beside numbers,
    /// compare as numbers, which is another order than the total one.
    ids: u64,
    whole: u64,
    doubles: u64,
    intervals: u64,
}

/// A value in the total order.
#[derive(Clone, Debug)]
struct Ordered(OwnedValue);

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> Ordering {
        self.0.get().total_order(&other.0.get())
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ordered {}

impl Multiset {
    fn change(&mut self, value: Value<'_>, change: Change) -> Result<(), Irregular> {
        let kind = match value.type_of() {
            Type::Id => Some(&mut self.ids),
            Type::Int | Type::Bool => Some(&mut self.whole),
            Type::Double => Some(&mut self.doubles),
            Type::Interval => Some(&mut self.intervals),
            _ => None,
        };
        let step = |count: &mut u64| match change {
            Change::Add => count.checked_add(1),
            Change::Remove => count.checked_sub(1),
        };
        if let Some(count) = kind {
            *count = step(count).ok_or(Irregular)?;
        }
        let [ids, whole, doubles, intervals] =
            [self.ids, self.whole, self.doubles, self.intervals].map(|count| count > 0);
        if (ids && whole) || (intervals && (whole || doubles)) {
            return Err(Irregular);
        }
        let value = Ordered(OwnedValue::new(value));
        let Some((known, count)) = self.entry(&value) else {
            self.counts.insert(value, step(&mut 0).ok_or(Irregular)?);
            return Ok(());
        };
        // 1 and 1.0 are equal and not the same: the first of them would have to stay.
        if !known.0.get().is_identical(&value.0.get()) {
            return Err(Irregular);
        }
        *count = step(count).ok_or(Irregular)?;
        if *count == 0 {
            self.counts.remove(&value);
        }
        Ok(())
    }

    fn entry(&mut self, value: &Ordered) -> Option<(&Ordered, &mut u64)> {
        self.counts.range_mut(value..=value).next()
    }

    fn first(&self) -> Option<&OwnedValue> {
        self.counts.first_key_value().map(|(value, _)| &value.0)
    }

    fn last(&self) -> Option<&OwnedValue> {
        self.counts.last_key_value().map(|(value, _)| &value.0)
    }

    /// Of the lists with the greatest first element the least.
    fn least_with_greatest_head(&self) -> Option<&OwnedValue> {
        let greatest = self.last()?;
        let Some(head) = greatest.get().as_seq().and_then(|list| list.get(0)) else {
            return Some(greatest);
        };
        // A list stands before all that begin as it does.
        let mut from = SeqBuilder::new();
        from.push(head);
        let from = Ordered(OwnedValue::new(Value::List(from.as_seq())));
        self.counts.range(from..).next().map(|(value, _)| &value.0)
    }

    fn distinct(&self) -> usize {
        self.counts.len()
    }

    fn ascending(&self) -> impl Iterator<Item = Value<'_>> {
        self.counts.keys().map(|value| value.0.get())
    }

    /// From the greatest down, each repeated by its multiplicity.
    fn descending(&self) -> impl Iterator<Item = Value<'_>> {
        let all = self.counts.iter().rev();
        all.flat_map(|(value, count)| std::iter::repeat_n(value.0.get(), *count as usize))
    }
}

/// Sums by the kinds of numbers, with how many there are of each.
#[derive(Clone, Debug, Default)]
struct Sum {
    /// Integers and booleans.
    whole: i128,
    doubles: ExactSum,
    double_count: u64,
    ids: Id,
    id_count: u64,
    intervals: i128,
    interval_count: u64,
    whole_count: u64,
}

impl Sum {
    fn change(&mut self, value: Value<'_>, change: Change) -> Result<(), Irregular> {
        let sign = if change == Change::Add { 1 } else { -1 };
        let count = match value {
            Value::Int(_) | Value::Bool(_) => {
                self.whole += sign * i128::from(value.as_int().unwrap_or(0));
                &mut self.whole_count
            }
            Value::Double(double) => {
                self.doubles.add(if change == Change::Add { double } else { -double });
                // Infinities cannot be subtracted again.
                if !self.doubles.is_exact() {
                    return Err(Irregular);
                }
                &mut self.double_count
            }
            Value::Id(id) => {
                self.ids = match change {
                    Change::Add => self.ids.wrapping_add(id),
                    Change::Remove => self.ids.wrapping_sub(id),
                };
                &mut self.id_count
            }
            Value::Interval(ns) => {
                self.intervals += sign * i128::from(ns);
                &mut self.interval_count
            }
            _ => return Err(Irregular),
        };
        *count = match change {
            Change::Add => *count + 1,
            Change::Remove => count.checked_sub(1).ok_or(Irregular)?,
        };
        let [doubles, ids, intervals, whole] =
            [self.double_count, self.id_count, self.interval_count, self.whole_count]
                .map(|count| count > 0);
        if (doubles && ids) || (intervals && (doubles || ids || whole)) {
            Err(Irregular)
        } else {
            Ok(())
        }
    }

    /// The same sum as the accumulators hold it.
    fn as_accumulated(&self) -> super::Sum {
        if self.double_count > 0 {
            let mut sum = self.doubles.clone();
            sum.add_int(self.whole);
            super::Sum::Doubles(Box::new(sum))
        } else if self.id_count > 0 {
            super::Sum::Ids(self.ids.wrapping_add(wide_int(self.whole)))
        } else if self.interval_count > 0 {
            super::Sum::Intervals(self.intervals)
        } else if self.whole_count > 0 {
            super::Sum::Ints(self.whole)
        } else {
            super::Sum::Nothing
        }
    }

    fn total<'a>(&self) -> Result<Value<'a>, EvalError> {
        self.as_accumulated().total()
    }

    fn mean<'a>(&self, results: u64) -> Result<Value<'a>, EvalError> {
        match self.id_count {
            0 => self.as_accumulated().mean(results),
            _ => Err(cannot_add("AVG", Type::Id)),
        }
    }
}
