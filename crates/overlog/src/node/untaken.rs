//! Event tuples that start nothing and that nothing sees: they are counted, and not kept.

use super::tuples::Derived;

/// The most of one turn; further ones are kept. It is fewer than a driver derives at a time, so
/// that turns are interrupted where they would be if all were kept.
pub(super) const UNTAKEN_MAX: u64 = 255;

/// Those of the next generation.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Untaken {
    pub(super) count: u64,
    /// The first, for reports.
    pub(super) first: Option<Derived>,
}

impl Untaken {
    /// Counts a tuple; false if it has to be kept.
    #[inline]
    pub(super) fn take(&mut self, derived: &Derived) -> bool {
        if self.count == UNTAKEN_MAX {
            return false;
        }
        if self.count == 0 {
            self.first = Some(*derived);
        }
        self.count += 1;
        true
    }
}
