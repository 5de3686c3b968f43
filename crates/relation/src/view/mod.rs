//! The view engine: keeps tables that rules fill up to date, set at a time, at every commit.
//!
//! A commit inserts and deletes what a turn has derived ([`Views::insert`], [`Views::delete`],
//! [`Views::expire`]), then calls [`Views::step`] until nothing is left to do, reads the net
//! changes and settles. Strata are evaluated in order; within one, phases alternate:
//!
//! 1. *retract* (delete and re-derive): for every row that was removed, the rows derived from it
//!    are retracted too, whether or not they have other derivations, until a fixed point; then each
//!    retracted row is put back if it can still be derived from what is left. So cycles that
//!    support only themselves vanish. One mechanism serves recursive and other views alike, and
//!    needs no count per row. A row that follows from older rows stays where it is, with all that
//!    follows from it: each of those stays or is retracted by the same criterion, so nothing
//!    supports itself. A row that was deleted, not retracted, is not re-derived this way: what was
//!    put back has supported it before. It takes a derivation that did not hold when the commit
//!    began.
//! 2. *select*: of several derivations with the key of one row the last wins (rules in program
//!    order, then rows in the order of insertion).
//! 3. *extend* (semi-naive): for every new row, the derivations that use it.
//!
//! Aggregates are kept per group (`groups`): insertions and removals change counts, sums and
//! ordered values, from which the row of a group is computed once a round. A MIN or MAX that only
//! gets better, or is not touched by a removal, is not even recomputed. So shortest paths through a
//! cycle of rules reach their fixed point.

#[cfg(test)]
mod both;
mod changes;
mod delta;
mod emptied;
mod extend;
mod groups;
mod meter;
mod naive;
mod order;
mod readers;
mod retract;
mod revived;
mod rounds;
mod select;
mod sinks;
#[cfg(test)]
pub(crate) mod tests;
mod traced;

use std::collections::{HashMap, HashSet};
use tidemill_stdx::keyed::Secret;

use crate::cost::Clock;
use crate::database::Database;
use crate::eval::Scope;
use crate::flat::{OwnedValue, TupleBuf};
use crate::plan::{Plan, RelationId, RuleId, Stratum};
use crate::table::{Access, RowId, Table, Visible};
use crate::value::Value;
use changes::{Changes, Source};
use delta::Cursor;
use emptied::Emptied;
use groups::Kept;
use meter::{Began, Meter};
use readers::Readers;
use traced::Traced;

pub use changes::{Change, ChangeKind};
pub use meter::{ViewCosts, ViewPart, ViewWork};
pub use naive::{Contents, contents, evaluate_naively};
pub use sinks::Failures;
pub use traced::Derivation;

/// A commit that derives more rows than this is given up.
pub const DERIVED_MAX: u64 = 100_000_000;

/// So is one in which views that recurse over values they compute derive more rows than this:
/// other views combine existing values only, so they terminate.
pub const COMPUTED_MAX: u64 = 3_000_000;

/// So is one in which such views take more bytes than this for each of those rows.
pub const COMPUTED_ROW_BYTES: usize = 96;

/// The bytes that they may always take.
const COMPUTED_BYTES_MIN: usize = 16 << 20;

/// So is one with more rounds of views that depend on each other than this.
pub const ROUNDS_MAX: u64 = 1_000_000;

/// The limit that a commit has exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overrun {
    /// This number of rows changed.
    Changed(u64),
    /// This number of rows changed in views that recurse over values they compute.
    Computed(u64),
    /// This number of bytes taken by such views.
    Bytes(usize),
    /// This number of rounds.
    Rounds(u64),
}

/// The rule number of candidates that are asserted.
pub const ASSERTED: i64 = -1;

/// A key of a table for which a candidate has to be selected: that of the tuple beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reselect {
    table: RelationId,
    /// The new candidate, if one was added; else any may be the last now.
    since: Option<RowId>,
}

impl Reselect {
    fn anew(table: RelationId) -> Reselect {
        Reselect { table, since: None }
    }
}

/// The progress of [`Views::step`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// There is more to do.
    More,
    /// All views are at their fixed point.
    Done,
    /// A limit was exceeded ([`Views::overrun`]): the commit must be rolled back.
    Exceeded,
}

/// The state of the view engine; see the module.
#[derive(Clone, Debug)]
pub struct Views {
    changes: Changes,
    /// The stratum being evaluated; 0 between commits.
    stratum: usize,
    phase: Phase,
    /// Positions in the logs, one per rule and body atom of the stratum.
    cursors: Vec<Vec<Cursor>>,
    /// Rows removed by retraction, to be derived again.
    overdeleted: Vec<(RelationId, RowId)>,
    /// By relation, whether all its rows were inserted after the views were made, so that each is
    /// younger than the rows of it from which it follows.
    in_order: Vec<bool>,
    /// Rows not retracted, because older ones support them.
    stayed: u64,
    /// All rows that retraction has removed in this commit.
    retracted: HashSet<(RelationId, RowId)>,
    /// Per rule of the stratum, the groups whose rows are to be computed.
    groups: Vec<Option<Groups>>,
    /// Per stratum and rule, the groups that last from commit to commit.
    kept: Vec<Vec<Kept>>,
    /// Groups of at least this number of results are kept.
    kept_from: u64,
    /// Keys of selected tables to select again: table, whole rows.
    reselect: TupleBuf<Reselect>,
    emptied: Emptied,
    /// Derivations between a strand and the tables.
    derived: TupleBuf<()>,
    /// The same as words.
    derived_words: Vec<u32>,
    /// A delta of at least this number of rows runs on words if it can ([`crate::narrow`]).
    narrow_from: usize,
    /// Batches that did.
    ran_on_words: u64,
    /// A delta starts from another atom if that is better by this factor ([`order`]).
    reorder_better: f64,
    /// By stratum, rule and atom, the extra cost so far of doing so without an index.
    spared: HashMap<(usize, usize, usize), f64>,
    /// Deltas that did.
    reordered: u64,
    /// The commit has exceeded a limit.
    exceeded: bool,
    /// Rows that a commit may change.
    changes_max: u64,
    /// Rows that a stratum may change which recurses over values it computes.
    computed_max: u64,
    /// For each stratum, whether it does.
    computes: Vec<bool>,
    readers: Readers,
    /// The limits of the running stratum.
    running: Running,
    /// Measures what rules cost, while a caller asks for it.
    meter: Option<Box<Meter>>,
    /// The derivations of traced rules, if there are any.
    traced: Option<Box<Traced>>,
}

/// The running stratum.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    /// The limit of [`Changes::count`], if it is less than for the whole commit.
    changes_max: Option<u64>,
    /// The bytes of its tables before, if they are limited.
    bytes_before: Option<usize>,
    rounds: u64,
    /// The limit of rounds or bytes that was exceeded.
    overrun: Option<Overrun>,
}

/// The factor by which another start atom has to be better.
const REORDER_BETTER: f64 = 8.0;

/// Fewer rows are not worth compiling for the layout of the tables.
const NARROW_FROM: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Start,
    Retract,
    Rederive,
    Extend,
}

/// Group columns of a grouped rule: a set of head rows, and whether something was inserted.
#[derive(Clone, Debug)]
struct Groups {
    /// Keyed by the group columns; the others hold the last input.
    rows: Table,
    touched: TupleBuf<()>,
}

impl Views {
    /// The engine for `plan`, with empty tables; groups are hashed with `secret`.
    pub fn new(plan: &Plan, secret: Secret) -> Views {
        Views {
            changes: Changes::new(plan),
            stratum: 0,
            phase: Phase::Start,
            cursors: Vec::new(),
            overdeleted: Vec::new(),
            in_order: vec![false; plan.relations.len()],
            stayed: 0,
            retracted: HashSet::new(),
            groups: Vec::new(),
            kept: groups::kept(plan, secret),
            kept_from: groups::KEPT_FROM,
            reselect: TupleBuf::new(),
            emptied: Emptied::default(),
            derived: TupleBuf::new(),
            derived_words: Vec::new(),
            narrow_from: NARROW_FROM,
            ran_on_words: 0,
            reorder_better: REORDER_BETTER,
            spared: HashMap::new(),
            reordered: 0,
            exceeded: false,
            changes_max: DERIVED_MAX,
            computed_max: COMPUTED_MAX,
            computes: plan.strata.iter().map(Stratum::computes).collect(),
            readers: Readers::new(plan),
            running: Running::default(),
            traced: None,
            meter: None,
        }
    }

    /// Measures what rules cost from now on, by a clock; or stops, which drops what was measured.
    pub fn measure(&mut self, clock: Option<Clock>) {
        self.meter = clock.map(|clock| Box::new(Meter::new(clock)));
    }

    /// The costs of rules since this was last emptied, while they are measured.
    pub fn costs(&mut self) -> Option<&mut ViewCosts> {
        self.meter.as_mut().map(|meter| &mut meter.costs)
    }

    /// A part of a rule begins, if it is measured.
    #[inline]
    fn begin_part(&mut self) -> Option<Began> {
        self.meter.as_mut().map(|meter| meter.begin())
    }

    /// It has run for some rows.
    #[inline]
    fn count_part(&mut self, rows: usize, derived: usize, probes: u64) {
        if let Some(meter) = &mut self.meter {
            meter.count(rows, derived, probes);
        }
    }

    #[inline]
    fn end_part(&mut self, began: Option<Began>, rule: usize, work: ViewWork) {
        if let Some(began) = began {
            self.end_measured(began, rule, work);
        }
    }

    #[cold]
    fn end_measured(&mut self, began: Began, rule: usize, work: ViewWork) {
        if let Some(meter) = &mut self.meter {
            let (stratum, rule) = (self.stratum as u32, rule as u32);
            meter.end(began, ViewPart { stratum, rule, work });
        }
    }

    /// Gives up commits that change more rows than this, instead of [`DERIVED_MAX`].
    pub fn limit(&mut self, changes_max: u64) {
        self.changes_max = changes_max;
    }

    /// Gives up commits in which views that recurse over values they compute change more rows than
    /// this, instead of [`COMPUTED_MAX`].
    pub fn limit_computed(&mut self, changes_max: u64) {
        self.computed_max = changes_max;
    }

    /// The number of rows that the commit has changed; before [`Views::settle`].
    pub fn changed(&self) -> u64 {
        self.changes.count
    }

    /// The limit that the commit has exceeded, after [`Progress::Exceeded`].
    pub fn overrun(&self) -> Overrun {
        self.running.overrun.unwrap_or(match self.running.changes_max {
            Some(_) => Overrun::Computed(self.computed_max),
            None => Overrun::Changed(self.changes_max),
        })
    }

    /// Rows that may have changed by the end of the running stratum.
    fn most(&self) -> u64 {
        self.running.changes_max.unwrap_or(self.changes_max)
    }

    /// Rows that the commit may still change.
    fn most_left(&self) -> u64 {
        self.most().saturating_sub(self.changes.count)
    }

    fn has_exceeded(&self) -> bool {
        self.exceeded || self.changes.count > self.most()
    }

    /// A stratum begins.
    fn start_limits(&mut self, stratum: &Stratum, database: &Database) {
        self.running = Running::default();
        if self.computes[self.stratum] {
            let most = self.changes.count.saturating_add(self.computed_max);
            self.running.changes_max = Some(most).filter(|most| *most < self.changes_max);
            self.running.bytes_before = Some(bytes_of(stratum, database));
        }
    }

    /// A round of the running stratum begins.
    fn count_round(&mut self, stratum: &Stratum, database: &Database) {
        let running = &mut self.running;
        running.rounds += 1;
        if running.rounds > ROUNDS_MAX {
            running.overrun = Some(Overrun::Rounds(ROUNDS_MAX));
        }
        let rows_max = usize::try_from(self.computed_max).unwrap_or(usize::MAX);
        let bytes_max = rows_max.saturating_mul(COMPUTED_ROW_BYTES).max(COMPUTED_BYTES_MIN);
        if let Some(before) = running.bytes_before
            && bytes_of(stratum, database) > before.saturating_add(bytes_max)
        {
            running.overrun = Some(Overrun::Bytes(bytes_max));
        }
        self.exceeded |= running.overrun.is_some();
    }

    /// The rules that are being evaluated, in program order.
    pub fn rules_at_work(&self, plan: &Plan) -> Vec<RuleId> {
        let stratum = plan.strata.get(self.stratum);
        let mut rules: Vec<RuleId> =
            stratum.into_iter().flat_map(|it| &it.rules).map(|rule| rule.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// Includes the changes of `relation` in [`Views::net`].
    pub fn observe(&mut self, relation: RelationId) {
        self.changes.observe(relation);
    }

    /// Rows refused so far because a table was full.
    pub fn refused(&self) -> u64 {
        self.changes.refused
    }

    /// Keeps groups of at least `results` results from commit to commit: for tests, whose groups
    /// are small.
    pub fn keep_groups_from(&mut self, results: u64) {
        self.kept_from = results;
    }

    /// Batches of rows so far that ran on words, without the interpreter.
    pub fn ran_on_words(&self) -> u64 {
        self.ran_on_words
    }

    /// Inserts a tuple into a table, where it stays until it is deleted.
    pub fn insert(
        &mut self,
        plan: &Plan,
        database: &mut Database,
        relation: RelationId,
        values: &[Value<'_>],
        now_ns: u64,
    ) {
        self.emptied.forget();
        let Some(candidates) = plan.relation(relation).candidates else {
            self.changes.put(database, relation, values, now_ns, Source::Asserted);
            return;
        };
        // The row replaces the row with its key; a later derivation replaces it.
        let table = database.table(relation);
        if let Some(row) = table.find(values) {
            let mut old = Vec::new();
            table.read_row(row, &mut old);
            self.reselect.push(Reselect::anew(relation), &old);
        }
        for row in rows_with_key(plan, database, relation, candidates, values) {
            self.changes.remove(database, candidates, row);
        }
        let mut candidate = vec![Value::Int(ASSERTED)];
        candidate.extend_from_slice(values);
        self.changes.put(database, candidates, &candidate, now_ns, Source::Asserted);
        // It is the only candidate now. Inserting it immediately keeps the order of a bounded
        // table.
        self.changes.put(database, relation, values, now_ns, Source::Derived);
        self.reselect.push(Reselect::anew(relation), values);
    }

    /// Deletes the row with the primary key of `values`, asserted or derived.
    pub fn delete(
        &mut self,
        plan: &Plan,
        database: &mut Database,
        relation: RelationId,
        values: &[Value<'_>],
    ) {
        let table = database.table(relation);
        if table.is_bag() && self.emptied.again(relation, table, values) {
            return;
        }
        for row in table.find_for_delete(values) {
            if let Some(candidates) = plan.relation(relation).candidates {
                let columns = database.table(relation).copy_row(row);
                let columns: Vec<Value<'_>> = columns.iter().map(OwnedValue::get).collect();
                self.reselect.push(Reselect::anew(relation), &columns);
                let rows = rows_equal_to(plan, database, relation, candidates, &columns);
                for candidate in rows {
                    self.changes.remove(database, candidates, candidate);
                }
            }
            self.changes.remove(database, relation, row);
        }
    }

    /// Removes one row that has expired at `now_ns`; false if there is none.
    pub fn expire(&mut self, database: &mut Database, relation: RelationId, now_ns: u64) -> bool {
        let Some(row) = database.table_mut(relation).expired(now_ns) else { return false };
        self.changes.remove(database, relation, row);
        true
    }

    /// Whether the commit has changed anything so far: if not, there is nothing to evaluate or
    /// settle.
    #[inline]
    pub fn has_changed(&self) -> bool {
        self.changes.has_any() || !self.reselect.is_empty()
    }

    /// One round of evaluation.
    pub fn step(
        &mut self,
        plan: &Plan,
        database: &mut Database,
        scope: Scope<'_>,
        now_ns: u64,
        failures: &mut dyn Failures,
    ) -> Progress {
        if self.has_exceeded() {
            return Progress::Exceeded;
        }
        if self.phase == Phase::Start {
            let reselected = self.reselect.iter().map(|(note, _)| note.table);
            let changed = self.changes.touched().chain(reselected);
            self.stratum = self.readers.next(self.stratum, changed).unwrap_or(plan.strata.len());
        }
        let Some(stratum) = plan.strata.get(self.stratum) else { return Progress::Done };
        rounds::Round { views: self, plan, stratum, database, scope, now_ns, failures }.run();
        if self.has_exceeded() {
            return Progress::Exceeded;
        }
        if self.stratum < plan.strata.len() { Progress::More } else { Progress::Done }
    }

    /// False if the commit has changed nothing in observed tables.
    pub fn has_net(&self) -> bool {
        self.changes.has_observed()
    }

    /// The net changes of the commit in observed tables, in order; before [`Views::settle`].
    pub fn net(&self, database: &Database) -> Vec<Change> {
        self.changes.net(database)
    }

    /// Notes the derivations of the rules for which `is_traced` is true, `noted_max` of them in a
    /// commit, for [`Views::derivations`]. They are interpreted row by row.
    ///
    /// A rule is given by its stratum and its position in it.
    pub fn trace(
        &mut self,
        plan: &Plan,
        is_traced: impl Fn(usize, usize) -> bool,
        noted_max: usize,
    ) {
        self.traced = Traced::new(plan, is_traced, noted_max).map(Box::new);
    }

    /// Whether derivations of some rules are noted.
    pub fn is_traced(&self) -> bool {
        self.traced.is_some()
    }

    /// Gives the derivations of traced rules that this commit has found and that hold at its end;
    /// before [`Views::settle`].
    pub fn derivations(
        &self,
        plan: &Plan,
        database: &mut Database,
        scope: Scope<'_>,
        take: &mut dyn FnMut(Derivation<'_>),
    ) {
        if let Some(traced) = &self.traced {
            traced.derivations((plan, &self.changes), database, scope, take);
        }
    }

    /// Derivations of the commit beyond `noted_max`, which were not noted; before
    /// [`Views::settle`].
    pub fn derivations_beyond(&self) -> u64 {
        self.traced.as_ref().map_or(0, |traced| traced.beyond())
    }

    /// Ends the commit: row ids are void, deleted rows are gone.
    pub fn settle(&mut self, database: &mut Database) {
        self.changes.settle(database);
        self.start_over();
    }

    /// Rolls the commit back; refreshes stay.
    pub fn roll_back(&mut self, database: &mut Database) {
        self.changes.roll_back(database);
        // Rows that were put back have new ranks, so rows that follow from them may be older.
        self.in_order.fill(false);
        self.kept.iter_mut().flatten().for_each(Kept::forget);
        self.start_over();
    }

    fn start_over(&mut self) {
        self.stratum = 0;
        self.phase = Phase::Start;
        self.cursors.clear();
        self.overdeleted.clear();
        self.retracted.clear();
        self.groups.clear();
        self.reselect.clear();
        self.emptied.forget();
        self.derived.clear();
        self.exceeded = false;
        self.running = Running::default();
        self.traced.iter_mut().for_each(|traced| traced.clear());
    }
}

fn bytes_of(stratum: &Stratum, database: &Database) -> usize {
    stratum.heads.iter().map(|&head| database.table(head).bytes()).sum()
}

/// Live candidates with the key of `values`, a row of `relation`.
fn rows_with_key(
    plan: &Plan,
    database: &mut Database,
    relation: RelationId,
    candidates: RelationId,
    values: &[Value<'_>],
) -> Vec<RowId> {
    let Some(spec) = plan.relation(relation).table() else { return Vec::new() };
    let key: Vec<Value<'_>> = match &spec.key {
        crate::table::Key::Columns(columns) => {
            columns.iter().map(|&column| values[column as usize]).collect()
        }
        crate::table::Key::Bag => values.to_vec(),
    };
    let table = database.table_mut(candidates);
    table.prepare(Access::Index(0));
    table.rows(Access::Index(0), &key, Visible::Live).collect()
}

/// Live candidates that are `values`, whichever rule derived them.
fn rows_equal_to(
    plan: &Plan,
    database: &mut Database,
    relation: RelationId,
    candidates: RelationId,
    values: &[Value<'_>],
) -> Vec<RowId> {
    let rows = rows_with_key(plan, database, relation, candidates, values);
    let table = database.table(candidates);
    let equal = |row: &RowId| {
        (1..).zip(values).all(|(column, value)| table.value(*row, column).equal(value))
    };
    rows.into_iter().filter(equal).collect()
}
