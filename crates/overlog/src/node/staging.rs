//! External operators at work on a node: their instances, and what they have yet to yield.
//!
//! What an operator computes joins the turn of its input; what it reads from outside comes in
//! later ones ([`Phase`]). Either goes as far as one turn takes it
//! ([`ROWS_PER_TURN_MAX`], [`BYTES_PER_TURN_MAX`]). The rest waits: when the turn ends, an event
//! of its own is queued for every input with rows left, and so on until there are none.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use tidemill_relation::plan::Action;
use tidemill_relation::{SeqBuilder, Value};
use tidemill_stdx::marks;

use super::turn::{Derived, Origin};
use super::watch::{Observer, Stage};
use super::{Node, Program};
use crate::program::StageUse;
use crate::stage::{Declaration, Failure, Input, Next, Operator, Phase, Rows, output_columns};

/// Rows that one turn takes from one input.
pub const ROWS_PER_TURN_MAX: usize = 1024;

/// Bytes of rows after which a turn takes no more from one input.
pub const BYTES_PER_TURN_MAX: usize = 1 << 20;

/// Inputs of a node that operators work on at a time; more are dropped and counted.
pub const INPUTS_AT_WORK_MAX: usize = 256;

/// Columns that need no memory of their own.
const FEW: usize = 16;

/// The operators of one node.
#[derive(Default)]
pub(super) struct Staging {
    /// One per stage of the program; `None` where the registry does not know the operator.
    operators: Vec<Option<Known>>,
    /// Inputs with rows left; one event waits for each, in the same order.
    waiting: VecDeque<Work>,
    /// Those of the running turn.
    begun: Vec<Work>,
    /// Stages whose first failure has been reported.
    reported: Vec<bool>,
}

/// An operator as this node runs it, and what it is declared as.
type Known = (Arc<Declaration>, Box<dyn Operator>);

/// An input that an operator works on.
struct Work {
    /// The position among the program's stages.
    stage: usize,
    rows: Box<dyn Rows>,
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

    /// The turn has ended: what it has left goes on in later ones. Returns how many there are.
    pub(super) fn put_off(&mut self) -> usize {
        let count = self.begun.len();
        self.waiting.extend(self.begun.drain(..));
        count
    }

    /// The turn has been given up: what it was at is, too.
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

impl Node {
    /// Gives a tuple to a stage that reads its relation.
    pub(super) fn run_stage(
        &mut self,
        stage: usize,
        columns: &[Value<'_>],
        observer: &mut dyn Observer,
    ) {
        marks::leave();
        self.counters.stages[stage].inputs += 1;
        match self.start_stage(stage, columns) {
            Ok(rows) if rows.phase() == Phase::Later => {
                self.staging.begun.push(Work { stage, rows });
            }
            Ok(rows) => self.pull(Work { stage, rows }, observer),
            Err(failure) => {
                self.counters.stages[stage].refused += 1;
                self.report_stage(stage, &failure, observer);
            }
        }
    }

    fn start_stage(
        &mut self,
        stage: usize,
        columns: &[Value<'_>],
    ) -> Result<Box<dyn Rows>, Failure> {
        let input = &self.program.compiled.stages[stage].input;
        let location = self.program.plan().relation(*input).location as usize;
        let own = (columns.iter().enumerate()).filter(|(index, _)| *index != location);
        let (mut few, mut many) = ([Value::Null; FEW], Vec::new());
        let columns = match few.get_mut(..columns.len() - usize::from(location < columns.len())) {
            Some(few) => {
                few.iter_mut().zip(own).for_each(|(to, (_, column))| *to = *column);
                &*few
            }
            None => {
                many.extend(own.map(|(_, column)| *column));
                &many[..]
            }
        };
        let known = self.staging.operators[stage].as_mut();
        let (declaration, operator) =
            known.ok_or_else(|| Failure::Operator("there is no such operator".to_owned()))?;
        declaration.check(columns)?;
        if self.staging.waiting.len() + self.staging.begun.len() >= INPUTS_AT_WORK_MAX {
            let reason = format!("{INPUTS_AT_WORK_MAX} inputs are being worked on already");
            return Err(Failure::Operator(reason));
        }
        operator.start(Input::new(columns))
    }

    /// Goes on with the input whose turn it is.
    pub(super) fn resume_stage(&mut self, observer: &mut dyn Observer) {
        if let Some(work) = self.staging.waiting.pop_front() {
            self.pull(work, observer);
        }
    }

    /// Takes as many rows as a turn takes.
    fn pull(&mut self, mut work: Work, observer: &mut dyn Observer) {
        let mut bytes = 0;
        for _ in 0..ROWS_PER_TURN_MAX {
            let mut row = SeqBuilder::new();
            match work.rows.next(&mut row) {
                Ok(Next::End) => return,
                Ok(Next::Skipped) => {}
                Ok(Next::Row) => {
                    bytes += row.bytes();
                    self.yield_row(work.stage, &row, observer);
                }
                Err(failure) => {
                    self.counters.stages[work.stage].failed += 1;
                    self.report_stage(work.stage, &failure, observer);
                }
            }
            if bytes >= BYTES_PER_TURN_MAX {
                break;
            }
        }
        self.staging.begun.push(work);
    }

    /// Makes a row a tuple of the running turn.
    fn yield_row(&mut self, stage: usize, row: &SeqBuilder, observer: &mut dyn Observer) {
        let program = self.program.clone();
        let relation = program.compiled.stages[stage].output;
        let description = program.plan().relation(relation);
        let arity = match description.is_open() {
            true => row.as_seq().len() + 1,
            false => description.arity(),
        };
        let location = description.location as usize;
        let address = &self.identity.address;
        match output_columns(row.as_seq(), address, location, arity) {
            Some(columns) => {
                self.counters.stages[stage].outputs += 1;
                self.sight(relation, Stage::Sent, None, &columns, observer);
                let derived = Derived { relation, origin: Origin::Stage, action: Action::Emit };
                self.turn.taken.cycle_tuples += u64::from(self.in_cycle());
                self.turn.queue.push(derived, &columns);
            }
            None => {
                self.counters.stages[stage].misfits += 1;
                let (given, name) = (row.as_seq().len() + 1, &description.name);
                let reason =
                    format!("a row of {given} columns with the location; `{name}` has {arity}");
                self.report_stage(stage, &Failure::Operator(reason), observer);
            }
        }
    }

    /// Reports the first failure of a stage.
    fn report_stage(&mut self, stage: usize, failure: &Failure, observer: &mut dyn Observer) {
        if !std::mem::replace(&mut self.staging.reported[stage], true) {
            let StageUse { operator, place, .. } = &self.program.compiled.stages[stage];
            let name = format!("stage {operator}");
            let address = &self.identity.address;
            observer.rule_failed(address, &name, place, &failure.to_string());
        }
    }
}
