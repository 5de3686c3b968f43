//! Intervals of INTEGER.

use crate::ir::Binary;

/// The most elements of an array: the run-time makes none with more.
pub(super) const ELEMENTS_MAX: i64 = (1 << 56) - 1;

/// The numbers from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Range {
    /// Every INTEGER.
    pub(super) const ALL: Range = Range { low: i64::MIN, high: i64::MAX };
    /// What an element's index can be.
    pub(super) const INDEX: Range = Range { low: 0, high: ELEMENTS_MAX - 1 };

    pub(super) fn of(value: i64) -> Range {
        Range { low: value, high: value }
    }

    pub(super) fn union(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// None if they share nothing.
    pub(super) fn intersection(self, other: Range) -> Option<Range> {
        let both = Range { low: self.low.max(other.low), high: self.high.min(other.high) };
        (both.low <= both.high).then_some(both)
    }

    /// The results of an operator on the ends of two ranges, which are those of all between them,
    /// and whether all fit.
    fn ends(self, other: Range, operator: impl Fn(i128, i128) -> i128) -> (Range, bool) {
        let pairs = [
            (self.low, other.low),
            (self.low, other.high),
            (self.high, other.low),
            (self.high, other.high),
        ];
        let results = pairs.map(|(a, b)| operator(i128::from(a), i128::from(b)));
        let (low, high) = results.iter().fold((i128::MAX, i128::MIN), |(low, high), &result| {
            (low.min(result), high.max(result))
        });
        let fit = |value: i128| {
            i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
        };
        let fits = low >= i128::from(i64::MIN) && high <= i128::from(i64::MAX);
        (Range { low: fit(low), high: fit(high) }, fits)
    }

    /// Extends a range that has grown to the end, or to a common bound.
    pub(super) fn widened(self, before: Range) -> Range {
        let low = match self.low {
            low if low >= before.low => low,
            0.. => 0,
            _ => i64::MIN,
        };
        Range { low, high: if self.high > before.high { i64::MAX } else { self.high } }
    }
}

/// The range of a result, and whether every result fits. What does not fit is a fault, so the rest
/// is what follows.
pub(super) fn arithmetic(operator: Binary, a: Range, b: Range) -> (Range, bool) {
    match operator {
        Binary::Add | Binary::AddUnchecked => a.ends(b, |a, b| a + b),
        Binary::Subtract | Binary::SubtractUnchecked => a.ends(b, |a, b| a - b),
        Binary::Multiply | Binary::MultiplyUnchecked => a.ends(b, |a, b| a * b),
        Binary::Div if b.low > 0 => a.ends(b, i128::div_euclid),
        Binary::Mod if b.low > 0 => (Range { low: 0, high: b.high - 1 }, true),
        _ => (Range::ALL, false),
    }
}
