//! What is counted at an app that runs a component for each flow.

use std::collections::BTreeMap;

use tidemill_stat::{Counter, Registry};

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident,)+) => {
        /// `border/<app>/taken` and so on. Packets taken are those received, those dropped, and
        /// those that wait.
        pub(super) struct Counters {
            $($(#[$doc])* pub(super) $field: Counter,)+
        }

        impl Counters {
            pub(super) fn new(registry: &Registry, app: &str) -> Counters {
                let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
                Counters { $($field: counter(stringify!($field)),)+ }
            }

            /// What they are now, by name.
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
    /// Packets that instances have been given.
    received,
    /// Packets that instances have sent.
    sent,
    /// Packets that they have not: without a link for them, or memory.
    not_sent,
    /// Instances made.
    flows,
    /// Instances now.
    alive,
    /// Instances that were told to end as no packet came for a while.
    ended_idle,
    /// Instances that ended otherwise: by themselves, or with the graph.
    ended,
    /// Instances that failed.
    failed,
    /// Packets of new flows, when there were as many as there may be.
    dropped_no_room,
    /// Packets for which memory was used up: of a new flow, or on their way to an instance.
    dropped_no_memory,
    /// Packets for instances for which as many waited as may.
    dropped_queue_full,
    /// Packets from inputs that the instance had not opened when it asked for packets.
    dropped_not_open,
    /// Packets that waited for an instance that ended.
    dropped_ended,
    /// Packets that waited for an instance that failed.
    dropped_failed,
}

/// What an app has counted at all nodes, in all their lives, out of all counters.
pub(crate) fn of_app(app: &str, counters: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let count = |name: &&str| {
        let count = counters.get(&format!("border/{app}/{name}"));
        ((*name).to_owned(), count.copied().unwrap_or_default())
    };
    NAMES.iter().map(count).collect()
}
