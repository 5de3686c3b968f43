//! Giving tuples to external operators, and taking their rows.

use smallvec::SmallVec;
use tidemill_relation::cost::Cost;
use tidemill_relation::plan::Action;
use tidemill_relation::{Seq, SeqBuilder, Value};
use tidemill_stdx::marks;

use super::Node;
use super::event::Event;
use super::stages::Stage;
use super::staging::{BYTES_PER_TURN_MAX, FEW, INPUTS_AT_WORK_MAX, ROWS_PER_TURN_MAX, Work};
use super::tuples::{Derived, TupleOrigin};
use super::watch::Observer;
use crate::program::StageUse;
use crate::stage::{Failure, Input, Next, Phase, Rows, output_columns};

impl Node {
    /// Gives a tuple to a stage that reads its relation.
    pub(super) fn run_stage(
        &mut self,
        stage: usize,
        columns: Seq<'_>,
        observer: &mut dyn Observer,
    ) {
        marks::leave();
        let began = self.profiler.now();
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
        self.note_stage(stage, 1, began);
    }

    /// Notes the cost of an operator that has worked since then.
    fn note_stage(&mut self, stage: usize, fired: u64, began: Option<u64>) {
        if let (Some(began), Some(now)) = (began, self.profiler.now()) {
            let cost = Cost { fired, ns: now.saturating_sub(began), ..Cost::default() };
            self.profiler.add_stage(stage, cost);
        }
    }

    fn start_stage(&mut self, stage: usize, columns: Seq<'_>) -> Result<Box<dyn Rows>, Failure> {
        let input = &self.program.compiled.stages[stage].input;
        let location = self.program.plan().relation(*input).location as usize;
        let own = (columns.iter().enumerate()).filter(|(index, _)| *index != location);
        let columns: SmallVec<[Value<'_>; FEW]> = own.map(|(_, column)| column).collect();
        let at_work = self.staging.at_work();
        let known = self.staging.operators[stage].as_mut();
        let (declaration, operator) =
            known.ok_or_else(|| Failure::Operator("there is no such operator".to_owned()))?;
        declaration.check(&columns)?;
        if at_work >= INPUTS_AT_WORK_MAX {
            let reason = format!("{INPUTS_AT_WORK_MAX} inputs are being worked on already");
            return Err(Failure::Operator(reason));
        }
        operator.start(Input::new(&columns))
    }

    /// Continues with the next input that has rows left.
    pub(super) fn resume_stage(&mut self, observer: &mut dyn Observer) {
        if let Some(work) = self.staging.waiting.pop_front() {
            let (stage, began) = (work.stage, self.profiler.now());
            self.pull(work, observer);
            self.note_stage(stage, 0, began);
        }
    }

    /// When inputs of operators are asked again that had nothing, on the clock of the turns.
    pub fn next_look_ns(&self) -> Option<u64> {
        self.staging.idle_until_ns()
    }

    /// Queues events for the inputs of operators that had nothing; returns their number.
    pub fn look_again(&mut self) -> usize {
        let count = self.staging.take_up();
        (0..count).for_each(|_| self.enqueue(Event::Resume));
        count
    }

    /// Takes rows, up to the limit of a turn.
    fn pull(&mut self, mut work: Work, observer: &mut dyn Observer) {
        let mut bytes = 0;
        for _ in 0..ROWS_PER_TURN_MAX {
            let mut row = SeqBuilder::new();
            match work.rows.next(&mut row) {
                Ok(Next::End) => return,
                Ok(Next::Skipped) => {}
                Ok(Next::Waiting) => return self.staging.put_aside(work, self.turn.now_ns),
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

    /// Adds a row as a tuple of the running turn.
    fn yield_row(&mut self, stage: usize, row: &SeqBuilder, observer: &mut dyn Observer) {
        let program = self.program.clone();
        let relation = program.compiled.stages[stage].output;
        let description = program.plan().relation(relation);
        let arity =
            if description.is_open() { row.as_seq().len() + 1 } else { description.arity() };
        let location = description.location as usize;
        let address = &self.identity.address;
        match output_columns(row.as_seq(), address, location, arity) {
            Some(columns) => {
                self.counters.stages[stage].outputs += 1;
                let derived =
                    Derived { relation, origin: TupleOrigin::Stage, action: Action::Emit };
                self.turn.taken.cycle_tuples += u64::from(self.in_cycle());
                let number = self.turn.queue.len();
                self.turn.queue.push(derived, &columns);
                if let Some((_, columns)) = self.turn.queue.get(number) {
                    self.sight(relation, Stage::Sent, None, columns, observer);
                }
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
