//! Batches in the inbox of a node, which measure how long events from another engine wait there.

use std::collections::VecDeque;

use tidemill_event::Time;

use super::latency::Latency;

/// Batches in the inbox of a node, in their order.
#[derive(Default)]
pub(crate) struct Batches(pub(super) VecDeque<Batch>);

pub(super) struct Batch {
    /// The node's number of the turn that processes its first event.
    pub(super) first: u64,
    pub(super) handed: Time,
    pub(super) latency: Latency,
}
