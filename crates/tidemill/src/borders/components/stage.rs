//! A stage that a component works on: its instances by key, and its counters.

use hashbrown::HashTable;
use tidemill_proc::{Communication, CommunicationMap, Value as Word};
use tidemill_relation::{OwnedValue, SeqBuilder, Value};
use tidemill_stat::{Counter, Registry};
use tidemill_stdx::keyed::Secret;

use super::border::StageBorder;
use super::instance::Instance;
use crate::borders::parameters::Misfit;

/// A stage.
pub(super) struct Stage {
    pub(super) checked: StageBorder,
    /// Its instances by key.
    by_key: HashTable<(u64, Communication)>,
    secret: Secret,
    /// Counts the turns that had something for it.
    pub(super) turns: u32,
    pub(super) counters: Counters,
}

/// `border/cl:<Component>/in` and so on.
pub(super) struct Counters {
    pub(super) inputs: Counter,
    pub(super) outputs: Counter,
    pub(super) instances: Counter,
    pub(super) faults: Counter,
    /// Inputs that instances were at when they failed.
    pub(super) lost: Counter,
    pub(super) full: Counter,
    pub(super) null: Counter,
    pub(super) misfit: Counter,
    /// Inputs for which there was no memory, or no components any more.
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
            checked: checked.clone(),
        }
    }

    /// The key of a tuple, which rules see when its instance fails.
    pub(super) fn key(&self, columns: &[Value<'_>]) -> OwnedValue {
        let value = |&at: &usize| columns.get(at).copied().unwrap_or(Value::Null);
        match &self.checked.keys[..] {
            [] => OwnedValue::new(Value::Null),
            [one] => OwnedValue::new(value(one)),
            several => {
                let mut list = SeqBuilder::new();
                several.iter().for_each(|at| list.push(value(at)));
                OwnedValue::new(Value::List(list.as_seq()))
            }
        }
    }

    /// A tuple without its location, as the parameters of a message.
    pub(super) fn words<'v>(&self, columns: &[Value<'v>]) -> Result<Vec<Word<'v>>, Misfit> {
        let own = columns.iter().enumerate().filter(|(at, _)| *at != self.checked.locations.0);
        let parameters = self.checked.inputs.iter();
        own.zip(parameters).map(|((_, value), parameter)| parameter.kind.word(*value)).collect()
    }

    pub(super) fn find(
        &self,
        instances: &CommunicationMap<Instance>,
        key: &OwnedValue,
    ) -> Option<Communication> {
        let key = key.get();
        let is_it = |&(_, name): &(u64, Communication)| {
            instances.get(name).is_some_and(|instance| instance.key.get().equal(&key))
        };
        self.by_key.find(key.hash(&self.secret), is_it).map(|&(_, name)| name)
    }

    /// The next tuple of this key makes a new instance.
    pub(super) fn forget(&mut self, name: Communication, key: &OwnedValue) {
        let hash = key.get().hash(&self.secret);
        if let Ok(entry) = self.by_key.find_entry(hash, |&(_, other)| other == name) {
            entry.remove();
        }
    }

    pub(super) fn enter(&mut self, name: Communication, key: &OwnedValue) {
        let hash = key.get().hash(&self.secret);
        self.by_key.insert_unique(hash, (hash, name), |&(hash, _)| hash);
    }
}
