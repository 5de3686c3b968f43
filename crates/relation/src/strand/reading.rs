//! The view that a strand has of the tables.

use super::profile::TypeProfile;
use crate::database::Database;
use crate::plan::Lookup;
use crate::table::Visible;

/// The view that a strand has of the tables.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The tables.
    pub database: &'a Database,
    /// Rows seen by the atom at a position of the body.
    pub visible: &'a dyn Fn(u16, &Lookup) -> Visible,
    /// Negations hold regardless of the tables: for retraction, which over-approximates what was
    /// derived.
    pub ignore_absent: bool,
    /// Report results that have passed all joins to the sink.
    pub traced: bool,
    /// The profile to which the types in registers are added when a run ends.
    pub profile: Option<&'a TypeProfile>,
}

/// Sees live rows.
pub fn live(_: u16, _: &Lookup) -> Visible {
    Visible::Live
}

impl<'a> Reading<'a> {
    /// The present state.
    #[inline]
    pub fn present(database: &'a Database) -> Reading<'a> {
        Reading { database, visible: &live, ignore_absent: false, traced: false, profile: None }
    }
}
