//! The stages that components work on, with their instances.

use std::collections::VecDeque;

use tidemill_proc::{Communication, CommunicationMap, Value as Word, Values};
use tidemill_relation::{SeqBuilder, SpareRows};
use tidemill_stat::Registry;
use tidemill_stdx::keyed::Secret;

use super::border::StageBorder;
use super::instance::Instance;
use super::stage::Stage;

/// Inputs that wait for an instance.
pub(super) const WAITING_MAX: usize = 1024;

/// The stages that components work on, with their instances.
#[derive(Default)]
pub(crate) struct Stages {
    pub(super) stages: Vec<Stage>,
    pub(super) instances: CommunicationMap<Instance>,
    /// Instances that have yielded something when many events of the node waited.
    pub(super) held: VecDeque<Communication>,
    /// Memory for what instances yield.
    pub(super) values: Values,
    pub(super) scratch: Scratch,
}

/// Memory for what is done with one tuple.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) words: Vec<Word<'static>>,
    pub(super) key: SeqBuilder,
    /// Of tuples that have waited.
    pub(super) rows: SpareRows,
}

impl Stages {
    /// Of a program that has these; keys are hashed with the secret.
    pub(in crate::borders) fn new(
        checked: &[StageBorder],
        registry: &Registry,
        secret: Secret,
    ) -> Stages {
        let stage = |checked: &StageBorder| Stage::new(checked, registry, secret);
        Stages { stages: checked.iter().map(stage).collect(), ..Stages::default() }
    }

    /// Whether there are any.
    pub(in crate::borders) fn is_some(&self) -> bool {
        !self.stages.is_empty()
    }

    /// Whether no instance has anything left to do for the rules.
    pub(in crate::borders) fn are_idle(&self) -> bool {
        self.held.is_empty() && self.instances.iter().all(|(_, one)| one.is_idle())
    }
}
