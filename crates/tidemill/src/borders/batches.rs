//! Batches in the inbox of a node: how long what another engine handed over waits there.

use std::collections::VecDeque;

use tidemill_event::Time;

use super::latency::Latency;

/// Batches in the inbox of a node, in their order.
#[derive(Default)]
pub(crate) struct Batches(pub(super) VecDeque<Batch>);

pub(super) struct Batch {
    /// The turn of its first event, as the node counts them.
    pub(super) first: u64,
    pub(super) handed: Time,
    pub(super) latency: Latency,
}
