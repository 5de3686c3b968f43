//! A virtual time and its sleepers.

use crate::handle::ProcessRef;
use std::collections::BTreeMap;

/// The time of one component.
#[derive(Default)]
pub(crate) struct Clock {
    pub(crate) now: i64,
    /// Sleepers by their time, then in the order in which they began to sleep.
    pub(crate) sleepers: BTreeMap<(i64, u64), ProcessRef>,
}
