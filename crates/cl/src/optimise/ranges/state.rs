//! The facts about registers at a place of the code.

use tidemill_stdx::hash::Map;
use tidemill_stdx::id::IdSet;

use super::bound::{Bound, Bounds, Limit};
use super::range::Range;
use crate::ir::Register;

/// Registers with bounds at a time; beyond that, all bounds are dropped. Each of them is visited
/// when a register gets a new value.
const BOUNDED_MAX: usize = 256;

/// Ranges and bounds of registers; those that are missing may be any number.
///
/// A REAL register has a range if it has an INTEGER of that range, converted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Facts {
    ranges: Map<Register, Range>,
    bounds: Map<Register, Bounds>,
}

impl Facts {
    /// The range of a register, from that of its bounds too.
    pub(super) fn range(&self, register: Register) -> Range {
        let range = self.own_range(register);
        let bounds = self.bounds.get(&register).into_iter().flat_map(Bounds::iter);
        let ends = bounds.filter_map(|bound| match bound.limit {
            Limit::Register(limit) => self.own_range(limit).high.checked_add(bound.by),
            Limit::Extent(..) => None,
        });
        Range { high: ends.fold(range.high, i64::min).max(range.low), ..range }
    }

    fn own_range(&self, register: Register) -> Range {
        self.ranges.get(&register).copied().unwrap_or(Range::ALL)
    }

    /// The value is known to be in the range, which is all that is known.
    pub(super) fn set_range(&mut self, register: Register, range: Range) {
        match range {
            Range::ALL => _ = self.ranges.remove(&register),
            range => _ = self.ranges.insert(register, range),
        }
    }

    /// A value that has just been found to be in a range.
    pub(super) fn within(&mut self, register: Register, range: Range) {
        // An empty intersection: the code that follows is unreachable.
        let both = self.own_range(register).intersection(range).unwrap_or(range);
        self.set_range(register, both);
    }

    /// The bounds of a register, itself first.
    pub(super) fn bounds(&self, register: Register) -> Vec<Bound> {
        let known = self.bounds.get(&register).into_iter().flat_map(Bounds::iter);
        std::iter::once(Bound::of(register)).chain(known).collect()
    }

    /// Whether the value is below the extent.
    pub(super) fn is_below(&self, register: Register, view: Register, dimension: u8) -> bool {
        let bounds = self.bounds.get(&register);
        let bound = bounds.and_then(|bounds| bounds.get(Limit::Extent(view, dimension)));
        bound.is_some_and(|bound| bound.by < 0)
    }

    /// The value is known to be at most `bound`.
    pub(super) fn bound(&mut self, register: Register, bound: Bound) {
        if bound.limit.register() != register {
            if self.bounds.len() >= BOUNDED_MAX {
                self.bounds.clear();
            }
            self.bounds.entry(register).or_default().add(bound);
        }
    }

    /// The register gets a new value, of which nothing is known.
    pub(super) fn forget(&mut self, register: Register) {
        self.ranges.remove(&register);
        self.bounds.remove(&register);
        self.retain_bounds(|bound| bound.limit.register() != register);
    }

    /// Keeps the facts about these registers.
    pub(super) fn retain(&mut self, registers: &IdSet<Register>) {
        self.ranges.retain(|register, _| registers.contains(*register));
        self.bounds.retain(|register, _| registers.contains(*register));
    }

    fn retain_bounds(&mut self, mut keep: impl FnMut(&Bound) -> bool) {
        self.bounds.retain(|_, bounds| {
            bounds.retain(&mut keep);
            !bounds.is_empty()
        });
    }

    /// What holds where either does.
    pub(super) fn join(&mut self, other: &Facts) {
        self.ranges.retain(|register, range| {
            *range = range.union(other.own_range(*register));
            *range != Range::ALL
        });
        self.bounds.retain(|register, bounds| {
            let Some(others) = other.bounds.get(register) else { return false };
            bounds.join(others);
            !bounds.is_empty()
        });
    }

    /// At the head of a loop: what it does not assign is what it was before the loop.
    pub(super) fn restore(&mut self, outside: Facts, assigned: &IdSet<Register>) {
        self.ranges.retain(|register, _| assigned.contains(*register));
        let ranges = outside.ranges.into_iter();
        self.ranges.extend(ranges.filter(|(register, _)| !assigned.contains(*register)));
        for (register, bounds) in outside.bounds {
            for bound in bounds.iter() {
                if !assigned.contains(register) && !assigned.contains(bound.limit.register()) {
                    self.bound(register, bound);
                }
            }
        }
    }

    /// Extends what has grown since to an end, so that the iteration terminates.
    pub(super) fn widen(&mut self, before: &Facts) {
        self.ranges.retain(|register, range| {
            let Some(old) = before.ranges.get(register) else { return false };
            *range = range.union(*old).widened(*old);
            *range != Range::ALL
        });
        self.bounds.retain(|register, bounds| {
            let Some(old) = before.bounds.get(register) else { return false };
            bounds.widen(old);
            !bounds.is_empty()
        });
    }
}
