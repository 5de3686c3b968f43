//! What a strand sees.

use super::profile::TypeProfile;
use crate::database::Database;
use crate::plan::Lookup;
use crate::table::Visible;

/// What a strand sees of the tables.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The tables.
    pub database: &'a Database,
    /// Rows seen by the atom at a position of the body.
    pub visible: &'a dyn Fn(u16, &Lookup) -> Visible,
    /// Negations hold whatever the tables contain: what retraction asks for, which wants to know
    /// all that may have been derived.
    pub ignore_absent: bool,
    /// Report results that have passed all joins to the sink.
    pub traced: bool,
    /// Where to note what registers hold when a run ends.
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
