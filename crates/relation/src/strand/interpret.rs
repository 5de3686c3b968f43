//! A strand as nested loops: each step continues with the next one, once or for each row that it
//! finds, or returns.

use smallvec::{SmallVec, smallvec};

use super::joined::{Joins, Unrecorded};
use super::reading::Reading;
use super::rest::Rest;
use super::sink::Sink;
use crate::aggregate::Accumulator;
use crate::eval::{EvalError, Scope, is_true};
use crate::expr::{Expr, evaluate};
use crate::plan::{Bind, HeadColumn, Lookup, Pattern, Step, Strand};
use crate::table::{RowId, Rows};
use crate::value::Value;

/// A running strand. `J` records the joined rows; nothing, unless the run is traced.
pub(crate) struct Run<'a, 'r, J: Joins = Unrecorded> {
    pub(crate) strand: &'a Strand,
    pub(crate) reading: &'r Reading<'a>,
    pub(crate) scope: Scope<'a>,
    pub(crate) regs: &'r mut [Value<'a>],
    pub(crate) sink: &'r mut dyn Sink,
    /// One per column of the head, while aggregating.
    aggregates: Option<Aggregates<'a>>,
    /// The head being projected.
    columns: &'r mut Columns<'a>,
    /// The position of the run, if it can rest.
    pub(super) rest: Option<&'r mut Rest>,
    /// Rows examined.
    looked: u32,
    /// It was interrupted, or its sink is full.
    over: bool,
    /// The rows that the joins above the present step have found.
    pub(super) joins: J,
}

/// Rows examined between two checks for an interrupt.
const LOOK_EVERY: u32 = 256;

/// The storage of the values of a run: on the stack for most strands, and never moved.
pub(crate) struct Space<'a> {
    regs: SmallVec<[Value<'a>; 16]>,
    columns: Columns<'a>,
}

/// The columns of a head.
pub(crate) type Columns<'a> = SmallVec<[Value<'a>; 8]>;

impl<'a> Space<'a> {
    /// The registers, and the buffer of a head.
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> (&mut [Value<'a>], &mut Columns<'a>) {
        (&mut self.regs, &mut self.columns)
    }

    #[inline(always)]
    pub(crate) fn for_strand(strand: &Strand) -> Self {
        let regs = smallvec![Value::Null; strand.regs as usize];
        Space { regs, columns: SmallVec::new() }
    }
}

pub(crate) struct Aggregates<'a> {
    columns: SmallVec<[Aggregated<'a>; 4]>,
    results: u64,
}

pub(crate) enum Aggregated<'a> {
    Group(Value<'a>),
    Of(Accumulator),
}

impl<'a, 'r, J: Joins> Run<'a, 'r, J> {
    #[inline]
    pub(crate) fn new(
        strand: &'a Strand,
        (regs, columns): (&'r mut [Value<'a>], &'r mut Columns<'a>),
        reading: &'r Reading<'a>,
        scope: Scope<'a>,
        sink: &'r mut dyn Sink,
    ) -> Run<'a, 'r, J> {
        Run {
            strand,
            reading,
            scope,
            regs,
            sink,
            aggregates: None,
            columns,
            rest: None,
            looked: 0,
            over: false,
            joins: J::default(),
        }
    }

    /// Whether to end early; called for each row.
    #[inline]
    pub(crate) fn is_over(&mut self) -> bool {
        self.looked = self.looked.wrapping_add(1);
        if self.looked.is_multiple_of(LOOK_EVERY) {
            self.sink.looked(LOOK_EVERY);
            self.over |= self.scope.ambient.is_interrupted() || self.sink.is_full();
        }
        self.over
    }

    /// Reports the rows looked at since the last report to the sink.
    #[inline]
    pub(crate) fn end(&mut self) {
        let looked = self.looked % LOOK_EVERY;
        self.sink.looked(looked);
        if let Some(profile) = self.reading.profile {
            profile.note(self.regs);
        }
    }

    /// Runs the strand for a trigger, whose columns are read one after the other.
    pub(crate) fn start(&mut self, trigger: impl FnMut(&mut Value<'a>) -> bool) {
        match self.bind(&self.strand.trigger.columns, trigger) {
            Ok(true) if self.strand.output.aggregates() => self.aggregate(),
            Ok(true) => self.step(0),
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    #[inline]
    pub(super) fn value(&self, expr: &'a Expr) -> Result<Value<'a>, EvalError> {
        match expr {
            Expr::Reg(reg) => Ok(self.regs[reg.0 as usize]),
            _ => evaluate(expr, self.regs, self.scope),
        }
    }

    pub(crate) fn fail(&mut self, error: EvalError) {
        self.sink.failed(self.strand.rule, error);
    }

    /// Binds columns, as many as `next` gives, to registers; false if one does not equal what it
    /// must.
    #[inline]
    fn bind(
        &mut self,
        binds: &'a [Bind],
        mut next: impl FnMut(&mut Value<'a>) -> bool,
    ) -> Result<bool, EvalError> {
        let mut value = Value::Null;
        for bind in binds {
            let to = match bind {
                Bind::Reg(reg) => &mut self.regs[reg.0 as usize],
                Bind::Ignore | Bind::Equal(_) => &mut value,
            };
            if !next(to) {
                return Ok(true);
            }
            if let Bind::Equal(expr) = bind
                && !self.value(expr)?.equal(&value)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn bind_row(&mut self, lookup: &'a Lookup, row: RowId) -> Result<bool, EvalError> {
        let table = self.reading.database.table(lookup.relation);
        for (column, bind) in (0..).zip(&lookup.columns) {
            match bind {
                Bind::Ignore => {}
                Bind::Reg(reg) => {
                    let to = &mut self.regs[reg.0 as usize];
                    *to = table.value(row, column);
                }
                Bind::Equal(expr) => {
                    if !self.value(expr)?.equal(&table.value(row, column)) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Continues from a step.
    pub(crate) fn step(&mut self, at: usize) {
        if let Err(error) = self.try_step(at) {
            self.fail(error);
        }
    }

    fn try_step(&mut self, at: usize) -> Result<(), EvalError> {
        let Some(step) = self.strand.steps.get(at) else {
            return self.finish();
        };
        let depth = self.joins.depth();
        match step {
            Step::Join(lookup) => return self.join(lookup, at + 1),
            // A run that can rest counts the rows that it examines, those of a join.
            Step::Exists(lookup) if self.rest.is_some() => return self.join(lookup, at + 1),
            _ => {
                if !self.pass(step)? {
                    return Ok(());
                }
            }
        }
        let passed = self.try_step(at + 1);
        self.joins.leave(depth);
        passed
    }

    /// Runs a step that continues once or not at all; returns whether it continues.
    #[inline]
    pub(crate) fn pass(&mut self, step: &'a Step) -> Result<bool, EvalError> {
        match step {
            Step::Exists(lookup) => self.exists(lookup),
            Step::Absent(lookup) => Ok(self.reading.ignore_absent || !self.finds(lookup)?),
            Step::Let(reg, expr) => {
                self.regs[reg.0 as usize] = self.value(expr)?;
                Ok(true)
            }
            Step::Match(reg, pattern) => self.matches(self.regs[reg.0 as usize], pattern),
            Step::Filter(condition) => is_true(self.value(condition)?, "a condition"),
            Step::Join(_) => unreachable!("a join goes on once for each row"),
        }
    }

    fn put_key(&self, lookup: &'a Lookup, key: &mut Key<'a>) -> Result<(), EvalError> {
        for expr in &lookup.key {
            key.push(self.value(expr)?);
        }
        Ok(())
    }

    fn join(&mut self, lookup: &'a Lookup, next: usize) -> Result<(), EvalError> {
        let visible = (self.reading.visible)(lookup.atom, lookup);
        let mut key = Key::new();
        self.put_key(lookup, &mut key)?;
        let table = self.reading.database.table(lookup.relation);
        let rows = table.rows_within(lookup.access, &key, &self.limits(lookup), visible);
        match self.rest {
            None => {
                for row in rows {
                    if self.is_over() {
                        break;
                    }
                    self.join_row(lookup, row, next);
                }
            }
            Some(_) => self.join_resting(lookup, rows, next),
        }
        Ok(())
    }

    /// Continues with step `next` if the row of a join matches.
    pub(crate) fn join_row(&mut self, lookup: &'a Lookup, row: RowId, next: usize) {
        match self.bind_row(lookup, row) {
            Ok(true) => {
                let depth = self.joins.depth();
                self.joins.enter(lookup.relation, row);
                self.step(next);
                self.joins.leave(depth);
            }
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Like the loop of [`Run::join`], from the saved position to where the run rests.
    fn join_resting(&mut self, lookup: &'a Lookup, mut rows: Rows<'a>, next: usize) {
        let from = self.rest.as_mut().and_then(|rest| rest.path.pop());
        // The row at which it resumes is not counted, or a few nested joins would use up a short
        // run.
        let mut row = match from {
            Some(from) => {
                rows = rows.starting_at(from);
                rows.next()
            }
            None => self.spend(&mut rows),
        };
        while let Some(at) = row {
            if !self.is_resting() {
                self.join_row(lookup, at, next);
            }
            if self.is_resting() {
                self.rest.iter_mut().for_each(|rest| rest.path.push(at));
                return;
            }
            row = self.spend(&mut rows);
        }
    }

    /// The next row; if the budget is used up, the run rests there.
    fn spend(&mut self, rows: &mut Rows<'a>) -> Option<RowId> {
        let row = rows.next()?;
        if let Some(rest) = &mut self.rest {
            rest.resting = rest.rows_left == 0;
            rest.rows_left = rest.rows_left.saturating_sub(1);
        }
        Some(row)
    }

    fn is_resting(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.resting)
    }

    /// Whether a row is found; what fails in a row before it is reported as in a join.
    fn exists(&mut self, lookup: &'a Lookup) -> Result<bool, EvalError> {
        let visible = (self.reading.visible)(lookup.atom, lookup);
        let mut key = Key::new();
        self.put_key(lookup, &mut key)?;
        let table = self.reading.database.table(lookup.relation);
        for row in table.rows(lookup.access, &key, visible) {
            if self.is_over() {
                break;
            }
            match self.bind_row(lookup, row) {
                Ok(true) => {
                    self.joins.enter(lookup.relation, row);
                    return Ok(true);
                }
                Ok(false) => {}
                Err(error) => self.fail(error),
            }
        }
        Ok(false)
    }

    fn finds(&mut self, lookup: &'a Lookup) -> Result<bool, EvalError> {
        let visible = (self.reading.visible)(lookup.atom, lookup);
        let mut key = Key::new();
        self.put_key(lookup, &mut key)?;
        // Comparands must have a value, even if there is no row to compare with.
        for expr in lookup.compared_alike() {
            self.value(expr)?;
        }
        let table = self.reading.database.table(lookup.relation);
        for row in table.rows(lookup.access, &key, visible) {
            // An interrupted run derives nothing more.
            if self.is_over() || self.bind_row(lookup, row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn matches(&mut self, value: Value<'a>, pattern: &'a Pattern) -> Result<bool, EvalError> {
        match pattern {
            Pattern::Any => Ok(true),
            Pattern::Reg(reg) => {
                self.regs[reg.0 as usize] = value;
                Ok(true)
            }
            Pattern::Equal(expr) => Ok(self.value(expr)?.equal(&value)),
            Pattern::List { elements, tail } => {
                let Some(mut rest) = value.as_seq() else { return Ok(false) };
                let enough = match tail {
                    Some(_) => rest.len() >= elements.len(),
                    None => rest.len() == elements.len(),
                };
                if !enough {
                    return Ok(false);
                }
                for element in elements {
                    let (Some(first), Some(after)) = (rest.get(0), rest.tail()) else {
                        return Ok(false);
                    };
                    if !self.matches(first, element)? {
                        return Ok(false);
                    }
                    rest = after;
                }
                match tail {
                    Some(tail) => self.matches(Value::List(rest), tail),
                    None => Ok(true),
                }
            }
        }
    }

    /// All steps have passed: derive the head, or take the result into the aggregates.
    fn finish(&mut self) -> Result<(), EvalError> {
        if self.reading.traced {
            self.sink.joined(self.strand.rule, self.joins.rows());
        }
        if self.aggregates.is_some() {
            return self.take_in();
        }
        let output = &self.strand.output;
        self.columns.clear();
        for column in &output.columns {
            if let HeadColumn::Value(expr) = column {
                let value = self.value(expr)?;
                self.columns.push(value);
            }
        }
        self.sink.derive(output, self.columns, 1);
        Ok(())
    }

    fn take_in(&mut self) -> Result<(), EvalError> {
        // Evaluate all inputs first: a result counts in all columns or in none.
        let mut inputs: SmallVec<[Value<'a>; 8]> = SmallVec::new();
        for column in &self.strand.output.columns {
            if let HeadColumn::Aggregate { input, .. } = column {
                // `*` counts every result, whatever it holds.
                let star = Ok(Value::Bool(true));
                inputs.push(input.as_ref().map_or(star, |input| self.value(input))?);
            }
        }
        self.take_in_values(&inputs)
    }

    /// Takes a result into the aggregates: the value for each of them.
    pub(crate) fn take_in_values(&mut self, inputs: &[Value<'a>]) -> Result<(), EvalError> {
        let Some(aggregates) = &mut self.aggregates else { return Ok(()) };
        let mut left = inputs.iter();
        for column in &mut aggregates.columns {
            if let Aggregated::Of(accumulator) = column
                && let Some(value) = left.next()
            {
                accumulator.add(*value)?;
            }
        }
        aggregates.results += 1;
        self.sink.gathered(inputs);
        Ok(())
    }

    /// Runs the whole strand and derives its one result.
    fn aggregate(&mut self) {
        let (group, steps) = self.strand.steps.split_at(self.strand.output.group_at as usize);
        debug_assert!(steps.len() + group.len() == self.strand.steps.len());
        match self.group(group) {
            Ok(true) => {
                self.step(group.len());
                self.end_group();
            }
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Runs the steps before the group; false if a pattern does not match.
    fn group(&mut self, steps: &'a [Step]) -> Result<bool, EvalError> {
        for step in steps {
            debug_assert!(matches!(step, Step::Let(..) | Step::Match(..)), "verified");
            if !self.pass(step)? {
                return Ok(false);
            }
        }
        self.begin_group().map(|()| true)
    }

    /// Evaluates the group columns: from here on results are gathered.
    pub(crate) fn begin_group(&mut self) -> Result<(), EvalError> {
        let mut columns = SmallVec::new();
        for column in &self.strand.output.columns {
            columns.push(match column {
                HeadColumn::Value(expr) => Aggregated::Group(self.value(expr)?),
                HeadColumn::Aggregate { function, .. } => {
                    let secret = *self.reading.database.secret();
                    Aggregated::Of(Accumulator::new(*function, secret))
                }
            });
        }
        self.aggregates = Some(Aggregates { columns, results: 0 });
        Ok(())
    }

    /// Derives the one result of what was gathered.
    pub(crate) fn end_group(&mut self) {
        let derived = if self.over { Ok(()) } else { self.derive_aggregate() };
        self.aggregates = None;
        if let Err(error) = derived {
            self.fail(error);
        }
    }

    fn derive_aggregate(&mut self) -> Result<(), EvalError> {
        let Some(aggregates) = &self.aggregates else { return Ok(()) };
        self.columns.clear();
        for column in &aggregates.columns {
            let value = match column {
                Aggregated::Group(value) => *value,
                Aggregated::Of(accumulator) => accumulator.finish(self.scope)?,
            };
            self.columns.push(value);
        }
        self.sink.derive(&self.strand.output, self.columns, aggregates.results);
        Ok(())
    }
}

/// The values of an index key.
type Key<'a> = SmallVec<[Value<'a>; 4]>;
