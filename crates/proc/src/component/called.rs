//! Connections among components that are terminating.

use super::ComponentId;
use tidemill_stdx::hash::Map;

/// Shared by all loops.
#[derive(Default)]
pub(crate) struct Callers {
    /// Connections held by terminating components, counted by target. A target that is free to end
    /// is not counted any more.
    pub(crate) counts: Map<ComponentId, u32>,
    pub(crate) suspects: Vec<ComponentId>,
    /// Components that were done before all that end with them were terminated.
    pub(crate) early: Vec<ComponentId>,
}
