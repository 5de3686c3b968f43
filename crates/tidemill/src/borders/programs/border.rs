//! The relations by which rules install rules.

use tidemill_relation::plan::RelationId;

/// The relations by which rules install rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramsBorder {
    /// `program::rules(@N, Name, Text)`.
    pub rules: RelationId,
    /// `program::refused(@N, Name, Reason)`, where the rules read it.
    pub refused: Option<RelationId>,
}
