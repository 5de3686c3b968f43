//! Maps relations of the old rules to those of their successors.

use tidemill_overlog::node::Program as Rules;
use tidemill_relation::plan::RelationId;

/// The relations of two versions of the rules.
pub(crate) struct Counterparts<'p> {
    pub(super) old: &'p Rules,
    pub(super) new: &'p Rules,
}

impl Counterparts<'_> {
    /// The relation of the new rules with the same columns as the old one, so that tuples fit both.
    pub(super) fn of(&self, old: RelationId) -> Option<RelationId> {
        self.old.same_in(self.new, old)
    }

    /// Whether one relation is still the same.
    pub(super) fn are(&self, old: RelationId, new: RelationId) -> bool {
        self.of(old) == Some(new)
    }
}
