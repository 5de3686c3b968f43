//! How long batches wait on the other side of a border: `border/<name>/latency_ns`.
//!
//! Measured from the turn that hands a batch over to the turn in which its receiver starts on it,
//! by the clock of the loop, so that it repeats in virtual time. A batch is what one turn hands
//! over; its first event counts. For what comes from another worker the time begins when the worker
//! of the rules takes it.

use std::rc::Rc;

use tidemill_event::Time;
use tidemill_stat::{Histogram, Registry};

/// The histogram of one border. Clones share it.
#[derive(Clone)]
pub(crate) struct Latency(Rc<Histogram>);

impl Latency {
    pub(super) fn new(registry: &Registry, border: &str) -> Latency {
        Latency(Rc::new(registry.histogram(&format!("border/{border}/latency_ns"))))
    }

    /// Whether these are of the same border.
    pub(super) fn is(&self, other: &Latency) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The receiver has started on a batch.
    pub(super) fn record(&self, handed: Time, begun: Time) {
        self.0.record(begun.0.saturating_sub(handed.0));
    }

    /// For a file: from the first buffered tuple to its write.
    pub(super) fn record_wall(&self, handed_ns: i64, now_ns: i64) {
        self.0.record(now_ns.saturating_sub(handed_ns).max(0).cast_unsigned());
    }
}

/// A border whose batches are received in order.
pub(super) struct Handover {
    latency: Latency,
    handed: Option<Time>,
}

impl Handover {
    pub(super) fn new(registry: &Registry, border: &str) -> Handover {
        Handover { latency: Latency::new(registry, border), handed: None }
    }

    /// How long batches wait.
    pub(super) fn latency(&self) -> &Latency {
        &self.latency
    }

    /// A batch is handed over.
    pub(super) fn hand(&mut self, now: Time) {
        self.handed.get_or_insert(now);
    }

    /// The receiver starts on all pending batches.
    pub(super) fn begin(&mut self, now: Time) {
        if let Some(handed) = self.handed.take() {
            self.latency.record(handed, now);
        }
    }
}
