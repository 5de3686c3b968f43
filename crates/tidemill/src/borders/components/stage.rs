//! A stage that a component works on: its instances by key, and its counters.

use hashbrown::HashTable;
use tidemill_proc::{Communication, CommunicationMap};
use tidemill_relation::{OwnedValue, Seq, SeqBuilder, Value};
use tidemill_stat::{Counter, Registry};
use tidemill_stdx::keyed::Secret;

use super::border::StageBorder;
use super::instance::Instance;
use crate::borders::latency::{Handover, Latency};
use crate::borders::parameters::{self, Misfit, Words};

/// A stage.
pub(super) struct Stage {
    pub(super) checked: StageBorder,
    /// Its instances by key.
    by_key: HashTable<(u64, Communication)>,
    secret: Secret,
    /// The number of turns that had input for it.
    pub(super) turns: u32,
    /// Measures the latency of tuples to instances, and of their output.
    pub(super) handover: Handover,
    pub(super) latency: Latency,
    pub(super) counters: Counters,
}

/// `border/cl:<Component>/in` and so on.
pub(super) struct Counters {
    pub(super) inputs: Counter,
    pub(super) outputs: Counter,
    pub(super) instances: Counter,
    pub(super) faults: Counter,
    /// Inputs that were being processed when an instance failed.
    pub(super) lost: Counter,
    pub(super) full: Counter,
    pub(super) null: Counter,
    pub(super) misfit: Counter,
    /// Inputs refused for lack of memory, or as the components have ended.
    pub(super) refused: Counter,
}

impl Counters {
    fn new(registry: &Registry, component: &str) -> Counters {
        let counter = |name: &str| registry.counter(&format!("border/cl:{component}/{name}"));
        Counters {
            inputs: counter("in"),
            outputs: counter("out"),
            instances: counter("instances"),
            faults: counter("faults"),
            lost: counter("lost"),
            full: counter("dropped_full"),
            null: counter("dropped_null"),
            misfit: counter("dropped_type"),
            refused: counter("dropped_refused"),
        }
    }

    pub(super) fn misfits(&self, why: Misfit) {
        match why {
            Misfit::Null => self.null.add(1),
            Misfit::Type => self.misfit.add(1),
        }
    }
}

impl Stage {
    pub(super) fn new(checked: &StageBorder, registry: &Registry, secret: Secret) -> Stage {
        Stage {
            counters: Counters::new(registry, &checked.component),
            by_key: HashTable::new(),
            secret,
            turns: 0,
            handover: Handover::new(registry, &format!("cl:{}", checked.component)),
            latency: Latency::new(registry, &format!("cl:{}.out", checked.component)),
            checked: checked.clone(),
        }
    }

    /// The key of a tuple, which rules see when its instance fails. A key of several columns is a
    /// list, built in `list`.
    pub(super) fn key<'v>(&self, columns: Seq<'v>, list: &'v mut SeqBuilder) -> Value<'v> {
        let value = |at: usize| columns.get(at).unwrap_or(Value::Null);
        match self.checked.keys[..] {
            [] => Value::Null,
            [one] => value(one),
            _ => {
                list.clear();
                self.checked.keys.iter().for_each(|&at| list.push(value(at)));
                Value::List(list.as_seq())
            }
        }
    }

    /// A tuple without its location as the parameters of a message.
    pub(super) fn words<'v>(&self, columns: Seq<'v>, words: &mut Words<'v>) -> Result<(), Misfit> {
        let StageBorder { locations, inputs, .. } = &self.checked;
        parameters::words(columns.iter(), locations.0, inputs, words)
    }

    pub(super) fn find(
        &self,
        instances: &CommunicationMap<Instance>,
        key: Value<'_>,
    ) -> Option<Communication> {
        let is_it = |&(_, name): &(u64, Communication)| {
            instances.get(name).is_some_and(|instance| instance.key.get().equal(&key))
        };
        self.by_key.find(key.hash(&self.secret), is_it).map(|&(_, name)| name)
    }

    /// Unlinks an instance from its key: the next tuple of the key makes a new one.
    pub(super) fn forget(&mut self, name: Communication, key: Value<'_>) {
        let hash = key.hash(&self.secret);
        if let Ok(entry) = self.by_key.find_entry(hash, |&(_, other)| other == name) {
            entry.remove();
        }
    }

    pub(super) fn enter(&mut self, name: Communication, key: &OwnedValue) {
        let hash = key.get().hash(&self.secret);
        self.by_key.insert_unique(hash, (hash, name), |&(hash, _)| hash);
    }
}
