//! Aggregates: the rows of grouped rules.
//!
//! Changes in the body of a grouped rule are differences of the results of its groups. Groups that
//! have many results are *kept*: a [`Running`] aggregate takes the difference, so a change costs
//! the logarithm of the group, and the row of a group is computed once for all changes of a round.
//! Groups with few results are recomputed, which costs no more time and no memory. Kept groups last
//! from commit to commit and can be dropped at any time: a group is rebuilt from its results when
//! it is next touched.
//!
//! The difference has to be exact. [`Upkeep`] says how it is found.

use hashbrown::HashTable;

use super::rounds::{Round, collect};
use super::{Groups, Source, ViewWork, Views};
use crate::aggregate::{Aggregate, Irregular, Running};
use crate::eval::EvalError;
use crate::flat::{Seq, SeqBuilder, TupleBuf, write_value};
use crate::plan::{
    Bind, HeadColumn, Lookup, Output, Plan, RuleId, Strand, Stratum, ViewKind, ViewRule,
};
use crate::strand::{Reading, Sink, run_values};
use crate::table::{Access, RowId, Table, TableSpec, Visible};
use crate::value::Value;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::ordered::OrderedSet;

/// A group with this number of results is kept, and dropped when it has a quarter of them.
pub(super) const KEPT_FROM: u64 = 32;

/// The way to find the changes of a round to the groups of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Upkeep {
    /// The body is one table, so each row that comes or goes is one result or none. Rows of a
    /// recursive view may be inserted and removed several times in a commit; the log has each time.
    Rows,
    /// The body is a join of tables that are complete. With the tables in some order, the
    /// difference is the sum over all of them of
    /// `new(those before), difference(this one), old(those after)`.
    Join,
    /// None: a group that is touched is recomputed.
    Anew,
}

/// The groups of a rule that are kept.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) upkeep: Upkeep,
    groups: HashTable<Group>,
    /// The secret of the hashes of groups.
    secret: Secret,
}

#[derive(Clone, Debug)]
struct Group {
    hash: u64,
    /// The group columns.
    columns: SeqBuilder,
    running: Running,
}

/// For each rule of each stratum, the groups that are kept.
pub(super) fn kept(plan: &Plan, secret: Secret) -> Vec<Vec<Kept>> {
    let of_rule = |stratum: &Stratum, rule: &ViewRule| Kept {
        upkeep: upkeep(stratum, rule),
        groups: HashTable::new(),
        secret,
    };
    let of_stratum =
        |stratum: &Stratum| stratum.rules.iter().map(|rule| of_rule(stratum, rule)).collect();
    plan.strata.iter().map(of_stratum).collect()
}

fn upkeep(stratum: &Stratum, rule: &ViewRule) -> Upkeep {
    let Some(check) = &rule.check else { return Upkeep::Anew };
    if rule.kind != ViewKind::Grouped
        || !rule.deltas.iter().chain([check]).all(|strand| strand.is_pure())
    {
        return Upkeep::Anew;
    }
    match &rule.body[..] {
        [only] if !only.negated => Upkeep::Rows,
        body => {
            let mut own = stratum.heads.iter().chain(&stratum.selected);
            if own.any(|table| body.iter().any(|atom| atom.relation == *table)) {
                Upkeep::Anew
            } else {
                Upkeep::Join
            }
        }
    }
}

impl Kept {
    /// Forgets all groups.
    pub(super) fn forget(&mut self) {
        self.groups = HashTable::new();
    }

    fn group_hash(&self, check: &Strand, columns: &[Value<'_>]) -> u64 {
        let secret = &self.secret;
        let group = parts(check, columns, Part::Group);
        group.fold(0, |state, value| secret.combine(state, value.hash(secret)))
    }

    fn find(&self, check: &Strand, columns: &[Value<'_>]) -> Option<&Group> {
        let hash = self.group_hash(check, columns);
        self.groups.find(hash, |group| group.is_of(check, columns))
    }

    /// Adds a result to a group, or removes it.
    fn change(
        &mut self,
        check: &Strand,
        columns: &[Value<'_>],
        change: fn(&mut Running, &[Value<'_>]) -> Result<(), Irregular>,
        kept_from: u64,
    ) {
        let hash = self.group_hash(check, columns);
        let found = self.groups.find_entry(hash, |group| group.is_of(check, columns));
        let Ok(mut entry) = found else { return };
        let inputs: Vec<Value<'_>> = parts(check, columns, Part::Input).collect();
        let running = &mut entry.get_mut().running;
        if change(running, &inputs).is_err() || running.results() < kept_from / 4 {
            entry.remove();
        }
    }

    fn keep(&mut self, check: &Strand, columns: &[Value<'_>], results: &TupleBuf<()>) {
        let functions = check.output.columns.iter().filter_map(|column| match column {
            HeadColumn::Aggregate { function, .. } => Some(*function),
            HeadColumn::Value(_) => None,
        });
        let Some(mut running) = Running::new(functions) else { return };
        let mut inputs = Vec::new();
        for (_, result) in results.iter() {
            inputs.clear();
            inputs.extend(result);
            if running.add(&inputs).is_err() {
                return;
            }
        }
        let hash = self.group_hash(check, columns);
        let mut group = Group { hash, columns: SeqBuilder::new(), running };
        parts(check, columns, Part::Group).for_each(|value| group.columns.push(value));
        self.groups.insert_unique(group.hash, group, |group| group.hash);
    }
}

impl Group {
    fn is_of(&self, check: &Strand, columns: &[Value<'_>]) -> bool {
        let own = self.columns.as_seq();
        parts(check, columns, Part::Group).zip(own).all(|(a, b)| a.equal(&b))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Group,
    Input,
}

/// The group columns of a row, or the inputs of its aggregates.
fn parts<'c, 'v>(
    check: &'c Strand,
    columns: &'c [Value<'v>],
    wanted: Part,
) -> impl Iterator<Item = Value<'v>> + use<'c, 'v> {
    let part = |column: &HeadColumn| match column {
        HeadColumn::Value(_) => Part::Group,
        HeadColumn::Aggregate { .. } => Part::Input,
    };
    let heads = check.output.columns.iter().zip(columns);
    heads.filter(move |(head, _)| part(head) == wanted).map(|(_, value)| *value)
}

impl Views {
    /// The way to keep the groups of a rule up to date.
    pub(super) fn upkeep(&self, index: usize) -> Upkeep {
        self.kept[self.stratum][index].upkeep
    }
}

impl Round<'_> {
    pub(super) fn groups_of(&self, rule: &ViewRule) -> Option<Groups> {
        let spec = self.plan.relation(rule.head).table()?;
        (rule.kind == ViewKind::Grouped).then(|| Groups {
            rows: Table::new(
                TableSpec { indexes: Vec::new(), ordered: Vec::new(), ..spec.clone() },
                *self.database.secret(),
            ),
            touched: TupleBuf::new(),
        })
    }

    /// Applies the changes since the last update to the groups of a rule; false if there are none.
    pub(super) fn update_groups(&mut self, index: usize) -> bool {
        if !self.is_pending(index) {
            return false;
        }
        let update = match self.views.upkeep(index) {
            Upkeep::Rows => Round::update_by_rows,
            Upkeep::Join => Round::update_by_join,
            Upkeep::Anew => return false,
        };
        let began = self.views.begin_part();
        update(self, index);
        self.views.end_part(began, index, ViewWork::Groups);
        true
    }

    /// Whether a body has changes that its rule has not seen.
    pub(super) fn is_pending(&self, index: usize) -> bool {
        let cursors = &self.views.cursors[index];
        self.stratum.rules[index].body.iter().zip(cursors).any(|(atom, cursor)| {
            let log = self.views.changes.log(atom.relation);
            cursor.fresh < log.fresh.len()
                || cursor.gone < log.gone.len()
                || cursor.refreshed < log.refreshed.len()
        })
    }

    fn update_by_rows(&mut self, index: usize) {
        let rule = &self.stratum.rules[index];
        let delta = &rule.deltas[0];
        let relation = rule.body[0].relation;
        let log = self.views.changes.log(relation);
        let cursor = &mut self.views.cursors[index][0];
        let fresh = log.fresh[cursor.fresh..].to_vec();
        let gone = log.gone[cursor.gone..].to_vec();
        let refreshed = log.refreshed[cursor.refreshed..].to_vec();
        (cursor.fresh, cursor.gone) = (log.fresh.len(), log.gone.len());
        cursor.refreshed = log.refreshed.len();
        let table = self.database.table(relation);
        let (live, dead): (Vec<RowId>, Vec<RowId>) =
            fresh.into_iter().partition(|&row| table.is_live(row));
        let all = |_: u16, _: &Lookup| Visible::Live;
        // Insertions first, so that only present results are removed.
        self.each_result(delta, &dead, &all, |round, columns| {
            round.count(index, columns, Running::add);
        });
        self.each_result(delta, &live, &all, |round, columns| {
            round.count(index, columns, Running::add);
            round.improve_group(index, columns);
        });
        if self.plan.relation(rule.head).is_soft() {
            self.each_result(delta, &refreshed, &all, |round, columns| {
                round.note_group(index, columns, true);
            });
        }
        self.each_result(delta, &gone, &all, |round, columns| {
            round.count(index, columns, Running::remove);
            round.worsen_group(index, columns);
        });
    }

    fn update_by_join(&mut self, index: usize) {
        let rule = &self.stratum.rules[index];
        let mut changed = Vec::with_capacity(rule.body.len());
        for (at, atom) in rule.body.iter().enumerate() {
            let table = self.database.table(atom.relation);
            let log = self.views.changes.log(atom.relation);
            let new = |row: &RowId| *row >= table.fresh_from() && table.is_live(*row);
            let old = |row: &RowId| *row < table.fresh_from() && table.is_dying(*row);
            let net = |rows: &[RowId], wanted: &dyn Fn(&RowId) -> bool| -> Vec<RowId> {
                let mut rows: Vec<RowId> = rows.iter().copied().filter(|row| wanted(row)).collect();
                rows.sort_unstable();
                rows.dedup();
                rows
            };
            let (mut fresh, mut gone) = (net(&log.fresh, &new), net(&log.gone, &old));
            let refreshed = log.refreshed.clone();
            let cursor = &mut self.views.cursors[index][at];
            (cursor.fresh, cursor.gone) = (log.fresh.len(), log.gone.len());
            cursor.refreshed = log.refreshed.len();
            if atom.negated {
                // A result is blocked by any of these rows, so one of them is enough.
                different(table, &rule.deltas[at], &mut fresh);
                different(table, &rule.deltas[at], &mut gone);
                std::mem::swap(&mut fresh, &mut gone);
            }
            changed.push((fresh, gone, refreshed));
        }
        for (at, (comes, _, _)) in changed.iter().enumerate() {
            // In a negated table nothing blocks now.
            let visible = |other: u16, _: &Lookup| {
                if usize::from(other) <= at { Visible::Live } else { Visible::Before }
            };
            self.each_result(&rule.deltas[at], comes, &visible, |round, columns| {
                round.count(index, columns, Running::add);
                round.note_group(index, columns, true);
            });
        }
        for (at, (_, goes, _)) in changed.iter().enumerate() {
            let visible = |other: u16, _: &Lookup| {
                if usize::from(other) < at { Visible::Live } else { Visible::Before }
            };
            self.each_result(&rule.deltas[at], goes, &visible, |round, columns| {
                round.count(index, columns, Running::remove);
                round.note_group(index, columns, false);
            });
        }
        if self.plan.relation(rule.head).is_soft() {
            let all = |_: u16, _: &Lookup| Visible::Live;
            for (at, (_, _, refreshed)) in changed.iter().enumerate() {
                self.each_result(&rule.deltas[at], refreshed, &all, |round, columns| {
                    round.note_group(index, columns, true);
                });
            }
        }
    }

    fn each_result(
        &mut self,
        delta: &Strand,
        rows: &[RowId],
        visible: &dyn Fn(u16, &Lookup) -> Visible,
        mut then: impl FnMut(&mut Self, &[Value<'_>]),
    ) {
        for batch in rows.chunks(super::rounds::BATCH) {
            let derived = collect(self, delta, batch, visible);
            if self.is_over() {
                return;
            }
            let mut columns = Vec::new();
            for (_, result) in derived.iter() {
                columns.clear();
                columns.extend(result);
                then(self, &columns);
            }
            self.recycle(derived);
        }
    }

    fn count(
        &mut self,
        index: usize,
        columns: &[Value<'_>],
        change: fn(&mut Running, &[Value<'_>]) -> Result<(), Irregular>,
    ) {
        let Some(check) = &self.stratum.rules[index].check else { return };
        let kept = &mut self.views.kept[self.views.stratum][index];
        kept.change(check, columns, change, self.views.kept_from);
    }

    /// A result was added to a group.
    pub(super) fn improve_group(&mut self, index: usize, columns: &[Value<'_>]) {
        let rule = &self.stratum.rules[index];
        let Some((column, best)) = extreme(rule) else {
            return self.note_group(index, columns, true);
        };
        let table = self.database.table(rule.head);
        let Some(row) = table.find(columns) else {
            return self.note_group(index, columns, true);
        };
        if best.is_better(columns[column as usize], table.value(row, column)) {
            self.put(rule.head, columns, Source::Derived);
        } else if self.plan.relation(rule.head).is_soft() {
            let same = table.copy_row(row);
            let same: Vec<Value<'_>> = same.iter().map(|value| value.get()).collect();
            self.put(rule.head, &same, Source::Derived);
        }
    }

    /// A result was removed from a group. Its row is removed if it may depend on that, before
    /// anything is derived again: the group may support itself.
    pub(super) fn worsen_group(&mut self, index: usize, columns: &[Value<'_>]) {
        let rule = &self.stratum.rules[index];
        let table = self.database.table(rule.head);
        if let Some((column, best)) = extreme(rule)
            && let Some(row) = table.find(columns)
        {
            if best.is_better(table.value(row, column), columns[column as usize]) {
                return; // the removed result was not the best
            }
            let mut own = self.stratum.heads.iter().chain(&self.stratum.selected);
            if own.any(|table| rule.reads(*table)) {
                self.views.changes.remove(self.database, rule.head, row);
            }
        }
        self.note_group(index, columns, false);
    }

    pub(super) fn note_group(&mut self, index: usize, columns: &[Value<'_>], touched: bool) {
        let Some(groups) = &mut self.views.groups[index] else { return };
        // The set of groups is bounded by the tables they come from.
        let known = groups.rows.find(columns).is_some();
        if !known && groups.rows.insert(columns, 0).is_err() {
            self.views.changes.refused += 1;
        }
        if touched {
            groups.touched.push((), columns);
        }
    }

    /// Whether rows of groups of a rule are to be computed.
    pub(super) fn has_groups(&self, index: usize) -> bool {
        self.views.groups[index].as_ref().is_some_and(|groups| !groups.rows.is_empty())
    }

    /// Computes the rows of the groups of a rule that were noted.
    pub(super) fn regroup(&mut self, index: usize) {
        let rule = &self.stratum.rules[index];
        let Some(groups) = &mut self.views.groups[index] else { return };
        if groups.rows.is_empty() {
            return;
        }
        let empty = Table::new(groups.rows.spec().clone(), *self.database.secret());
        let rows = std::mem::replace(&mut groups.rows, empty);
        let touched = std::mem::take(&mut groups.touched);
        let mut touched: Vec<RowId> = {
            let row_of =
                |(_, columns): ((), Seq<'_>)| rows.find(&columns.iter().collect::<Vec<_>>());
            touched.iter().filter_map(row_of).collect()
        };
        touched.sort_unstable();
        let Some(check) = &rule.check else { return };
        let mut columns = Vec::new();
        for row in rows.rows(Access::Scan, &[], Visible::Live) {
            if self.is_over() {
                return;
            }
            columns.clear();
            rows.read_row(row, &mut columns);
            let known = self.views.kept[self.views.stratum][index].find(check, &columns).is_some();
            let result = if known {
                self.finish_kept(index, check, &columns)
            } else {
                self.aggregate(index, check, &columns)
            };
            self.replace(rule, &columns, &result, touched.binary_search(&row).is_ok());
        }
    }

    /// The row of a group that is kept.
    fn finish_kept(&mut self, index: usize, check: &Strand, group: &[Value<'_>]) -> TupleBuf<u64> {
        let mut results = TupleBuf::new();
        let kept = &self.views.kept[self.views.stratum][index];
        let Some(Group { running, .. }) = kept.find(check, group) else { return results };
        let mut values = running.values(self.scope);
        let heads = check.output.columns.iter().zip(group);
        let columns: Result<Vec<Value<'_>>, EvalError> = heads
            .filter_map(|(head, value)| match head {
                HeadColumn::Value(_) => Some(Ok(*value)),
                HeadColumn::Aggregate { .. } => values.next(),
            })
            .collect();
        match columns {
            Ok(columns) => results.push(running.results(), &columns),
            Err(error) => self.failures.failed(check.rule, error),
        }
        results
    }

    /// Recomputes one group; keeps it from then on if it is large.
    fn aggregate(&mut self, index: usize, check: &Strand, group: &[Value<'_>]) -> TupleBuf<u64> {
        let mut rows = TupleBuf::new();
        self.database.prepare(check);
        let keeps = self.views.upkeep(index) != Upkeep::Anew;
        let mut sink = Aggregated {
            rows: &mut rows,
            results: keeps.then(TupleBuf::new),
            failures: self.failures,
            looked: 0,
        };
        let reading = Reading::present(self.database);
        run_values(check, group.iter().copied(), reading, self.scope, &mut sink);
        let (looked, results) = (sink.looked, sink.results);
        self.views.count_part(0, rows.len(), looked);
        if let Some(results) = results
            && !self.is_over()
            && results.len() as u64 >= self.views.kept_from
        {
            self.views.kept[self.views.stratum][index].keep(check, group, &results);
        }
        rows
    }

    /// Replaces the row of a group by its result.
    fn replace(
        &mut self,
        rule: &ViewRule,
        group: &[Value<'_>],
        result: &TupleBuf<u64>,
        touched: bool,
    ) {
        match result.get(0) {
            Some((count, columns)) if count > 0 => {
                let columns: Vec<Value<'_>> = columns.iter().collect();
                let equal = self.database.table(rule.head).find_equal(&columns).is_some();
                if touched || !equal {
                    self.put(rule.head, &columns, Source::Derived);
                }
            }
            _ => {
                if let Some(row) = self.database.table(rule.head).find(group) {
                    self.views.changes.remove(self.database, rule.head, row);
                }
            }
        }
    }
}

/// Leaves one of each set of rows that are equal to the trigger.
pub(super) fn different(table: &Table, delta: &Strand, rows: &mut Vec<RowId>) {
    let mut seen = OrderedSet::new();
    rows.retain(|&row| {
        let mut bytes = Vec::new();
        for (column, bind) in (0..).zip(&delta.trigger.columns) {
            if *bind != Bind::Ignore {
                write_value(&mut bytes, table.value(row, column));
            }
        }
        seen.insert(bytes)
    });
}

/// The column of a grouped rule that is its one aggregate, if that is a MIN or MAX: then a result
/// that is not better changes nothing.
fn extreme(rule: &ViewRule) -> Option<(u32, Aggregate)> {
    let check = rule.check.as_ref()?;
    let mut found = (0..).zip(&check.output.columns).filter_map(|(column, head)| match head {
        HeadColumn::Aggregate { function, .. } => Some((column, *function)),
        HeadColumn::Value(_) => None,
    });
    let first = found.next().filter(|(_, function)| function.is_extreme())?;
    found.next().is_none().then_some(first)
}

/// Collects the result of an aggregate with the number of results in the group, and these.
struct Aggregated<'s> {
    rows: &'s mut TupleBuf<u64>,
    /// `None` if they are not needed or cannot be kept.
    results: Option<TupleBuf<()>>,
    failures: &'s mut dyn super::Failures,
    /// Rows examined.
    looked: u64,
}

impl Sink for Aggregated<'_> {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], results: u64) {
        self.rows.push(results, columns);
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        // A dropped result may not be comparable with others of the group.
        self.results = None;
        self.failures.failed(rule, error);
    }

    fn looked(&mut self, rows: u32) {
        self.looked += u64::from(rows);
    }

    fn gathered(&mut self, inputs: &[Value<'_>]) {
        if let Some(results) = &mut self.results {
            results.push((), inputs);
        }
    }
}
