//! The input of a run: all that it follows from, beside the program and the options of the test.

use std::fmt;

use crate::sim::{FaultOptions, Phase, SimOptions, write_seeded};

/// The maximum number of phases after the first.
pub(super) const PHASES_MAX: usize = 15;

/// The input of a run.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Input {
    /// The number of nodes.
    pub(super) nodes: u32,
    /// The seed from the start on.
    pub(super) seed: u64,
    /// The faults from the start on.
    pub(super) faults: FaultOptions,
    /// Later phases, in the order of their times; at most [`PHASES_MAX`].
    pub(super) then: Vec<Phase>,
}

/// Where an input comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It is drawn from a seed.
    Seed,
    /// It is an input of the corpus up to some time, and drawn from a seed from there on.
    Mutation,
    /// It was read from the file of the corpus.
    Corpus,
}

impl Input {
    /// The seed of its last phase.
    pub(super) fn last_seed(&self) -> u64 {
        self.then.last().map_or(self.seed, |phase| phase.seed)
    }

    /// The faults of its last phase.
    pub(super) fn last_faults(&self) -> &FaultOptions {
        self.then.last().map_or(&self.faults, |phase| &phase.faults)
    }

    /// Sets the options of its run, except for the number of nodes.
    pub(super) fn set(&self, options: &mut SimOptions) {
        let Input { nodes: _, seed, faults, then } = self.clone();
        (options.seed, options.faults, options.then) = (seed, faults, then);
    }
}

impl Origin {
    /// Its name in output; `None` for a seed, the usual one.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Origin::Seed => None,
            Origin::Mutation => Some("mutation"),
            Origin::Corpus => Some("corpus"),
        }
    }
}

/// `nodes N seed S [FAULT VALUE]... [then T seed S [FAULT VALUE]...]...`
impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Input { nodes, seed, faults, then } = self;
        write!(f, "nodes {nodes} ")?;
        write_seeded(f, *seed, faults)?;
        then.iter().try_for_each(|phase| write!(f, " then {phase}"))
    }
}
