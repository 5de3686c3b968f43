//! The one declaration of each aggregate: name, types, meaning, examples.

use std::fmt;

use super::functions::Aggregate;
use crate::types::TypeSet;
use crate::value::Type;

/// The declaration of an aggregate, for the checker, the catalogue and the book.
#[derive(Debug)]
pub struct Declaration {
    /// The name in upper case, without `a_`.
    pub name: &'static str,
    /// The value types that it takes, each with the result type.
    pub signatures: &'static [(TypeSet, TypeSet)],
    /// The result for an empty group.
    pub empty: Empty,
    /// Its documentation.
    pub doc: &'static str,
    /// Lists of values, each with its result, in text form.
    pub examples: &'static [(&'static str, &'static str)],
}

/// The result of an aggregate over an empty group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Empty {
    /// `0`.
    Zero,
    /// `null`.
    Null,
    /// `[]`.
    EmptyList,
}

impl Empty {
    /// Its type.
    pub fn type_of(self) -> Type {
        match self {
            Empty::Zero => Type::Int,
            Empty::Null => Type::Null,
            Empty::EmptyList => Type::List,
        }
    }
}

impl fmt::Display for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Empty::Zero => "0",
            Empty::Null => "null",
            Empty::EmptyList => "[]",
        })
    }
}

impl Declaration {
    /// The types of the result over values of these types, an empty group included; `None` if
    /// it can never take them.
    pub fn result_type(&self, values: TypeSet) -> Option<TypeSet> {
        let result = self.result_of_rows(values)?;
        Some(result.union(TypeSet::of(self.empty.type_of())))
    }

    /// The types of the result over a group that is not empty.
    pub fn result_of_rows(&self, values: TypeSet) -> Option<TypeSet> {
        if self.signatures == SAME {
            return (!values.is_empty()).then_some(values);
        }
        let result = (self.signatures.iter())
            .filter(|(taken, _)| taken.meets(values))
            .fold(TypeSet::NONE, |result, (_, given)| result.union(*given));
        (!result.is_empty()).then_some(result)
    }
}

/// The signature: `SUM<int64|bool> -> int64, ...`, then the result for an empty group.
impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (taken, given)) in self.signatures.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{}<{taken}> -> {given}", self.name)?;
        }
        Ok(())
    }
}

impl Aggregate {
    /// The aggregate of this name, in any case, with or without `a_`.
    pub fn from_name(name: &str) -> Option<Aggregate> {
        let bare = match name.split_at_checked(2) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case("a_") => rest,
            _ => name,
        };
        Aggregate::ALL.into_iter().find(|aggregate| aggregate.name().eq_ignore_ascii_case(bare))
    }

    /// The aggregate of this name in a plan.
    pub(crate) fn from_plan_name(name: &str) -> Option<Aggregate> {
        if name == Aggregate::ArgMax.name() {
            Some(Aggregate::ArgMax)
        } else {
            Aggregate::from_name(name)
        }
    }

    /// The declaration.
    pub fn declaration(self) -> &'static Declaration {
        of(self)
    }

    /// The name in upper case, without `a_`.
    pub fn name(self) -> &'static str {
        self.declaration().name
    }

    /// The types of the result over values of these types, an empty group included; `None` if
    /// it can never take them.
    pub fn result_type(self, values: TypeSet) -> Option<TypeSet> {
        self.declaration().result_type(values)
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// All aggregates.
pub fn catalogue() -> impl Iterator<Item = &'static Declaration> {
    Aggregate::ALL.into_iter().map(of)
}

const ANY: TypeSet = TypeSet::ANY;
const INT: TypeSet = TypeSet::INT;
const DOUBLE: TypeSet = TypeSet::DOUBLE;
const LIST: TypeSet = TypeSet::LIST;
const INTERVAL: TypeSet = TypeSet::INTERVAL;

/// One of the values: its type is among theirs.
const SAME: &[(TypeSet, TypeSet)] = &[(ANY, ANY)];

// One piece: a table, with an entry for each aggregate.
fn of(aggregate: Aggregate) -> &'static Declaration {
    match aggregate {
        Aggregate::Count => &Declaration {
            name: "COUNT",
            signatures: &[(ANY, INT)],
            empty: Empty::Zero,
            doc: "The number of rows; `COUNT<*>` needs no column.",
            examples: &[("[5, 5, null]", "3"), ("[]", "0")],
        },
        Aggregate::CountDistinct => &Declaration {
            name: "COUNTDISTINCT",
            signatures: &[(ANY, INT)],
            empty: Empty::Zero,
            doc: "The number of values that are not equal.",
            examples: &[("[5, 5.0, 7]", "2"), ("[]", "0")],
        },
        Aggregate::Min => &Declaration {
            name: "MIN",
            signatures: SAME,
            empty: Empty::Null,
            doc: "The least value.",
            examples: &[("[5, 3.5, 7]", "3.5"), ("[]", "null")],
        },
        Aggregate::Max => &Declaration {
            name: "MAX",
            signatures: SAME,
            empty: Empty::Null,
            doc: "The greatest value.",
            examples: &[("[5, 3.5, 7]", "7"), ("[]", "null")],
        },
        Aggregate::Sum => &Declaration {
            name: "SUM",
            signatures: &[
                (TypeSet::WHOLE, INT),
                (DOUBLE, DOUBLE),
                (TypeSet::ID, TypeSet::ID),
                (INTERVAL, INTERVAL),
            ],
            empty: Empty::Zero,
            doc: "The sum; of doubles as if it were rounded only once, of IDs modulo 2^160.",
            examples: &[("[1, 2, 3]", "6"), ("[0.1, 0.2, 0.3, 1]", "1.6"), ("[]", "0")],
        },
        Aggregate::Avg => &Declaration {
            name: "AVG",
            signatures: &[(TypeSet::NUMERIC, DOUBLE), (INTERVAL, INTERVAL)],
            empty: Empty::Null,
            doc: "The arithmetic mean.",
            examples: &[("[1, 2]", "1.5"), ("[1.0s, 2.0s]", "1.500000000s"), ("[]", "null")],
        },
        Aggregate::MkList => &Declaration {
            name: "MKLIST",
            signatures: &[(ANY, LIST)],
            empty: Empty::EmptyList,
            doc: "The values as a list, in the order of the rows.",
            examples: &[("[3, 1, 3]", "[3, 1, 3]"), ("[]", "[]")],
        },
        Aggregate::MkSet => &Declaration {
            name: "MKSET",
            signatures: &[(ANY, LIST)],
            empty: Empty::EmptyList,
            doc: "The different values as a list, in ascending order.",
            examples: &[("[3, 1, 3]", "[1, 3]"), ("[]", "[]")],
        },
        Aggregate::ArgMax => &Declaration {
            name: "ARGMAX",
            signatures: SAME,
            empty: Empty::Null,
            doc: "Of lists the one with the greatest first element, of several the least.",
            examples: &[("[[1, 5], [2, 9], [2, 7]]", "[2, 7]"), ("[]", "null")],
        },
        Aggregate::TopK => &Declaration {
            name: "TOPK",
            signatures: &[(TypeSet::SEQUENCE, LIST)],
            empty: Empty::EmptyList,
            doc: "Of values `[K, V]`, the K greatest V as a list, in descending order; rows that \
                  disagree on K get the greatest one.",
            examples: &[("[[2, 5], [2, 9], [2, 7]]", "[9, 7]"), ("[]", "[]")],
        },
    }
}
