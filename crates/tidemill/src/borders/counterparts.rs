//! Relations of rules that have taken the place of others.

use tidemill_overlog::node::Program as Rules;
use tidemill_relation::plan::RelationId;

/// The relations of two versions of the rules.
pub(crate) struct Counterparts<'p> {
    pub(super) old: &'p Rules,
    pub(super) new: &'p Rules,
}

impl Counterparts<'_> {
    /// The relation of the new rules that is this one of the old: tuples of either fit the other.
    pub(super) fn of(&self, old: RelationId) -> Option<RelationId> {
        self.old.same_in(self.new, old)
    }

    /// Whether one relation is still the same.
    pub(super) fn are(&self, old: RelationId, new: RelationId) -> bool {
        self.of(old) == Some(new)
    }
}
