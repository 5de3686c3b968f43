//! The facts at a place of the graph: checks that were made, and outcomes of tests.
//!
//! A fact of a node holds on every path to it. Lists are kept short: what does not fit is dropped,
//! which costs a test and is never wrong. Checks are kept in full, for the verifier needs them.

use super::{Check, Comparison, Range, Test, ValueId, Values};
use tidemill_stdx::sorted::SortedMap;

/// The most outcomes and ranges that are kept.
const REMEMBERED_MAX: usize = 96;

/// The checks made on every path to here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Coverage {
    /// The packet has this many bytes from there on.
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

    /// The number of bytes that exist from `base` on.
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

/// The outcome of a test.
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

/// The facts at a place.
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

    /// The outcome of a test, if the facts decide it.
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

    /// Adds the outcome of a test.
    pub fn learn(&mut self, test: Test, holds: bool, values: &Values) {
        if self.outcomes.len() < REMEMBERED_MAX {
            self.outcomes.insert(test, holds);
        }
        // The constant is on the right, as the language's own tests have it.
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
        // A contradiction means that this place is unreachable.
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
    use crate::graph::{Value, Width};

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

    const COMPARISONS: [Comparison; 4] =
        [Comparison::Equal, Comparison::Greater, Comparison::GreaterOrEqual, Comparison::Set];

    /// The decision is what holds for all numbers between the least and the greatest that are left,
    /// no less and no more.
    #[test]
    fn a_test_is_decided_by_the_numbers_that_are_left() {
        let mut values = Values::default();
        let byte = Value::Load { width: Width::Byte, base: None, offset: 0 };
        let left = values.add(byte);
        let numbers = [0, 1, 2, 100, 101, 254, 255, 256];
        let tests: Vec<(Test, u32)> = COMPARISONS
            .iter()
            .flat_map(|&comparison| numbers.map(|number| (comparison, number)))
            .map(|(comparison, number)| {
                (Test { comparison, left, right: values.constant(number) }, number)
            })
            .collect();
        for ((known, one), (asked, other)) in
            tests.iter().flat_map(|known| tests.iter().map(move |asked| (known, asked)))
        {
            for holds in [true, false] {
                let mut facts = Facts::default();
                facts.learn(*known, holds, &values);
                let left: Vec<u32> = match (known.comparison, holds) {
                    (Comparison::Equal, false) | (Comparison::Set, _) => (0..=255).collect(),
                    (comparison, _) => {
                        (0..=255).filter(|&it| comparison.holds(it, *one) == holds).collect()
                    }
                };
                let answers: Vec<bool> =
                    left.iter().map(|&it| asked.comparison.holds(it, *other)).collect();
                let expected = match (answers.contains(&true), answers.contains(&false)) {
                    // No number is left: unreachable.
                    (false, false) => continue,
                    _ if known == asked => holds.into(),
                    (true, false) if asked.comparison == Comparison::Set && left.len() > 1 => {
                        Decided::Open
                    }
                    (false, true)
                        if asked.comparison == Comparison::Set
                            && left.len() > 1
                            && *other != 0
                            && left != [0] =>
                    {
                        Decided::Open
                    }
                    (true, false) => Decided::Yes,
                    (false, true) => Decided::No,
                    (true, true) => Decided::Open,
                };
                let found = facts.decide(*asked, &values);
                assert_eq!(found, expected, "{known:?} is {holds}, {one}; {asked:?}, {other}");
            }
        }
    }

    #[test]
    fn a_value_compared_with_itself_is_decided() {
        let mut values = Values::default();
        let length = values.add(Value::Length);
        let decided = COMPARISONS.map(|comparison| {
            Facts::default().decide(Test { comparison, left: length, right: length }, &values)
        });
        assert_eq!(decided, [Decided::Yes, Decided::No, Decided::Yes, Decided::Open]);
    }

    #[test]
    fn values_are_compared_by_their_ranges() {
        let mut values = Values::default();
        let mut load = |width| values.add(Value::Load { width, base: None, offset: 0 });
        let (byte, half) = (load(Width::Byte), load(Width::Half));
        let right = values.constant(8);
        let shifted = values.add(Value::Binary(crate::ast::Operator::ShiftRight, half, right));
        let mut facts = Facts::default();
        let floor = values.constant(255);
        let at_least = Test { comparison: Comparison::GreaterOrEqual, left: half, right: floor };
        facts.learn(at_least, true, &values);
        let decided = |left, right| {
            COMPARISONS.map(|comparison| facts.decide(Test { comparison, left, right }, &values))
        };
        let (yes, no, open) = (Decided::Yes, Decided::No, Decided::Open);
        assert_eq!(decided(half, byte), [open, open, yes, open]);
        assert_eq!(decided(byte, half), [open, no, open, open]);
        assert_eq!(decided(byte, shifted), [open; 4]);
    }

    #[test]
    fn of_two_ways_only_what_both_know_is_known() {
        let mut values = Values::default();
        let left = values.add(Value::Length);
        let numbers = [5, 10, 20, 30].map(|number| values.constant(number));
        let at_least =
            |at: usize| Test { comparison: Comparison::GreaterOrEqual, left, right: numbers[at] };
        let knowing = |tests: &[(Test, bool)], checks: &[Check]| {
            let mut facts = Facts::default();
            tests.iter().for_each(|&(test, holds)| facts.learn(test, holds, &values));
            checks.iter().for_each(|&check| facts.coverage.add(check));
            facts
        };
        let bound = |end| Check::Bound { base: None, end };
        let mut facts = knowing(
            &[(at_least(1), true), (at_least(3), false)],
            &[bound(34), Check::Divisor(left), Check::Walk(left)],
        );
        let other = knowing(&[(at_least(2), true)], &[bound(20), Check::Walk(left)]);
        facts.meet(&other, &values);
        let found = [0, 1, 2, 3].map(|at| facts.decide(at_least(at), &values));
        assert_eq!(found, [Decided::Yes, Decided::Yes, Decided::Open, Decided::Open]);
        let checks = [bound(20), bound(21), Check::Walk(left), Check::Divisor(left)];
        let found = checks.map(|check| facts.coverage.has(check, &values));
        assert_eq!(found, [true, false, true, false]);
        // What one path alone decides is open, also if the other has no facts.
        facts.meet(&Facts::default(), &values);
        assert_eq!(facts, Facts::default());
    }
}
