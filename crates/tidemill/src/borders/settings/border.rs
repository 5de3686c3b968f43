//! The relations by which rules change settings.

use tidemill_relation::plan::RelationId;

/// The relations by which rules change settings of apps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SettingsBorder {
    /// `flow::config(@N, App, Key, Value)`.
    pub config: RelationId,
    /// `flow::refused(@N, App, Key, Value, Reason)`, where the rules read it.
    pub refused: Option<RelationId>,
}
