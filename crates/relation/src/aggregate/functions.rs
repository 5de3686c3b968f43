//! The aggregate functions, and the order by which MIN and MAX choose.

use std::cmp::Ordering;

use crate::operator::compare;
use crate::value::Value;

/// An aggregate function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Aggregate {
    /// Number of rows.
    Count,
    /// Number of different values.
    CountDistinct,
    /// Least value.
    Min,
    /// Greatest value.
    Max,
    /// Sum.
    Sum,
    /// Mean.
    Avg,
    /// List of the values.
    MkList,
    /// Ascending list of the different values.
    MkSet,
    /// The greatest K of the values.
    TopK,
    /// Of lists the one with the greatest first element, and of those the least: the planners' form
    /// of a MAX that keeps the columns of its row. (For MIN they use the least list.)
    ArgMax,
}

impl Aggregate {
    /// All functions that programs can name.
    pub const ALL: [Aggregate; 9] = [
        Aggregate::Count,
        Aggregate::CountDistinct,
        Aggregate::Min,
        Aggregate::Max,
        Aggregate::Sum,
        Aggregate::Avg,
        Aggregate::MkList,
        Aggregate::MkSet,
        Aggregate::TopK,
    ];

    /// Whether `*` is allowed in place of the value.
    pub fn takes_star(self) -> bool {
        self == Aggregate::Count
    }

    /// Whether the result is the best of the values: a MIN or MAX.
    pub fn is_extreme(self) -> bool {
        matches!(self, Aggregate::Min | Aggregate::Max | Aggregate::ArgMax)
    }

    /// Whether a value is better than another, by the order of a MIN or MAX.
    pub fn is_better(self, value: Value<'_>, than: Value<'_>) -> bool {
        match self {
            Aggregate::Min => compare(value, than) == Ordering::Less,
            Aggregate::Max => compare(value, than) == Ordering::Greater,
            Aggregate::ArgMax => match first_element(value).total_order(&first_element(than)) {
                Ordering::Equal => value.total_order(&than) == Ordering::Less,
                order => order == Ordering::Greater,
            },
            _ => false,
        }
    }
}

/// The first element of a list; null if there is none.
fn first_element(list: Value<'_>) -> Value<'_> {
    list.as_seq().and_then(|list| list.get(0)).unwrap_or(Value::Null)
}
