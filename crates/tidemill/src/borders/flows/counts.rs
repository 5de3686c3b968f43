//! What is counted at an app that runs a component for each flow.

use tidemill_stat::{Counter, Registry};

/// `border/<app>/taken` and so on. Packets taken are those received and those dropped, and those
/// that wait.
pub(super) struct Counters {
    /// Packets from links.
    pub(super) taken: Counter,
    /// Packets that instances have been given.
    pub(super) received: Counter,
    /// Packets that instances have sent.
    pub(super) sent: Counter,
    /// Packets that they have not: without a link for them, or memory.
    pub(super) not_sent: Counter,
    /// Instances made.
    pub(super) flows: Counter,
    /// Instances now.
    pub(super) alive: Counter,
    /// Instances that were told to end as no packet came for a while.
    pub(super) ended_idle: Counter,
    /// Instances that ended otherwise: by themselves, or with the graph.
    pub(super) ended: Counter,
    /// Instances that failed.
    pub(super) failed: Counter,
    pub(super) dropped: Drops,
}

/// Packets that were dropped, by reason.
pub(super) struct Drops {
    /// Of a new flow, when there were as many as there may be.
    pub(super) no_room: Counter,
    /// Of a new flow, or on its way to an instance, when memory was used up.
    pub(super) no_memory: Counter,
    /// As many waited for the instance as may.
    pub(super) queue_full: Counter,
    /// From an input that the instance had not opened when it asked for packets.
    pub(super) not_open: Counter,
    /// It waited for an instance that ended.
    pub(super) ended: Counter,
    /// It waited for an instance that failed.
    pub(super) failed: Counter,
}

impl Counters {
    pub(super) fn new(registry: &Registry, app: &str) -> Counters {
        let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
        Counters {
            taken: counter("taken"),
            received: counter("received"),
            sent: counter("sent"),
            not_sent: counter("not_sent"),
            flows: counter("flows"),
            alive: counter("alive"),
            ended_idle: counter("ended_idle"),
            ended: counter("ended"),
            failed: counter("failed"),
            dropped: Drops {
                no_room: counter("dropped_no_room"),
                no_memory: counter("dropped_no_memory"),
                queue_full: counter("dropped_queue_full"),
                not_open: counter("dropped_not_open"),
                ended: counter("dropped_ended"),
                failed: counter("dropped_failed"),
            },
        }
    }

    /// One instance fewer. Nodes count together, so it is not set.
    pub(super) fn one_less(&self) {
        self.alive.add(1_u64.wrapping_neg());
    }
}
