//! Evaluating a query, some rows at a time, so that it blocks nothing.
//!
//! ```text
//! copy     the tables that it reads, while the node's turns wait     the only part that they do
//! derive   each rule of the small program, joins resting between two rows; aggregates by group
//! gather   the rows of the answer
//! sort     them
//! ```
//! The rules of a query do not recurse, so one pass over each, in the order of strata, is their
//! fixed point. The price is a copy of the tables it reads. Each part has a limit.

use std::cmp::Ordering;
use std::sync::Arc;

use tidemill_relation::aggregate::Accumulator;
use tidemill_relation::database::Database;
use tidemill_relation::expr::{Ambient, EvalError, Param, Scope};
use tidemill_relation::plan::{HeadColumn, Output, Plan, RelationId, RuleId, ViewKind, ViewRule};
use tidemill_relation::strand::{Reading, Rest, Sink, run_on};
use tidemill_relation::table::{Key, RowId, Table, TableSpec};
use tidemill_relation::text::Pattern;
use tidemill_relation::{Messages, OwnedValue, Seq, TupleBuf, Value};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;

use super::failure::Failure;
use super::question::{HEAD, Question, is_visible};
use super::sorting::Sorting;
use crate::ast::Rule;
use crate::check::system::{self, SystemTable};
use crate::node::{Identity, Node, node_id};
use crate::stage::Registry;

/// The limits of one query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Rows that the tables it reads, and its answer, may have.
    pub rows: usize,
    /// Bytes that its copies of tables, and its answer, may have.
    pub bytes: usize,
    /// Rows that it may derive, equal ones included.
    pub derived: u64,
    /// Steps that it may take: rows examined, copied, sorted.
    pub steps: u64,
    /// Time that work on it may take, others' turns not counted.
    pub time_ns: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            rows: 4_000_000,
            bytes: 256 << 20,
            derived: 16_000_000,
            steps: 2_000_000_000,
            time_ns: 60_000_000_000,
        }
    }
}

/// Moves of the sort for which one step is charged.
const MOVES_PER_STEP: usize = 4;

/// The answer to a query.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The name of the table, or of the rule's head.
    pub name: String,
    rows: TupleBuf<()>,
    order: Vec<u32>,
}

impl Answer {
    /// The rows, sorted by their columns.
    pub fn rows(&self) -> impl Iterator<Item = Seq<'_>> {
        (0..self.len()).filter_map(|place| self.row(place))
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The row at a place in the order.
    pub(super) fn row(&self, place: usize) -> Option<Seq<'_>> {
        Some(self.rows.get(*self.order.get(place)? as usize)?.1)
    }
}

fn compare(a: Seq<'_>, b: Seq<'_>) -> Ordering {
    let differs = a.iter().zip(b.iter()).map(|(a, b)| a.total_order(&b));
    differs.into_iter().find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

/// The input of a query: the tables of a node, and the environment of its rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder<'a> {
    pub plan: &'a Plan,
    pub database: &'a Database,
    pub operators: &'a Arc<Registry>,
    pub identity: &'a Identity,
}

impl<'a> From<&'a Node> for Holder<'a> {
    fn from(node: &'a Node) -> Holder<'a> {
        Holder {
            plan: node.program().plan(),
            database: node.database(),
            operators: node.program().operators(),
            identity: node.identity(),
        }
    }
}

/// Answers a query from the tables of a node in one call.
///
/// # Errors
/// Why there is none.
pub fn evaluate(node: &Node, text: &str) -> Result<Answer, Failure> {
    const STEPS: u64 = 1 << 20;
    let mut evaluation = Evaluation::new(node.into(), text, Limits::default())?;
    while !evaluation.copy(node.into(), STEPS)? {}
    while !evaluation.go_on(STEPS)? {}
    Ok(evaluation.into_answer())
}

/// The first row that a rule derives, given as the tree of a query; it stops there.
///
/// # Errors
/// Why it cannot be evaluated.
pub(crate) fn first(
    holder: Holder<'_>,
    rule: Rule,
    limits: Limits,
) -> Result<Option<Vec<OwnedValue>>, Failure> {
    const STEPS: u64 = 1 << 12;
    let question = Question::of_rule(holder.plan, holder.operators, rule)?;
    let mut evaluation = Evaluation::begin(holder, question, limits)?;
    while !evaluation.copy(holder, STEPS)? {}
    while !evaluation.go_on(STEPS)? {
        let head = evaluation.plan.find(HEAD).and_then(|head| evaluation.database.get(head));
        let is_found = head.is_some_and(|head| head.next_row().0 > 0);
        if is_found && matches!(evaluation.part, Part::Derive { .. }) {
            evaluation.part = Part::Gather { row: 0 };
        }
    }
    let answer = evaluation.into_answer();
    Ok(answer.row(0).map(|row| row.iter().map(OwnedValue::new).collect()))
}

/// The progress of an evaluation after the tables are copied.
#[derive(Clone, Debug)]
enum Part {
    /// A rule, by its place among all rules, and where its joins rest.
    Derive {
        rule: usize,
        rest: Rest,
    },
    /// The groups of an aggregating rule, from one on.
    Aggregate {
        rule: usize,
        group: u32,
    },
    /// The rows of the head, from one on.
    Gather {
        row: u32,
    },
    Sort(Sorting),
}

/// A query being evaluated; see the module.
#[derive(Debug)]
pub(super) struct Evaluation {
    limits: Limits,
    name: String,
    identity: Identity,
    operators: Arc<Registry>,
    plan: Arc<Plan>,
    database: Database,
    scratch: Bump,
    /// Tables that are yet to be copied.
    sources: Vec<Source>,
    /// Of a table: the rows that belong to the answer; all without one.
    pattern: Option<Pattern>,
    /// The next row of the last of them.
    next_row: u32,
    rows_read: usize,
    part: Part,
    groups: Groups,
    derived: u64,
    steps: u64,
    rows: TupleBuf<()>,
}

/// A table that a query reads.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    /// At the node, which does not keep all tables of the system.
    from: Option<RelationId>,
    /// Where it is copied to; to the answer, if nowhere.
    into: Option<RelationId>,
}

/// The groups of an aggregating rule.
#[derive(Debug, Default)]
struct Groups {
    /// One row each, found by the columns that make the group.
    rows: Option<Table>,
    /// By row, one for each aggregate of the head.
    accumulators: Vec<Vec<Accumulator>>,
}

impl Evaluation {
    /// Compiles a query.
    pub(super) fn new(
        holder: Holder<'_>,
        text: &str,
        limits: Limits,
    ) -> Result<Evaluation, Failure> {
        let question = Question::read(holder.plan, holder.operators, text)?;
        Evaluation::begin(holder, question, limits)
    }

    /// Nothing of a question is copied yet.
    fn begin(
        holder: Holder<'_>,
        question: Question,
        limits: Limits,
    ) -> Result<Evaluation, Failure> {
        let (name, plan, sources) = match question {
            Question::Table { name, pattern } => {
                let from = holder.plan.find(&name);
                let sources = vec![Source { name: name.clone(), from, into: None }];
                let of = Evaluation::of(holder, name, Plan::default(), limits);
                return Ok(Evaluation { sources, pattern, ..of });
            }
            Question::Rule { name, plan } => {
                let sources = sources(holder.plan, &plan)?;
                (name, plan, sources)
            }
        };
        Ok(Evaluation { sources, ..Evaluation::of(holder, name, plan, limits) })
    }

    /// Nothing is copied yet, or ever will be.
    fn of(holder: Holder<'_>, name: String, plan: Plan, limits: Limits) -> Evaluation {
        Evaluation {
            limits,
            name,
            identity: holder.identity.clone(),
            operators: holder.operators.clone(),
            database: Database::new(&plan, *holder.database.secret()),
            plan: Arc::new(plan),
            scratch: Bump::new(),
            sources: Vec::new(),
            pattern: None,
            next_row: 0,
            rows_read: 0,
            part: Part::Derive { rule: 0, rest: Rest::new() },
            groups: Groups::default(),
            derived: 0,
            steps: 0,
            rows: TupleBuf::new(),
        }
    }

    /// An answer of rows that are in no table: all it still needs is their order.
    pub(super) fn of_rows(node: &Node, name: &str, rows: &[Vec<OwnedValue>]) -> Evaluation {
        let limits = Limits::default();
        let mut evaluation = Evaluation::of(node.into(), name.to_owned(), Plan::default(), limits);
        for row in rows {
            let columns: Vec<Value<'_>> = row.iter().map(OwnedValue::get).collect();
            evaluation.rows.push((), &columns);
        }
        evaluation
    }

    /// The tables of the system that the node does not keep, or not as they are now: their rows
    /// are to be [supplied](Evaluation::supply).
    pub(super) fn system_tables(&self) -> Vec<&'static SystemTable> {
        let of_system = self.sources.iter().filter_map(|source| {
            let table = system::find(&source.name).filter(|table| table.is_of_now())?;
            (source.from.is_none() || table.is_behind()).then_some(table)
        });
        of_system.collect()
    }

    /// Whether it reads a table of the record of the node.
    pub(super) fn reads_record(&self) -> bool {
        let table = |source: &Source| system::find(&source.name).filter(|it| it.is_recorded());
        self.sources.iter().any(|source| source.from.is_some() && table(source).is_some())
    }

    /// Takes the rows of a table of the system, which is not copied from the node then.
    pub(super) fn supply(&mut self, name: &str, rows: &[Vec<OwnedValue>]) -> Result<(), Failure> {
        let Some(at) = self.sources.iter().position(|source| source.name == name) else {
            return Ok(());
        };
        let into = self.sources.remove(at).into;
        for row in rows {
            let columns: Vec<Value<'_>> = row.iter().map(OwnedValue::get).collect();
            self.take(into, &columns)?;
        }
        if let Some(into) = into {
            self.database.table_mut(into).prepare_all();
        }
        self.check_size()
    }

    /// Takes a row of a table that it reads.
    fn take(&mut self, into: Option<RelationId>, columns: &[Value<'_>]) -> Result<(), Failure> {
        self.rows_read += 1;
        match into {
            Some(into) => self.put(into, columns)?,
            None if self.is_wanted(columns) => self.rows.push((), columns),
            None => {}
        }
        Ok(())
    }

    /// Copies at most `rows` rows of the node's tables, which must not change before this is done;
    /// true when it is.
    pub(super) fn copy(&mut self, holder: Holder<'_>, rows: u64) -> Result<bool, Failure> {
        let Some(&Source { ref name, from, into }) = self.sources.last() else { return Ok(true) };
        let Some(table) = from.and_then(|from| holder.database.get(from)) else {
            return Err(Failure::Wrong(format!("the node does not keep `{name}`")));
        };
        // Dead rows count, as they are visited too.
        let end = table.next_row().0;
        let until = end.min(self.next_row.saturating_add(u32::try_from(rows).unwrap_or(u32::MAX)));
        let mut columns = Vec::new();
        for row in (self.next_row..until).map(RowId).filter(|&row| table.is_live(row)) {
            columns.clear();
            table.read_row(row, &mut columns);
            self.take(into, &columns)?;
        }
        let most = self.limits.rows;
        if self.rows_read > most {
            return Err(Failure::Limit(format!("the tables that it reads have over {most} rows")));
        }
        self.next_row = until;
        if until == end {
            self.next_row = 0;
            self.sources.pop();
        }
        if let Some(into) = into {
            // Incrementally, as building an index in one step would take too long.
            self.database.table_mut(into).prepare_all();
        }
        self.check_size()?;
        Ok(self.sources.is_empty())
    }

    /// Whether the row of a table belongs to the answer.
    fn is_wanted(&self, columns: &[Value<'_>]) -> bool {
        let here = Here { identity: &self.identity, operators: &self.operators };
        let pattern = self.pattern.as_ref();
        pattern.is_none_or(|pattern| pattern.matches(columns, |param| here.param(param)))
    }

    /// Bytes that its copies of tables and its answer have.
    pub(super) fn bytes(&self) -> usize {
        let tables = self.database.iter().map(|(_, table)| table.bytes()).sum::<usize>();
        let groups = self.groups.accumulators.len() * size_of::<Accumulator>();
        let group_rows = self.groups.rows.as_ref().map_or(0, Table::bytes);
        // A place in the order, two while it is sorted, and the offset of the row.
        tables + groups + group_rows + self.rows.bytes() + self.rows.len() * 32
    }

    fn put(&mut self, relation: RelationId, columns: &[Value<'_>]) -> Result<(), Failure> {
        let put = self.database.table_mut(relation).insert(columns, 0);
        put.map(|_| ()).map_err(Failure::wrong)
    }

    fn check_size(&self) -> Result<(), Failure> {
        let Limits { rows, bytes, .. } = self.limits;
        if self.rows.len() > rows {
            return Err(Failure::Limit(format!("the answer has over {rows} rows")));
        }
        if self.bytes() > bytes {
            return Err(Failure::Limit(format!("the query takes over {bytes} bytes")));
        }
        Ok(())
    }

    /// Evaluates for about `steps` steps after the tables are copied; true when the answer is
    /// complete.
    pub(super) fn go_on(&mut self, steps: u64) -> Result<bool, Failure> {
        self.steps += steps;
        let most = self.limits.steps;
        if self.steps > most {
            return Err(Failure::Limit(format!("the query takes more than {most} steps")));
        }
        self.check_size()?;
        self.scratch.reset();
        match self.part.take() {
            Part::Derive { rule, rest } => self.derive(rule, rest, steps)?,
            Part::Aggregate { rule, group } => self.aggregate(rule, group, steps)?,
            Part::Gather { row } => self.gather(row, steps)?,
            Part::Sort(mut sorting) => {
                let columns = |row| self.rows.get(row).map_or(Seq::EMPTY, |((), columns)| columns);
                let moves = usize::try_from(steps).unwrap_or(usize::MAX) * MOVES_PER_STEP;
                let done = sorting.step(moves, |a, b| compare(columns(a), columns(b)));
                self.part = Part::Sort(sorting);
                return Ok(done);
            }
        }
        Ok(false)
    }

    /// The answer, once it is complete.
    pub(super) fn into_answer(self) -> Answer {
        let order = match &self.part {
            Part::Sort(sorting) => sorting.order().to_vec(),
            _ => Vec::new(),
        };
        Answer { name: self.name, rows: self.rows, order }
    }

    /// Runs the joins of a rule from where they rest.
    fn derive(&mut self, number: usize, mut rest: Rest, steps: u64) -> Result<(), Failure> {
        let plan = self.plan.clone();
        let Some(rule) = rule(&plan, number) else {
            self.part = Part::Gather { row: 0 };
            return Ok(());
        };
        let done = self.derive_rule(rule, &mut rest, steps)?;
        self.part = match (done, rule.kind) {
            (false, _) => Part::Derive { rule: number, rest },
            (true, ViewKind::Grouped) => Part::Aggregate { rule: number, group: 0 },
            (true, _) => Part::Derive { rule: number + 1, rest: Rest::new() },
        };
        Ok(())
    }

    /// True when the rule has derived all.
    fn derive_rule(
        &mut self,
        rule: &ViewRule,
        rest: &mut Rest,
        steps: u64,
    ) -> Result<bool, Failure> {
        self.database.prepare(&rule.scan);
        let mut found = Found::default();
        let here = Here { identity: &self.identity, operators: &self.operators };
        let scope = Scope { scratch: &self.scratch, ambient: &here };
        let reading = Reading::present(&self.database);
        let done = run_on(&rule.scan, reading, scope, &mut found, (rest, steps));
        if let Some(error) = found.failure {
            return Err(Failure::wrong(error));
        }
        self.derived += found.rows.len() as u64;
        let most = self.limits.derived;
        if self.derived > most {
            return Err(Failure::Limit(format!("the query derives more than {most} rows")));
        }
        for (_, columns) in found.rows.iter() {
            let columns: Vec<Value<'_>> = columns.iter().collect();
            match (rule.kind, &rule.check) {
                (ViewKind::Grouped, Some(check)) => {
                    let spec = self.database.table(rule.head).spec();
                    self.groups.add(spec, &check.output, &columns, *self.database.secret())?;
                }
                _ => self.put(rule.head, &columns)?,
            }
        }
        Ok(done)
    }

    /// Puts the results of groups into the head's table.
    fn aggregate(&mut self, number: usize, group: u32, steps: u64) -> Result<(), Failure> {
        let plan = self.plan.clone();
        let Some(rule) = rule(&plan, number) else { return Ok(()) };
        let until = u64::from(group).saturating_add(steps).min(self.groups.len().into()) as u32;
        let here = Here { identity: &self.identity, operators: &self.operators };
        let scope = Scope { scratch: &self.scratch, ambient: &here };
        let head = self.database.table_mut(rule.head);
        for group in (group..until).map(RowId) {
            let columns = self.groups.result(group, scope).map_err(Failure::wrong)?;
            head.insert(&columns, 0).map_err(Failure::wrong)?;
        }
        self.part = if until != self.groups.len() {
            Part::Aggregate { rule: number, group: until }
        } else {
            self.groups = Groups::default();
            Part::Derive { rule: number + 1, rest: Rest::new() }
        };
        Ok(())
    }

    /// Takes rows of the head, without the location that was put before them.
    fn gather(&mut self, row: u32, steps: u64) -> Result<(), Failure> {
        let head = self.plan.find(HEAD).and_then(|head| self.database.get(head));
        let end = head.map_or(0, |head| head.next_row().0);
        let until = u64::from(row).saturating_add(steps).min(end.into()) as u32;
        let mut columns = Vec::new();
        if let Some(head) = head {
            for row in (row..until).map(RowId).filter(|&row| head.is_live(row)) {
                columns.clear();
                head.read_row(row, &mut columns);
                self.rows.push((), &columns[1..]);
            }
        }
        self.part = if until != end {
            Part::Gather { row: until }
        } else {
            // There are fewer than 2^32.
            Part::Sort(Sorting::new(self.rows.len() as u32))
        };
        Ok(())
    }
}

/// The rules of a small program, in the order of evaluation.
fn rule(plan: &Plan, number: usize) -> Option<&ViewRule> {
    plan.strata.iter().flat_map(|stratum| &stratum.rules).nth(number)
}

impl Part {
    /// What it is, leaving something of no worth.
    fn take(&mut self) -> Part {
        std::mem::replace(self, Part::Gather { row: 0 })
    }
}

/// The tables that a small program reads, of the node or of the system.
fn sources(theirs: &Plan, plan: &Plan) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for relation in plan.relations.iter().filter(is_visible) {
        let name = &relation.name;
        let from = theirs.find(name);
        if from.is_none() && !system::find(name).is_some_and(SystemTable::is_of_now) {
            continue;
        }
        if from.is_some_and(|from| theirs.relation(from).arity() != relation.arity()) {
            return Err(Failure::Wrong(format!("`{name}` has another number of columns")));
        }
        sources.push(Source { name: name.clone(), from, into: plan.find(name) });
    }
    Ok(sources)
}

impl Groups {
    fn len(&self) -> u32 {
        // As many as the table has rows.
        self.accumulators.len() as u32
    }

    /// Adds a row: the columns of its group, and what the aggregates of the others take in.
    fn add(
        &mut self,
        spec: &TableSpec,
        output: &Output,
        columns: &[Value<'_>],
        secret: Secret,
    ) -> Result<(), Failure> {
        let is_key = |(_, column): &(u32, &HeadColumn)| matches!(column, HeadColumn::Value(_));
        let rows = self.rows.get_or_insert_with(|| {
            let key = (0..).zip(&output.columns).filter(is_key).map(|(column, _)| column).collect();
            let spec = TableSpec {
                indexes: Vec::new(),
                ordered: Vec::new(),
                key: Key::Columns(key),
                ..spec.clone()
            };
            Table::new(spec, secret)
        });
        let row = match rows.find(columns) {
            Some(row) => row,
            None => {
                let row = rows.next_row();
                rows.insert(columns, 0).map_err(Failure::wrong)?;
                let accumulator = |column: &HeadColumn| match column {
                    HeadColumn::Aggregate { function, .. } => {
                        Some(Accumulator::new(*function, secret))
                    }
                    HeadColumn::Value(_) => None,
                };
                self.accumulators.push(output.columns.iter().filter_map(accumulator).collect());
                row
            }
        };
        let aggregated = output.columns.iter().zip(columns);
        let inputs = aggregated.filter(|(column, _)| !matches!(column, HeadColumn::Value(_)));
        for (accumulator, (_, input)) in self.accumulators[row.0 as usize].iter_mut().zip(inputs) {
            accumulator.add(*input).map_err(Failure::wrong)?;
        }
        Ok(())
    }

    /// The head's columns for a group.
    fn result<'v>(&'v self, group: RowId, scope: Scope<'v>) -> Result<Vec<Value<'v>>, EvalError> {
        let Some(rows) = &self.rows else { return Ok(Vec::new()) };
        let key: &[u32] = match &rows.spec().key {
            Key::Columns(key) => key,
            Key::Bag => &[],
        };
        let mut accumulators = self.accumulators[group.0 as usize].iter();
        let column = |column| {
            if key.contains(&column) {
                Ok(rows.value(group, column))
            } else {
                accumulators.next().map_or(Ok(Value::Null), |one| one.finish(scope))
            }
        };
        (0..rows.spec().arity).map(column).collect()
    }
}

/// Collects the results of the joins of a rule, and the first reason why a derivation was dropped.
#[derive(Default)]
struct Found {
    rows: TupleBuf<()>,
    failure: Option<EvalError>,
}

impl Sink for Found {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], _: u64) {
        self.rows.push((), columns);
    }

    fn failed(&mut self, _: RuleId, error: EvalError) {
        self.failure.get_or_insert(error);
    }
}

/// The environment of a query.
struct Here<'n> {
    identity: &'n Identity,
    operators: &'n Registry,
}

impl Ambient for Here<'_> {
    fn messages(&self) -> Option<&dyn Messages> {
        self.operators.messages().map(Arc::as_ref)
    }

    /// Functions that read it are refused before.
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn param(&self, param: Param) -> Value<'_> {
        match param {
            Param::Node => Value::Str(&self.identity.address),
            Param::NodeIndex => Value::Int(self.identity.index.into()),
            Param::NodeCount => Value::Int(self.identity.count.into()),
            Param::NodeId => Value::Id(node_id(&self.identity.address)),
            Param::Landmark => Value::Str(&self.identity.landmark),
        }
    }
}
