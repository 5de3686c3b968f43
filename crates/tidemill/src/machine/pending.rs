//! The replacement of a part of the running program.

use tidemill_packet::graph::Graph;

use crate::borders::Checked;

/// The borders that replace those of the nodes once the new rules are in place.
#[derive(Clone)]
pub(super) struct Pending {
    pub(super) borders: Checked,
    pub(super) graph: Option<Graph>,
}
