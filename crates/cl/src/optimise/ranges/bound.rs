//! Symbolic bounds: `%i <= %n - 1`, `%i <= extent 0 of view %v - 1`.

use crate::ir::Register;

/// Bounds kept of a register at most.
const BOUNDS_MAX: usize = 4;

/// The most that is added to a limit, up or down.
const BY_MAX: i64 = 1 << 32;

/// The bound of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Limit {
    /// The current value of a register.
    Register(Register),
    /// An extent of the view that a register has now.
    Extent(Register, u8),
}

impl Limit {
    /// The register whose assignment makes it another.
    pub(crate) fn register(self) -> Register {
        match self {
            Limit::Register(register) | Limit::Extent(register, _) => register,
        }
    }
}

/// A number is at most `limit + by`, exactly, be that an INTEGER or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) limit: Limit,
    pub(crate) by: i64,
}

impl Bound {
    /// The number itself as a bound.
    pub(crate) fn of(register: Register) -> Bound {
        Bound { limit: Limit::Register(register), by: 0 }
    }

    /// The bound of a number that is greater by `by` at most.
    pub(super) fn raised(self, by: i64) -> Option<Bound> {
        let by = self.by.checked_add(by)?;
        (-BY_MAX..=BY_MAX).contains(&by).then_some(Bound { by, ..self })
    }
}

/// Bounds of one number, at most one of a limit, in the order of the limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bounds(Vec<Bound>);

impl Bounds {
    pub(super) fn iter(&self) -> impl Iterator<Item = Bound> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, limit: Limit) -> Option<Bound> {
        self.iter().find(|bound| bound.limit == limit)
    }

    /// Adds one; of two of one limit the nearer stays. With many, it is left out.
    pub(super) fn add(&mut self, bound: Bound) {
        match self.0.binary_search_by_key(&bound.limit, |known| known.limit) {
            Ok(index) => self.0[index].by = self.0[index].by.min(bound.by),
            Err(index) if self.0.len() < BOUNDS_MAX => self.0.insert(index, bound),
            Err(_) => {}
        }
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&Bound) -> bool) {
        self.0.retain(keep);
    }

    /// What holds where either does.
    pub(super) fn join(&mut self, other: &Bounds) {
        self.0.retain_mut(|bound| match other.get(bound.limit) {
            Some(known) => {
                bound.by = bound.by.max(known.by);
                true
            }
            None => false,
        });
    }

    /// What also held before, and has not grown since.
    pub(super) fn widen(&mut self, before: &Bounds) {
        self.0.retain_mut(|bound| match before.get(bound.limit) {
            Some(known) if known.by >= bound.by => {
                bound.by = known.by;
                true
            }
            _ => false,
        });
    }
}
