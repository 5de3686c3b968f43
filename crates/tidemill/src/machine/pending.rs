//! The replacement of a part of the running program.

use tidemill_overlog::node::Emptied;
use tidemill_packet::graph::Graph;
use tidemill_stdx::sorted::SortedSet;

use crate::borders::Checked;

/// The borders that replace those of the nodes once the new rules are in place.
#[derive(Clone)]
pub(super) struct Pending {
    pub(super) borders: Checked,
    pub(super) graph: Option<Graph>,
    /// The tables that start anew, as far as this has been noted.
    pub(super) noted: SortedSet<Emptied>,
}
