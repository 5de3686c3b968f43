//! What is to take the place of a part of the program that runs.

use tidemill_packet::graph::Graph;

use crate::borders::Checked;

/// What the borders of nodes go on with once these have gone on with the rules that came with it.
#[derive(Clone)]
pub(super) struct Pending {
    pub(super) borders: Checked,
    pub(super) graph: Option<Graph>,
}
