//! The stages that components work on, with their instances.

use std::collections::VecDeque;

use tidemill_proc::{Communication, CommunicationMap, Values};
use tidemill_relation::{SeqBuilder, SpareRows};
use tidemill_stat::Registry;
use tidemill_stdx::keyed::Secret;

use super::border::StageBorder;
use super::instance::Instance;
use super::stage::Stage;
use crate::borders::counterparts::Counterparts;

/// The maximum number of inputs queued for an instance.
pub(super) const WAITING_MAX: usize = 1024;

/// The stages that components work on, with their instances.
#[derive(Default)]
pub(crate) struct Stages {
    pub(super) stages: Vec<Stage>,
    pub(super) instances: CommunicationMap<Instance>,
    /// Instances whose output is held back, as many events of the node waited.
    pub(super) held: VecDeque<Communication>,
    /// A buffer for output of instances.
    pub(super) values: Values,
    pub(super) scratch: Scratch,
}

/// Buffers for processing one tuple.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) key: SeqBuilder,
    /// Spare buffers of queued tuples.
    pub(super) rows: SpareRows,
}

impl Stages {
    /// Of a program with these borders; keys are hashed with the secret.
    pub(in crate::borders) fn new(
        checked: &[StageBorder],
        registry: &Registry,
        secret: Secret,
    ) -> Stages {
        let stage = |checked: &StageBorder| Stage::new(checked, registry, secret);
        Stages { stages: checked.iter().map(stage).collect(), ..Stages::default() }
    }

    /// Rebinds to the stages of other rules. Unchanged stages keep their instances. Returns the
    /// instances of the others, which are to be ended, and the numbers of new stages.
    pub(super) fn rebind(
        &mut self,
        checked: &[StageBorder],
        (registry, secret): (&Registry, Secret),
        counterparts: &Counterparts<'_>,
    ) -> (Vec<Communication>, Vec<usize>) {
        let mut before: Vec<Option<Stage>> = self.stages.drain(..).map(Some).collect();
        let mut begun = Vec::new();
        let mut places = vec![None; before.len()];
        for (number, checked) in checked.iter().enumerate() {
            let goes_on = |stage: &Option<Stage>| {
                stage.as_ref().is_some_and(|it| it.checked.goes_on(checked, counterparts))
            };
            let known = before.iter().position(goes_on);
            let stage = known.and_then(|at| {
                places[at] = Some(number as u32);
                let mut stage = before[at].take()?;
                stage.checked = checked.clone();
                Some(stage)
            });
            self.stages.push(stage.unwrap_or_else(|| {
                begun.push(number);
                Stage::new(checked, registry, secret)
            }));
        }
        let mut parted = Vec::new();
        for (name, instance) in self.instances.iter_mut() {
            let old = instance.stage as usize;
            match places.get(old).copied().flatten() {
                Some(number) => instance.stage = number,
                None => {
                    parted.push(name);
                    if let Some(stage) = before.get(old).and_then(Option::as_ref) {
                        stage.counters.lost.add(instance.inputs());
                    }
                }
            }
        }
        for &name in &parted {
            self.instances.remove(name);
        }
        self.held.retain(|name| !parted.contains(name));
        (parted, begun)
    }

    /// Counts the inputs that wait or are in progress as lost, as the node crashes.
    pub(in crate::borders) fn lose(&self) {
        for (_, instance) in self.instances.iter() {
            if let Some(stage) = self.stages.get(instance.stage as usize) {
                stage.counters.lost.add(instance.inputs());
            }
        }
    }

    /// Whether there are any.
    pub(in crate::borders) fn is_some(&self) -> bool {
        !self.stages.is_empty()
    }

    /// Whether no instance has input.
    pub(in crate::borders) fn are_idle(&self) -> bool {
        self.held.is_empty() && self.instances.iter().all(|(_, one)| one.is_idle())
    }
}
