//! What is to take the place of a part of the program that runs.

use std::sync::Arc;

use tidemill_overlog::node::Program as Rules;
use tidemill_packet::graph::Graph;

use crate::borders::Checked;

/// What the borders of nodes go on with once these have gone on with other rules.
pub(super) struct Coming {
    pub(super) rules: Arc<Rules>,
    pub(super) borders: Checked,
    pub(super) graph: Option<Graph>,
}
