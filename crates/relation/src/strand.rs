//! Interpreting strands: the plain evaluator that compiled ones are compared with.
//!
//! A strand runs as nested loops: each step either continues with the next one, once or for each
//! row it finds, or comes back. Tables do not change while a strand runs; what it derives goes to
//! a [`Sink`].

use smallvec::{SmallVec, smallvec};

use crate::aggregate::Accumulator;
use crate::database::Database;
use crate::eval::{EvalError, Scope, is_true};
use crate::expr::{Expr, evaluate};
use crate::flat::Seq;
use crate::plan::{Bind, HeadColumn, Lookup, Output, Pattern, RuleId, Step, Strand};
use crate::table::{RowId, Rows, Visible};
use crate::value::Value;

/// Receives what a strand derives.
pub trait Sink {
    /// A tuple of the head. `results`: how many results an aggregate has taken in, else 1.
    fn derive(&mut self, output: &Output, columns: &[Value<'_>], results: u64);

    /// A derivation was dropped.
    fn failed(&mut self, rule: RuleId, error: EvalError);

    /// An aggregate has taken in a result: the value for each of its columns.
    fn gathered(&mut self, inputs: &[Value<'_>]) {
        let _ = inputs;
    }

    /// So many rows were looked at by joins since the last call; all of them are told when the
    /// strand has run.
    fn looked(&mut self, rows: u32) {
        let _ = rows;
    }

    /// True if it holds more than it may: the strand ends where it is, and what it has derived is
    /// given up.
    fn is_full(&self) -> bool {
        false
    }

    /// A result has passed all joins; called only by strands run with [`Reading::traced`].
    fn joined(&mut self, rule: RuleId) {
        let _ = rule;
    }
}

/// What a strand sees of the tables.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The tables.
    pub database: &'a Database,
    /// Rows seen by the atom at a position of the body.
    pub visible: &'a dyn Fn(u16, &Lookup) -> Visible,
    /// Negations hold whatever the tables contain: what retraction asks for, which wants to know
    /// all that may have been derived.
    pub ignore_absent: bool,
    /// Tell the sink of results that have passed all joins.
    pub traced: bool,
}

/// Sees live rows.
pub fn live(_: u16, _: &Lookup) -> Visible {
    Visible::Live
}

impl<'a> Reading<'a> {
    /// The present state.
    pub fn present(database: &'a Database) -> Reading<'a> {
        Reading { database, visible: &live, ignore_absent: false, traced: false }
    }
}

/// Runs `strand` for a trigger with these columns. The indexes that it reads are
/// [prepared](Database::prepare).
pub fn run<'a>(
    strand: &'a Strand,
    trigger: Seq<'a>,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let mut columns = trigger.iter();
    run_for(strand, |value| columns.next_into(value), reading, scope, sink);
}

/// [`run`] for a trigger whose columns are values.
pub fn run_values<'a>(
    strand: &'a Strand,
    trigger: impl Iterator<Item = Value<'a>>,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    run_for(strand, each(trigger), reading, scope, sink);
}

fn run_for<'a>(
    strand: &'a Strand,
    trigger: impl FnMut(&mut Value<'a>) -> bool,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let mut space = Space::for_strand(strand);
    let mut run = Run::new(strand, &mut space, reading, scope, sink);
    run.start(trigger);
    let looked = run.looked % LOOK_EVERY;
    run.sink.looked(looked);
}

/// Values one after the other, each put where it is wanted; false when there are no more.
///
/// They are written in place: a value that is copied right after it was written in parts waits
/// until the parts have reached the cache.
fn each<'a>(mut values: impl Iterator<Item = Value<'a>>) -> impl FnMut(&mut Value<'a>) -> bool {
    move |to| match values.next() {
        Some(value) => {
            *to = value;
            true
        }
        None => false,
    }
}

/// [`run`] for each of some stored rows.
pub fn run_rows<'a>(
    strand: &'a Strand,
    rows: &[RowId],
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let table = reading.database.table(strand.trigger.relation);
    let mut space = Space::for_strand(strand);
    let mut run = Run::new(strand, &mut space, reading, scope, sink);
    for &row in rows {
        if run.is_over() {
            break;
        }
        run.start(each(table.values(row)));
    }
}

/// A run that can rest between two rows and go on later, over the same tables.
///
/// Only where it stands is kept: when it goes on, what led there is evaluated again. So a strand
/// run this way must not depend on time or chance, and must not aggregate.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    /// Rows that may still be looked at.
    rows_left: u64,
    /// The row at which each nested join goes on, the outermost last.
    path: Vec<RowId>,
    resting: bool,
}

impl Rest {
    /// A run that has not begun.
    pub fn new() -> Rest {
        Rest::default()
    }
}

/// Runs `strand`, which no tuple triggers, from where `rest` stands; false if it rests after
/// looking at some `rows` rows.
pub fn run_on<'a>(
    strand: &'a Strand,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
    (rest, rows): (&mut Rest, u64),
) -> bool {
    debug_assert!(!strand.output.aggregates(), "an aggregate does not rest");
    rest.rows_left = rows;
    rest.resting = false;
    let mut space = Space::for_strand(strand);
    let mut run = Run::new(strand, &mut space, reading, scope, sink);
    run.rest = Some(rest);
    run.start(|_| false);
    !rest.resting
}

struct Run<'a, 'r> {
    strand: &'a Strand,
    reading: Reading<'a>,
    scope: Scope<'a>,
    regs: &'r mut [Value<'a>],
    sink: &'r mut dyn Sink,
    /// One per column of the head, while aggregating.
    aggregates: Option<Aggregates<'a>>,
    /// The head being projected.
    columns: &'r mut SmallVec<[Value<'a>; 8]>,
    /// Where the run stands, if it can rest.
    rest: Option<&'r mut Rest>,
    /// Rows looked at.
    looked: u32,
    /// It was interrupted, or its sink is full.
    over: bool,
}

/// Rows looked at between two looks at whether to go on at all.
const LOOK_EVERY: u32 = 256;

/// Where a run keeps its values: on the stack, for most strands, and never moved.
struct Space<'a> {
    regs: SmallVec<[Value<'a>; 16]>,
    columns: SmallVec<[Value<'a>; 8]>,
}

impl Space<'_> {
    #[inline(always)]
    fn for_strand(strand: &Strand) -> Self {
        let regs = smallvec![Value::Null; strand.regs as usize];
        Space { regs, columns: SmallVec::new() }
    }
}

struct Aggregates<'a> {
    columns: Vec<Aggregated<'a>>,
    results: u64,
}

enum Aggregated<'a> {
    Group(Value<'a>),
    Of(Accumulator),
}

impl<'a, 'r> Run<'a, 'r> {
    fn new(
        strand: &'a Strand,
        space: &'r mut Space<'a>,
        reading: Reading<'a>,
        scope: Scope<'a>,
        sink: &'r mut dyn Sink,
    ) -> Run<'a, 'r> {
        Run {
            strand,
            reading,
            scope,
            regs: &mut space.regs,
            sink,
            aggregates: None,
            columns: &mut space.columns,
            rest: None,
            looked: 0,
            over: false,
        }
    }

    /// Whether to end at once; asked for each row.
    #[inline]
    fn is_over(&mut self) -> bool {
        self.looked = self.looked.wrapping_add(1);
        if self.looked.is_multiple_of(LOOK_EVERY) {
            self.sink.looked(LOOK_EVERY);
            self.over |= self.scope.ambient.is_interrupted() || self.sink.is_full();
        }
        self.over
    }

    fn start(&mut self, trigger: impl FnMut(&mut Value<'a>) -> bool) {
        match self.bind(&self.strand.trigger.columns, trigger) {
            Ok(true) if self.strand.output.aggregates() => self.aggregate(),
            Ok(true) => self.step(0),
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    #[inline]
    fn value(&self, expr: &'a Expr) -> Result<Value<'a>, EvalError> {
        match expr {
            Expr::Reg(reg) => Ok(self.regs[reg.0 as usize]),
            _ => evaluate(expr, self.regs, self.scope),
        }
    }

    fn fail(&mut self, error: EvalError) {
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

    fn step(&mut self, at: usize) {
        if let Err(error) = self.try_step(at) {
            self.fail(error);
        }
    }

    fn try_step(&mut self, at: usize) -> Result<(), EvalError> {
        let Some(step) = self.strand.steps.get(at) else {
            return self.finish();
        };
        match step {
            Step::Join(lookup) => return self.join(lookup, at + 1),
            // A run that rests counts the rows that it looks at, those of a join.
            Step::Exists(lookup) if self.rest.is_some() => return self.join(lookup, at + 1),
            Step::Exists(lookup) => {
                if !self.exists(lookup)? {
                    return Ok(());
                }
            }
            Step::Absent(lookup) => {
                if !self.reading.ignore_absent && self.finds(lookup)? {
                    return Ok(());
                }
            }
            Step::Let(reg, expr) => self.regs[reg.0 as usize] = self.value(expr)?,
            Step::Match(reg, pattern) => {
                if !self.matches(self.regs[reg.0 as usize], pattern)? {
                    return Ok(());
                }
            }
            Step::Filter(condition) => {
                if !is_true(self.value(condition)?, "a condition")? {
                    return Ok(());
                }
            }
        }
        self.try_step(at + 1)
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
        let rows = table.rows(lookup.access, &key, visible);
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

    fn join_row(&mut self, lookup: &'a Lookup, row: RowId, next: usize) {
        match self.bind_row(lookup, row) {
            Ok(true) => self.step(next),
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Like the loop of [`Run::join`], from where the run stands to where it rests.
    fn join_resting(&mut self, lookup: &'a Lookup, mut rows: Rows<'a>, next: usize) {
        let from = self.rest.as_mut().and_then(|rest| rest.path.pop());
        // The row at which it goes on is free, or a few nested joins would use up a short run.
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

    /// The next row; if none may be looked at any more, the run rests there.
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
                Ok(true) => return Ok(true),
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
        // What is compared must have a value, whether there is a row to compare it with or not.
        for expr in lookup.compared_alike() {
            self.value(expr)?;
        }
        let table = self.reading.database.table(lookup.relation);
        for row in table.rows(lookup.access, &key, visible) {
            // One that is over derives nothing more.
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
            self.sink.joined(self.strand.rule);
        }
        if let Some(mut aggregates) = self.aggregates.take() {
            let taken = self.take_in(&mut aggregates);
            self.aggregates = Some(aggregates);
            return taken;
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

    fn take_in(&mut self, aggregates: &mut Aggregates<'a>) -> Result<(), EvalError> {
        // Evaluate all inputs first: a result counts in all columns or in none.
        self.columns.clear();
        for column in &self.strand.output.columns {
            if let HeadColumn::Aggregate { input, .. } = column {
                // `*` counts every result, whatever it holds.
                let star = Ok(Value::Bool(true));
                let value = input.as_ref().map_or(star, |input| self.value(input))?;
                self.columns.push(value);
            }
        }
        let mut inputs = self.columns.iter();
        for column in &mut aggregates.columns {
            if let Aggregated::Of(accumulator) = column
                && let Some(value) = inputs.next()
            {
                accumulator.add(*value)?;
            }
        }
        aggregates.results += 1;
        self.sink.gathered(self.columns);
        Ok(())
    }

    /// Runs the whole strand and derives its one result.
    fn aggregate(&mut self) {
        let (group, steps) = self.strand.steps.split_at(self.strand.output.group_at as usize);
        debug_assert!(steps.len() + group.len() == self.strand.steps.len());
        match self.group(group) {
            Ok(Some(columns)) => {
                self.aggregates = Some(Aggregates { columns, results: 0 });
                self.step(group.len());
                let Some(aggregates) = self.aggregates.take().filter(|_| !self.over) else {
                    return;
                };
                if let Err(error) = self.derive_aggregate(aggregates) {
                    self.fail(error);
                }
            }
            Ok(None) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Evaluates the group columns; `None` if a pattern does not match.
    fn group(&mut self, steps: &'a [Step]) -> Result<Option<Vec<Aggregated<'a>>>, EvalError> {
        for step in steps {
            match step {
                Step::Let(reg, expr) => self.regs[reg.0 as usize] = self.value(expr)?,
                Step::Match(reg, pattern) => {
                    if !self.matches(self.regs[reg.0 as usize], pattern)? {
                        return Ok(None);
                    }
                }
                _ => unreachable!("verified: only Let and Match stand before the group"),
            }
        }
        let column = |column: &'a HeadColumn| match column {
            HeadColumn::Value(expr) => Ok(Aggregated::Group(self.value(expr)?)),
            HeadColumn::Aggregate { function, .. } => {
                Ok(Aggregated::Of(Accumulator::new(*function, *self.reading.database.secret())))
            }
        };
        self.strand.output.columns.iter().map(column).collect::<Result<_, _>>().map(Some)
    }

    fn derive_aggregate(&mut self, aggregates: Aggregates<'a>) -> Result<(), EvalError> {
        self.columns.clear();
        for column in aggregates.columns {
            let value = match column {
                Aggregated::Group(value) => value,
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
