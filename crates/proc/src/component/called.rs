//! Who is connected with whom among components that end.

use super::ComponentId;
use tidemill_stdx::hash::Map;

/// What is known of them, by all loops.
#[derive(Default)]
pub(crate) struct Callers {
    /// Connections of told components, by what they lead to; those to components that are free to
    /// end are not counted any more.
    pub(crate) counts: Map<ComponentId, u32>,
    pub(crate) suspects: Vec<ComponentId>,
    /// Done before all that end with them had been told.
    pub(crate) early: Vec<ComponentId>,
}
