//! What is known at a place of the graph: what was checked, and how tests came out.
//!
//! At a node holds what holds on every way to it. Lists are kept short: what does not fit is not
//! known, which costs a test and is never wrong. What was checked is kept in full, for the
//! verifier needs it.

use super::{Check, Comparison, Range, Test, ValueId, Values};
use tidemill_stdx::sorted::SortedMap;

/// How many outcomes and ranges are remembered.
const REMEMBERED_MAX: usize = 96;

/// What was checked on every way here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Coverage {
    /// The packet has so many bytes from there on.
    ends: SortedMap<Option<ValueId>, u32>,
    /// Divisors and walks.
    others: Vec<Check>,
}

impl Coverage {
    /// True if the check cannot fail.
    pub fn has(&self, check: Check, values: &Values) -> bool {
        match check {
            Check::Bound { base, end } => self.end(base) >= end,
            Check::Divisor(value) => {
                self.others.contains(&check) || values.as_constant(value).is_some_and(|it| it != 0)
            }
            Check::Walk(_) => self.others.contains(&check),
        }
    }

    /// How many bytes there are from `base` on.
    pub fn end(&self, base: Option<ValueId>) -> u32 {
        self.ends.get(&base).copied().unwrap_or(0)
    }

    pub fn add(&mut self, check: Check) {
        match check {
            Check::Bound { base, end } => {
                let known = self.ends.entry(base).or_default();
                *known = end.max(*known);
            }
            other if !self.others.contains(&other) => self.others.push(other),
            _ => {}
        }
    }

    /// What both have.
    pub fn meet(&mut self, other: &Coverage) {
        self.ends.retain(|base, end| {
            *end = other.end(*base).min(*end);
            *end > 0
        });
        self.others.retain(|check| other.others.contains(check));
    }
}

/// What a test comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decided {
    Yes,
    No,
    Open,
}

impl From<bool> for Decided {
    fn from(holds: bool) -> Decided {
        if holds { Decided::Yes } else { Decided::No }
    }
}

/// What is known at a place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Facts {
    pub coverage: Coverage,
    ranges: SortedMap<ValueId, Range>,
    outcomes: SortedMap<Test, bool>,
}

impl Facts {
    fn range(&self, value: ValueId, values: &Values) -> Range {
        self.ranges.get(&value).copied().unwrap_or_else(|| values.range(value))
    }

    /// What is known of a test.
    pub fn decide(&self, test: Test, values: &Values) -> Decided {
        if let Some(&outcome) = self.outcomes.get(&test) {
            return outcome.into();
        }
        let (a, b) = (self.range(test.left, values), self.range(test.right, values));
        let always = |always: bool, never: bool| match (always, never) {
            (true, _) => Decided::Yes,
            (_, true) => Decided::No,
            _ => Decided::Open,
        };
        let same = test.left == test.right;
        match test.comparison {
            Comparison::Equal => {
                always(same || (a.min == a.max && a == b), a.max < b.min || b.max < a.min)
            }
            Comparison::Greater => always(a.min > b.max, same || a.max <= b.min),
            Comparison::GreaterOrEqual => always(same || a.min >= b.max, a.max < b.min),
            Comparison::Set if a.min == a.max && b.min == b.max => (a.min & b.min != 0).into(),
            Comparison::Set => always(false, a.max == 0 || b.max == 0),
        }
    }

    /// Learns how a test came out.
    pub fn learn(&mut self, test: Test, holds: bool, values: &Values) {
        if self.outcomes.len() < REMEMBERED_MAX {
            self.outcomes.insert(test, holds);
        }
        // The constant stands on the right, as the language's own tests have it.
        let Some(number) = values.as_constant(test.right) else { return };
        let Range { mut min, mut max } = self.range(test.left, values);
        match (test.comparison, holds) {
            (Comparison::Equal, true) => (min, max) = (number, number),
            (Comparison::Greater, true) => min = min.max(number.saturating_add(1)),
            (Comparison::Greater, false) => max = max.min(number),
            (Comparison::GreaterOrEqual, true) => min = min.max(number),
            (Comparison::GreaterOrEqual, false) => max = max.min(number.saturating_sub(1)),
            _ => return,
        }
        // A contradiction means that nobody comes here.
        if min <= max && self.ranges.len() < REMEMBERED_MAX {
            self.ranges.insert(test.left, Range { min, max });
        }
    }

    /// What holds on either way.
    pub fn meet(&mut self, other: &Facts, values: &Values) {
        self.coverage.meet(&other.coverage);
        self.ranges.retain(|value, range| {
            let there = other.range(*value, values);
            *range = Range { min: range.min.min(there.min), max: range.max.max(there.max) };
            *range != values.range(*value)
        });
        self.outcomes.retain(|test, outcome| other.outcomes.get(test) == Some(outcome));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(comparison: Comparison, left: u32, right: u32) -> Decided {
        let mut values = Values::default();
        let (left, right) = (values.constant(left), values.constant(right));
        Facts::default().decide(Test { comparison, left, right }, &values)
    }

    #[test]
    fn constants_decide_what_is_asked_of_their_bits() {
        assert_eq!(decided(Comparison::Set, 6, 2), Decided::Yes);
        assert_eq!(decided(Comparison::Set, 4, 3), Decided::No);
        assert_eq!(decided(Comparison::Set, 0, 3), Decided::No);
    }
}
