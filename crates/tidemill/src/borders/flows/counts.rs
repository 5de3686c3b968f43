//! What is counted at an app that runs a component for each flow.

use tidemill_stat::{Counter, Registry};

use crate::run::Counted;

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

            /// All of them, by name.
            pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Counter)> {
                [$((stringify!($field), &self.$field),)+].into_iter()
            }
        }
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

impl Counters {
    /// What they are now.
    pub(super) fn read(&self) -> Vec<(&'static str, u64)> {
        self.all().map(|(name, counter)| (name, counter.get())).collect()
    }

    /// Adds what another has counted, whose instances are gone.
    fn add(&self, other: &Counters) {
        for ((_, sum), (_, one)) in self.all().zip(other.all()) {
            sum.add(one.get());
        }
    }
}

/// What apps have counted in lives of nodes that are over.
#[derive(Default)]
pub(crate) struct Past(Vec<(String, Counters)>);

impl Past {
    /// Adds what an app has counted in one of them.
    pub(super) fn add(&mut self, registry: &Registry, app: &str, counters: &Counters) {
        let known = self.0.iter().position(|(name, _)| name == app).unwrap_or_else(|| {
            self.0.push((app.to_owned(), Counters::new(registry, app)));
            self.0.len() - 1
        });
        self.0[known].1.add(counters);
    }

    /// What it amounts to.
    pub(crate) fn counted(&self) -> Counted {
        self.0.iter().map(|(app, counters)| (app.clone(), counters.read())).collect()
    }
}
