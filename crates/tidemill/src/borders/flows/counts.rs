//! What is counted at an app that runs a component for each flow.

use std::collections::BTreeMap;

use tidemill_stat::{Counter, Registry};

use super::flow::Stage;

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident,)+) => {
        /// `border/<app>/taken` and so on. Packets taken are those received, dropped and queued.
        pub(super) struct Counters {
            $($(#[$doc])* pub(super) $field: Counter,)+
        }

        impl Counters {
            pub(super) fn new(registry: &Registry, app: &str) -> Counters {
                let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
                Counters { $($field: counter(stringify!($field)),)+ }
            }

            /// Their values, by name.
            pub(super) fn read(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field.get()),)+]
            }
        }

        /// Their names.
        const NAMES: &[&str] = &[$(stringify!($field),)+];
    };
}

counters! {
    /// Packets from links.
    taken,
    /// Packets delivered to instances.
    received,
    /// Packets sent by instances.
    sent,
    /// Packets that instances failed to send, for lack of a link or memory.
    not_sent,
    /// Instances made.
    flows,
    /// Current instances.
    alive,
    /// Instances that ended as they were idle.
    ended_idle,
    /// Instances that ended otherwise: by returning, or with the graph.
    ended,
    /// Instances that failed.
    failed,
    /// Packets of new flows, beyond the maximum of flows.
    dropped_no_room,
    /// Packets dropped for lack of memory: for a new flow, or for delivery.
    dropped_no_memory,
    /// Packets dropped as the queue of the instance was full.
    dropped_queue_full,
    /// Packets of inputs that the instance had not opened when it received.
    dropped_not_open,
    /// Packets queued for an instance that ended.
    dropped_ended,
    /// Packets queued for an instance that failed.
    dropped_failed,
}

impl Counters {
    /// Counts an instance that is gone once, by the stage in which it was. That it failed has been
    /// counted.
    pub(super) fn ended_as(&self, stage: Stage) {
        match stage {
            Stage::Lives | Stage::Ends => self.ended.add(1),
            Stage::Idle => self.ended_idle.add(1),
            Stage::Failed => {}
        }
    }
}

/// The counters of an app, summed over all nodes and their lives.
pub(crate) fn of_app(app: &str, counters: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let count = |name: &&str| {
        let count = counters.get(&format!("border/{app}/{name}"));
        ((*name).to_owned(), count.copied().unwrap_or_default())
    };
    NAMES.iter().map(count).collect()
}
