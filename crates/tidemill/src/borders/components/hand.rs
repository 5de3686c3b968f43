//! A stage at work: what becomes of inputs, and of what instances do.

use std::collections::VecDeque;

use tidemill_event::Loop;
use tidemill_proc::{Communication, CommunicationMap, Unsaid, Value as Word, Values};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, Value};

use super::WAITING_MAX;
use super::border::StageBorder;
use super::instance::{Input, Instance};
use super::stage::Stage;
use crate::borders::inbox;
use crate::borders::parameters::{Misfit, located};
use crate::machine::Machine;

/// A stage at work.
pub(super) struct Hand<'h> {
    pub(super) machine: &'h mut Machine,
    pub(super) number: usize,
    pub(super) stage: &'h mut Stage,
    pub(super) instances: &'h mut CommunicationMap<Instance>,
}

impl Hand<'_> {
    /// Gives a tuple to the instance of its key.
    pub(super) fn input(&mut self, columns: &[Value<'_>]) {
        let words = match self.stage.words(columns) {
            Ok(words) => words,
            Err(why) => return self.stage.counters.misfits(why),
        };
        let key = self.stage.key(columns);
        let known = self.stage.find(self.instances, &key);
        let Some(name) = known.or_else(|| self.make(key)) else {
            return self.stage.counters.refused.add(1);
        };
        let Some(instance) = self.instances.get_mut(name) else { return };
        instance.turn = self.stage.turns;
        if instance.is_at_work || !instance.queue.is_empty() {
            if instance.queue.len() >= WAITING_MAX {
                return self.stage.counters.full.add(1);
            }
            let kept = words.iter().map(Word::kept).collect();
            return instance.queue.push_back(kept);
        }
        self.say(name, &words);
    }

    /// A new instance for a key; none, if there is no memory for it.
    fn make(&mut self, key: OwnedValue) -> Option<Communication> {
        let talk = self.stage.checked.talk;
        let worker = self.machine.node.runner.worker();
        if worker.ended().is_some() {
            return None;
        }
        let name = worker.make(talk.kind, talk.interface).ok()?;
        self.stage.counters.instances.add(1);
        self.stage.enter(name, &key);
        self.instances.insert(name, Instance::new(self.number as u32, key));
        Some(name)
    }

    /// Gives an input to an instance that has nothing to do.
    fn say(&mut self, name: Communication, words: &[Word<'_>]) {
        let talk = self.stage.checked.talk;
        match self.machine.node.runner.worker().say(name, talk.input, words) {
            Ok(()) => {
                self.stage.counters.inputs.add(1);
                if let Some(instance) = self.instances.get_mut(name) {
                    instance.is_at_work = true;
                }
            }
            // It failed when it had nothing to do: that is heard of, and the input is for the next.
            Err(Unsaid::Failed) => {
                if let Some(instance) = self.instances.get_mut(name) {
                    instance.queue.push_front(words.iter().map(Word::kept).collect());
                }
                self.machine.node.runner.worker().renote(name);
            }
            Err(Unsaid::Gone | Unsaid::Protocol | Unsaid::Full | Unsaid::OutOfMemory) => {
                self.stage.counters.refused.add(1);
            }
        }
    }

    /// An instance has ended its input: it is given the next.
    pub(super) fn done(&mut self, name: Communication) {
        let Some(instance) = self.instances.get_mut(name) else { return };
        instance.is_at_work = false;
        match instance.queue.pop_front() {
            Some(next) => self.say(name, &next),
            None if instance.is_ending => self.end(name),
            None => {}
        }
    }

    pub(super) fn is_at_work(&self, name: Communication) -> bool {
        self.instances.get(name).is_some_and(|instance| instance.is_at_work)
    }

    fn end(&mut self, name: Communication) {
        self.instances.remove(name);
        self.machine.node.runner.worker().part(name);
    }

    /// A row has gone: the instance of its key ends, once it has done what waits for it; unless
    /// another row of that key has come in the same turn.
    pub(super) fn delete(&mut self, columns: &[Value<'_>]) {
        if self.stage.checked.keys.is_empty() {
            return;
        }
        let key = self.stage.key(columns);
        let Some(name) = self.stage.find(self.instances, &key) else { return };
        let Some(instance) = self.instances.get_mut(name) else { return };
        if instance.turn == self.stage.turns {
            return;
        }
        self.stage.forget(name, &key);
        match instance.is_idle() {
            true => self.end(name),
            false => instance.is_ending = true,
        }
    }

    /// Derives what an instance has yielded.
    pub(super) fn output(&mut self, events: &mut Loop<Machine>, values: &Values) {
        let StageBorder { output, outputs, locations, .. } = &self.stage.checked;
        let columns = outputs.iter().map(|parameter| parameter.value(values));
        match columns.collect::<Result<Vec<OwnedValue>, Misfit>>() {
            Ok(columns) => {
                let (relation, location) = (*output, locations.1);
                if inject(self.machine, events, (relation, location), columns) {
                    self.stage.counters.outputs.add(1);
                } else {
                    self.stage.counters.full.add(1);
                }
            }
            Err(why) => self.stage.counters.misfits(why),
        }
    }

    /// An instance has failed: rules are told, and what waits for it is for a new one.
    pub(super) fn fault(&mut self, events: &mut Loop<Machine>, name: Communication, why: &str) {
        self.machine.node.runner.worker().part(name);
        let Some(instance) = self.instances.remove(name) else { return };
        let Instance { key, queue, is_at_work, is_ending, .. } = instance;
        self.stage.counters.faults.add(1);
        self.stage.counters.lost.add(u64::from(is_at_work));
        if !is_ending {
            self.stage.forget(name, &key);
        }
        if let Some(fault) = self.stage.checked.fault {
            let texts =
                [&self.stage.checked.component, why].map(|it| OwnedValue::new(Value::Str(it)));
            let [component, why] = texts;
            inject(self.machine, events, fault, vec![component, key.clone(), why]);
        }
        self.restart(key, queue, is_ending);
    }

    /// Makes a new instance for what waited for one that has failed.
    fn restart(&mut self, key: OwnedValue, mut queue: VecDeque<Input>, is_ending: bool) {
        let Some(first) = queue.pop_front() else { return };
        let Some(name) = self.make(key) else {
            return self.stage.counters.refused.add(1 + queue.len() as u64);
        };
        if let Some(instance) = self.instances.get_mut(name) {
            (instance.queue, instance.is_ending) = (queue, is_ending);
        }
        if is_ending {
            let key = self.instances.get(name).map(|instance| instance.key.clone());
            key.into_iter().for_each(|key| self.stage.forget(name, &key));
        }
        self.say(name, &first);
    }
}

/// Puts a tuple without its location into the inbox of the node; false if it has no room.
fn inject(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (relation, location): (RelationId, usize),
    mut columns: Vec<OwnedValue>,
) -> bool {
    let Some(address) = machine.fleet.address(machine.node.id) else { return false };
    located(&mut columns, location, address);
    inbox::put(machine, events, relation, columns)
}
