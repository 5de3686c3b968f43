//! The derivations of rules in a commit and their premises, for provenance.
//!
//! Derivations of traced rules are noted when the semi-naive evaluation finds them. Derivations
//! that the commit took back are left out when they are read, and so are duplicates: a row that is
//! inserted while a round runs is joined in that round, and again in the next, which it starts. The
//! row of an aggregate is recomputed from its group, at the end of the commit: only then is it
//! known.

use std::collections::HashSet;

use smallvec::SmallVec;

use super::changes::Changes;
use crate::database::Database;
use crate::eval::{EvalError, Scope};
use crate::flat::TupleBuf;
use crate::plan::{Output, Plan, RelationId, RuleId, Stratum, ViewKind, ViewRule};
use crate::strand::{JoinedRow, Premises, Reading, Sink, run_rows_traced};
use crate::table::{RowId, Table};
use crate::value::Value;

/// A derivation of a row by a view rule; before the commit settles.
#[derive(Clone, Copy, Debug)]
pub struct Derivation<'d> {
    /// The rule.
    pub rule: RuleId,
    /// Its head; of tables whose rows are selected, that of the candidates.
    pub head: RelationId,
    /// The row.
    pub columns: &'d [Value<'d>],
    /// The rows that it was derived from. The first is one that came in this commit, if any did.
    pub premises: &'d [JoinedRow],
}

/// The notes on traced rules.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    /// By stratum and rule, whether it is traced.
    rules: Vec<Vec<bool>>,
    found: TupleBuf<Found>,
    premises: Vec<JoinedRow>,
    /// Derivations that are noted in a commit; those beyond are counted.
    noted_max: usize,
    beyond: u64,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    rule: RuleId,
    head: RelationId,
    /// Its premises among all.
    first: usize,
    count: usize,
}

impl Traced {
    pub(super) fn rule(&self, stratum: usize, rule: usize) -> bool {
        self.rules.get(stratum).and_then(|rules| rules.get(rule)).is_some_and(|traced| *traced)
    }

    pub(super) fn clear(&mut self) {
        self.found.clear();
        self.premises.clear();
        self.beyond = 0;
    }

    /// Starts notes: `None` if no rule is traced. A rule is given by its stratum and its position
    /// in it.
    pub(super) fn new(
        plan: &Plan,
        is_traced: impl Fn(usize, usize) -> bool,
        noted_max: usize,
    ) -> Option<Traced> {
        let of_stratum = |(stratum, it): (usize, &Stratum)| {
            (0..it.rules.len()).map(|rule| is_traced(stratum, rule)).collect()
        };
        let rules: Vec<Vec<bool>> = plan.strata.iter().enumerate().map(of_stratum).collect();
        let any = rules.iter().flatten().any(|traced| *traced);
        let (found, premises) = (TupleBuf::new(), Vec::new());
        any.then_some(Traced { rules, found, premises, noted_max, beyond: 0 })
    }

    /// Derivations of the commit beyond those that are noted.
    pub(super) fn beyond(&self) -> u64 {
        self.beyond
    }

    /// Gives the derivations that hold.
    pub(super) fn derivations(
        &self,
        (plan, changes): (&Plan, &Changes),
        database: &mut Database,
        scope: Scope<'_>,
        take: &mut dyn FnMut(Derivation<'_>),
    ) {
        let mut columns: Vec<Value<'_>> = Vec::new();
        let mut seen: HashSet<(RuleId, RowId, SmallVec<[JoinedRow; 8]>)> = HashSet::new();
        for (found, row) in self.found.iter() {
            let Found { rule, head, first, count } = found;
            let premises = &self.premises[first..first + count];
            columns.clear();
            columns.extend(row);
            let is_live = |it: &JoinedRow| database.table(it.relation).is_live(it.row);
            let Some(derived) = database.table(head).find_equal(&columns) else { continue };
            if !premises.iter().all(is_live) {
                continue;
            }
            let mut premises: SmallVec<[JoinedRow; 8]> = premises.into();
            start_with_new(database, &mut premises);
            // The order of the premises depends on the atom whose delta found it.
            let mut rows = premises.clone();
            rows.sort_unstable_by_key(|it| (it.relation, it.row));
            if seen.insert((rule, derived, rows)) {
                take(Derivation { rule, head, columns: &columns, premises: &premises });
            }
        }
        for (stratum, rules) in plan.strata.iter().zip(&self.rules) {
            for (rule, _) in stratum.rules.iter().zip(rules).filter(|(_, traced)| **traced) {
                if rule.kind == ViewKind::Grouped {
                    of_groups(rule, changes, database, scope, take);
                }
            }
        }
    }
}

/// Whether a row was inserted by the commit.
fn came(table: &Table, row: RowId) -> bool {
    row >= table.fresh_from() && table.is_live(row)
}

/// Moves a row inserted in this commit, if there is one, before the others.
fn start_with_new(database: &Database, premises: &mut [JoinedRow]) {
    let is_new = |it: &JoinedRow| came(database.table(it.relation), it.row);
    if let Some(first) = premises.iter().position(is_new) {
        premises.swap(0, first);
    }
}

/// The rows of groups that the commit has changed.
fn of_groups(
    rule: &ViewRule,
    changes: &Changes,
    database: &mut Database,
    scope: Scope<'_>,
    take: &mut dyn FnMut(Derivation<'_>),
) {
    let Some(check) = &rule.check else { return };
    let table = database.table(rule.head);
    let fresh = changes.log(rule.head).fresh.iter().copied();
    let rows: Vec<RowId> = fresh.filter(|row| came(table, *row)).collect();
    if rows.is_empty() {
        return;
    }
    database.prepare(check);
    let database = &*database;
    let mut columns: Vec<Value<'_>> = Vec::new();
    for row in rows {
        columns.clear();
        database.table(rule.head).read_row(row, &mut columns);
        let mut group = Group { premises: Premises::new(&check.output) };
        run_rows_traced(check, &[row], Reading::present(database), scope, &mut group);
        let mut premises: SmallVec<[JoinedRow; 8]> = group.premises.of_result().into();
        start_with_new(database, &mut premises);
        let (rule, head) = (rule.rule, rule.head);
        take(Derivation { rule, head, columns: &columns, premises: &premises });
    }
}

/// Notes what a batch of a traced rule derives, besides taking it.
pub(super) struct Noting<'s> {
    pub(super) inner: &'s mut dyn Sink,
    pub(super) traced: &'s mut Traced,
    pub(super) rule: &'s ViewRule,
    /// Leading rows that are no premises.
    pub(super) skip: usize,
    /// Derivations that are not noted.
    pub(super) known: &'s KnownDerivations,
    pub(super) joined: SmallVec<[JoinedRow; 8]>,
}

impl Sink for Noting<'_> {
    fn derive(&mut self, output: &Output, columns: &[Value<'_>], results: u64) {
        let Noting { traced, rule, .. } = self;
        if self.known.all.contains(&self.joined) {
            // Nothing new.
        } else if traced.found.len() < traced.noted_max {
            let (first, count) = (traced.premises.len(), self.joined.len());
            traced.premises.extend_from_slice(&self.joined);
            let (rule, head) = (rule.rule, rule.head);
            traced.found.push(Found { rule, head, first, count }, columns);
        } else {
            traced.beyond += 1;
        }
        self.inner.derive(output, columns, results);
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        self.inner.failed(rule, error);
    }

    fn is_full(&self) -> bool {
        self.inner.is_full()
    }

    fn joined(&mut self, _: RuleId, rows: &[JoinedRow]) {
        self.joined.clear();
        self.joined.extend_from_slice(rows.get(self.skip..).unwrap_or_default());
    }
}

/// Collects the premises of each derivation; derives nothing.
#[derive(Default)]
pub(super) struct KnownDerivations {
    all: HashSet<SmallVec<[JoinedRow; 8]>>,
    joined: SmallVec<[JoinedRow; 8]>,
}

impl Sink for KnownDerivations {
    fn derive(&mut self, _: &Output, _: &[Value<'_>], _: u64) {
        self.all.insert(self.joined.clone());
    }

    fn failed(&mut self, _: RuleId, _: EvalError) {}

    fn joined(&mut self, _: RuleId, rows: &[JoinedRow]) {
        self.joined = rows.into();
    }
}

/// Collects the premises of the result of a group.
struct Group {
    premises: Premises,
}

impl Sink for Group {
    fn derive(&mut self, _: &Output, _: &[Value<'_>], _: u64) {}

    fn failed(&mut self, _: RuleId, _: EvalError) {}

    fn gathered(&mut self, inputs: &[Value<'_>]) {
        self.premises.gathered(inputs);
    }

    fn joined(&mut self, _: RuleId, rows: &[JoinedRow]) {
        // The first is the row of the head, which started it.
        self.premises.joined(rows.get(1..).unwrap_or_default());
    }
}
