//! A stage during one call: passes inputs to its instances, and their outputs on.

use std::collections::VecDeque;
use std::convert::Infallible;

use tidemill_event::Loop;
use tidemill_proc::{Communication, CommunicationMap, SendError, Value as Word, Values};
use tidemill_relation::{OwnedValue, Seq, SeqBuilder, Value};

use super::border::StageBorder;
use super::instance::Instance;
use super::stage::Stage;
use super::state::{Scratch, WAITING_MAX};
use crate::borders::inbox;
use crate::borders::parameters::{Words, fill};
use crate::machine::Machine;

/// A stage during one call, with the machine.
pub(super) struct StageContext<'h> {
    pub(super) machine: &'h mut Machine,
    pub(super) number: usize,
    pub(super) stage: &'h mut Stage,
    pub(super) instances: &'h mut CommunicationMap<Instance>,
}

impl StageContext<'_> {
    /// Passes a tuple to the instance of its key.
    pub(super) fn input(&mut self, columns: Seq<'_>, scratch: &mut Scratch) {
        let mut words = Words::new();
        match self.stage.words(columns, &mut words) {
            Ok(()) => self.input_words(columns, &words, scratch),
            Err(why) => self.stage.counters.misfits(why),
        }
    }

    fn input_words(&mut self, columns: Seq<'_>, words: &[Word<'_>], scratch: &mut Scratch) {
        let key = self.stage.key(columns, &mut scratch.key);
        let known = self.stage.find(self.instances, key);
        let Some(name) = known.or_else(|| self.make(OwnedValue::new(key))) else {
            return self.stage.counters.refused.add(1);
        };
        let Some(instance) = self.instances.get_mut(name) else { return };
        instance.turn = self.stage.turns;
        if instance.is_at_work || !instance.queue.is_empty() {
            if instance.queue.len() >= WAITING_MAX {
                return self.stage.counters.full.add(1);
            }
            let mut row = scratch.rows.take();
            row.extend(columns);
            return instance.queue.push_back(row);
        }
        self.send(name, columns, words);
    }

    /// Sends a queued tuple to an idle instance.
    fn send_next(&mut self, name: Communication, row: SeqBuilder, scratch: &mut Scratch) {
        let mut words = Words::new();
        // `input` has checked that the tuple fits.
        if self.stage.words(row.as_seq(), &mut words).is_ok() {
            self.send(name, row.as_seq(), &words);
        }
        drop(words);
        scratch.rows.give(row);
    }

    /// Makes an instance for a key; `None` if there is no memory for it.
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

    /// Sends an input to an idle instance.
    fn send(&mut self, name: Communication, columns: Seq<'_>, words: &[Word<'_>]) {
        let talk = self.stage.checked.talk;
        match self.machine.node.runner.worker().send(name, talk.input, words) {
            Ok(()) => {
                self.stage.counters.inputs.add(1);
                if let Some(instance) = self.instances.get_mut(name) {
                    instance.is_at_work = true;
                }
            }
            // It failed while idle. The input goes to its successor, which `fault` makes.
            Err(SendError::Failed) => {
                if let Some(instance) = self.instances.get_mut(name) {
                    let mut row = SeqBuilder::new();
                    row.extend(columns);
                    instance.queue.push_front(row);
                }
                self.machine.node.runner.worker().renote(name);
            }
            Err(
                SendError::Gone | SendError::Protocol | SendError::Full | SendError::OutOfMemory,
            ) => {
                self.stage.counters.refused.add(1);
            }
        }
    }

    /// An instance has completed its input: sends it the next.
    pub(super) fn done(&mut self, name: Communication, scratch: &mut Scratch) {
        let Some(instance) = self.instances.get_mut(name) else { return };
        instance.is_at_work = false;
        match instance.queue.pop_front() {
            Some(next) => self.send_next(name, next, scratch),
            None if instance.is_ending => self.end(name),
            None => {}
        }
    }

    pub(super) fn is_at_work(&self, name: Communication) -> bool {
        self.instances.get(name).is_some_and(|instance| instance.is_at_work)
    }

    /// Ends an instance. It stays until it is gone, as its FINALLY may fail.
    fn end(&mut self, name: Communication) {
        self.machine.node.runner.worker().end(name);
    }

    /// An instance that was ended is gone.
    pub(super) fn gone(&mut self, name: Communication) {
        self.instances.remove(name);
        self.machine.node.runner.worker().close(name);
    }

    /// A row was deleted: the instance of its key ends after its queued inputs, unless another row
    /// of that key was inserted in the same turn.
    pub(super) fn delete(&mut self, columns: Seq<'_>, scratch: &mut Scratch) {
        if self.stage.checked.keys.is_empty() {
            return;
        }
        let key = self.stage.key(columns, &mut scratch.key);
        let Some(name) = self.stage.find(self.instances, key) else { return };
        let Some(instance) = self.instances.get_mut(name) else { return };
        if instance.turn == self.stage.turns {
            return;
        }
        self.stage.forget(name, key);
        instance.is_ending = true;
        if instance.is_idle() {
            self.end(name);
        }
    }

    /// Derives the output of an instance.
    pub(super) fn output(&mut self, events: &mut Loop<Machine>, values: &Values) {
        let StageBorder { output, outputs, locations, .. } = &self.stage.checked;
        let to = (*output, &self.stage.latency);
        let is_in = inbox::put(self.machine, events, to, |address, row| {
            fill(row, (locations.1, address), outputs, values)
        });
        match is_in {
            Ok(true) => self.stage.counters.outputs.add(1),
            Ok(false) => self.stage.counters.full.add(1),
            Err(why) => self.stage.counters.misfits(why),
        }
    }

    /// An instance has failed: derives `stage::fault`, and moves the queued inputs to a new
    /// instance.
    pub(super) fn fault(
        &mut self,
        events: &mut Loop<Machine>,
        name: Communication,
        why: &str,
        scratch: &mut Scratch,
    ) {
        self.machine.node.runner.worker().close(name);
        let Some(instance) = self.instances.remove(name) else { return };
        let Instance { key, queue, is_at_work, is_ending, .. } = instance;
        self.stage.counters.faults.add(1);
        self.stage.counters.lost.add(u64::from(is_at_work));
        if !is_ending {
            self.stage.forget(name, key.get());
        }
        if let Some((relation, location)) = self.stage.checked.fault {
            let (component, why) = (Value::Str(&self.stage.checked.component), Value::Str(why));
            let to = (relation, &self.stage.latency);
            // The node counts events that it does not accept.
            let Ok(_) = inbox::put(self.machine, events, to, |address, row| {
                let mut columns = vec![component, key.get(), why];
                columns.insert(location.min(columns.len()), Value::Str(address));
                columns.into_iter().for_each(|column| row.push(column));
                Ok::<(), Infallible>(())
            });
        }
        self.restart(key, queue, is_ending, scratch);
    }

    /// Makes a new instance for the queue of a failed one.
    fn restart(
        &mut self,
        key: OwnedValue,
        mut queue: VecDeque<SeqBuilder>,
        is_ending: bool,
        scratch: &mut Scratch,
    ) {
        let Some(first) = queue.pop_front() else { return };
        let Some(name) = self.make(key) else {
            return self.stage.counters.refused.add(1 + queue.len() as u64);
        };
        if let Some(instance) = self.instances.get_mut(name) {
            (instance.queue, instance.is_ending) = (queue, is_ending);
        }
        if is_ending {
            let key = self.instances.get(name).map(|instance| instance.key.clone());
            key.into_iter().for_each(|key| self.stage.forget(name, key.get()));
        }
        self.send_next(name, first, scratch);
    }
}
