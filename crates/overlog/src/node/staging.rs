//! External operators of a node: their instances, and their inputs with rows left.
//!
//! Rows that an operator computes join the turn of its input; rows that it reads from outside join
//! later ones ([`Phase`]). Both stop at the limit of a turn ([`ROWS_PER_TURN_MAX`],
//! [`BYTES_PER_TURN_MAX`]). The rest waits: when the turn ends, an event of its own is queued for
//! every input with rows left, and so on until there are none.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use super::program::Program;
use crate::program::StageUse;
use crate::stage::{Declaration, Operator, Rows};

/// Rows that one turn takes from one input.
pub const ROWS_PER_TURN_MAX: usize = 1024;

/// Bytes of rows after which a turn takes no more from one input.
pub const BYTES_PER_TURN_MAX: usize = 1 << 20;

/// Inputs of a node that operators work on at a time; more are dropped and counted.
pub const INPUTS_AT_WORK_MAX: usize = 256;

/// The time after which an input is asked again that has nothing now, in nanoseconds.
const IDLE_NS: u64 = 10_000_000;

/// Columns that need no memory of their own.
pub(super) const FEW: usize = 16;

/// The operators of one node.
#[derive(Default)]
pub(super) struct Staging {
    /// One per stage of the program; `None` where the registry does not know the operator.
    pub(super) operators: Vec<Option<Known>>,
    /// Inputs with rows left; one event waits for each, in the same order.
    pub(super) waiting: VecDeque<Work>,
    /// Those of the running turn.
    pub(super) begun: Vec<Work>,
    /// Inputs whose next row is still to come from outside, and when they are asked again.
    pub(super) idle: Vec<Work>,
    idle_until_ns: Option<u64>,
    /// Stages whose first failure has been reported.
    pub(super) reported: Vec<bool>,
}

/// An operator's instance at this node, and its declaration.
pub(super) type Known = (Arc<Declaration>, Box<dyn Operator>);

/// An input that an operator works on.
pub(super) struct Work {
    /// The position among the program's stages.
    pub(super) stage: usize,
    pub(super) rows: Box<dyn Rows>,
}

impl Staging {
    pub(super) fn new(program: &Program) -> Staging {
        let stages = &program.compiled.stages;
        let operator = |stage: &StageUse| {
            let name = &stage.operator;
            program.registry.find(name).zip(program.registry.construct(name))
        };
        Staging {
            operators: stages.iter().map(operator).collect(),
            reported: vec![false; stages.len()],
            ..Staging::default()
        }
    }

    /// Puts aside an input whose next row is still to come from outside.
    pub(super) fn put_aside(&mut self, work: Work, now_ns: u64) {
        self.idle.push(work);
        self.idle_until_ns.get_or_insert(now_ns.saturating_add(IDLE_NS));
    }

    /// When inputs that were put aside are asked again.
    pub(super) fn idle_until_ns(&self) -> Option<u64> {
        self.idle_until_ns
    }

    /// Asks inputs that were put aside again; returns their number.
    pub(super) fn take_up(&mut self) -> usize {
        self.idle_until_ns = None;
        let count = self.idle.len();
        self.waiting.extend(self.idle.drain(..));
        count
    }

    /// The operators of another program. Inputs that were put aside go on where it has the stage:
    /// `same` is its position, by that in the old program.
    pub(super) fn carried_to(
        self,
        program: &Program,
        same: impl Fn(usize) -> Option<usize>,
    ) -> Staging {
        let Staging { idle, idle_until_ns, .. } = self;
        let idle = idle.into_iter().filter_map(|work| {
            let Work { stage, rows } = work;
            same(stage).map(|stage| Work { stage, rows })
        });
        Staging { idle: idle.collect(), idle_until_ns, ..Staging::new(program) }
    }

    /// The number of inputs with rows left.
    pub(super) fn at_work(&self) -> usize {
        self.waiting.len() + self.begun.len() + self.idle.len()
    }

    /// Ends the turn: inputs with rows left continue in later ones. Returns their number.
    #[inline]
    pub(super) fn put_off(&mut self) -> usize {
        if self.begun.is_empty() { 0 } else { self.put_off_begun() }
    }

    fn put_off_begun(&mut self) -> usize {
        let count = self.begun.len();
        self.waiting.extend(self.begun.drain(..));
        count
    }

    /// Gives up the inputs of a turn that is given up.
    pub(super) fn abandon(&mut self) -> impl Iterator<Item = usize> {
        self.begun.drain(..).map(|work| work.stage)
    }
}

impl fmt::Debug for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.waiting.iter().map(|work| work.stage);
        f.debug_struct("Staging").field("waiting", &Vec::from_iter(waiting)).finish_non_exhaustive()
    }
}
