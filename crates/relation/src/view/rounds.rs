//! One round of one stratum: the phases of [`super`].

use super::{Cursor, Failures, Groups, Phase, Source, Views, single_aggregate};
use crate::aggregate::Aggregate;
use crate::database::Database;
use crate::expr::{EvalError, Scope};
use crate::flat::TupleBuf;
use crate::narrow::{self, Halt};
use crate::operator::compare;
use crate::plan::{Lookup, Output, Plan, RelationId, RuleId, Strand, Stratum, ViewKind, ViewRule};
use crate::strand::{Reading, Sink, run, run_rows};
use crate::table::{Access, Key, RowId, Table, TableSpec, Visible};
use crate::value::Value;

/// Rows of a delta that run before their derivations are put in: bounds the buffer between.
const BATCH: usize = 1024;

pub(super) struct Round<'r> {
    pub(super) views: &'r mut Views,
    pub(super) plan: &'r Plan,
    pub(super) stratum: &'r Stratum,
    pub(super) database: &'r mut Database,
    pub(super) scope: Scope<'r>,
    pub(super) now_ns: u64,
    pub(super) failures: &'r mut dyn Failures,
}

/// Which rows of an atom's relation start a strand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delta {
    Fresh,
    Gone,
    Refreshed,
}

impl Round<'_> {
    pub(super) fn run(&mut self) {
        match self.views.phase {
            Phase::Start => self.start(),
            Phase::Retract => self.retract(),
            Phase::Rederive => self.rederive(),
            Phase::Extend => self.extend(),
        }
    }

    fn start(&mut self) {
        let idle = self.stratum.rules.iter().flat_map(|rule| &rule.body).all(|atom| {
            let log = self.views.changes.log(atom.relation);
            log.fresh.is_empty() && log.gone.is_empty() && log.refreshed.is_empty()
        });
        let selected = |relation: &RelationId| {
            self.views.reselect.iter().any(|(table, _)| table == *relation)
                || self.candidates_changed(*relation)
        };
        if idle && !self.stratum.selected.iter().any(selected) {
            self.views.stratum += 1;
            return;
        }
        let cursors = |rule: &ViewRule| vec![Cursor::default(); rule.body.len()];
        self.views.cursors = self.stratum.rules.iter().map(cursors).collect();
        self.views.groups = self.stratum.rules.iter().map(|rule| self.groups_of(rule)).collect();
        self.views.phase = Phase::Retract;
    }

    fn candidates_changed(&self, relation: RelationId) -> bool {
        self.plan.relation(relation).candidates.is_some_and(|candidates| {
            let log = self.views.changes.log(candidates);
            !log.fresh.is_empty() || !log.gone.is_empty()
        })
    }

    fn groups_of(&self, rule: &ViewRule) -> Option<Groups> {
        let spec = self.plan.relation(rule.head).table()?;
        (rule.kind == ViewKind::Grouped).then(|| Groups {
            rows: Table::new(TableSpec { indexes: Vec::new(), ..spec.clone() }),
            touched: TupleBuf::new(),
        })
    }

    /// Takes out all that used a row that went (or a row that came, where it is negated).
    fn retract(&mut self) {
        let mut any = false;
        for (index, rule) in self.stratum.rules.iter().enumerate() {
            for (atom, body) in rule.body.iter().enumerate() {
                let delta = if body.negated { Delta::Fresh } else { Delta::Gone };
                let rows = self.take(index, atom, body.relation, delta, true);
                if rows.is_empty() || rule.kind == ViewKind::Plain {
                    continue;
                }
                any = true;
                self.retract_with(index, rule, atom, &rows);
            }
        }
        if !any {
            self.views.phase = Phase::Rederive;
        }
    }

    fn retract_with(&mut self, index: usize, rule: &ViewRule, atom: usize, rows: &[RowId]) {
        let ever = |_: u16, _: &Lookup| Visible::Ever;
        for batch in rows.chunks(BATCH) {
            self.database.prepare(&rule.deltas[atom]);
            let reading = Reading {
                database: self.database,
                visible: &ever,
                ignore_absent: true,
                traced: false,
            };
            let derived = &mut self.views.derived;
            // Derivations that fail now failed then.
            let mut sink = Collect { derived, failures: None };
            run_rows(&rule.deltas[atom], batch, reading, self.scope, &mut sink);
            let derived = std::mem::take(&mut self.views.derived);
            for (_, columns) in derived.iter() {
                let columns: Vec<Value<'_>> = columns.iter().collect();
                match rule.kind {
                    ViewKind::Grouped => self.retract_group(index, rule, &columns),
                    _ => self.retract_row(rule.head, &columns),
                }
            }
            self.recycle(derived);
        }
    }

    fn retract_row(&mut self, head: RelationId, columns: &[Value<'_>]) {
        let table = self.database.table(head);
        let Some(row) = table.find_equal(columns) else { return };
        if table.is_asserted(row) {
            return;
        }
        self.views.changes.remove(self.database, head, row);
        self.views.overdeleted.push((head, row));
        self.retract_selected(head, columns);
    }

    /// A candidate went: the row that was selected from it goes too.
    fn retract_selected(&mut self, candidates: RelationId, columns: &[Value<'_>]) {
        let Some(table) = self.selected_from(candidates) else { return };
        let row = &columns[1..];
        if let Some(found) = self.database.table(table).find_equal(row) {
            self.views.changes.remove(self.database, table, found);
        }
        self.views.reselect.push(table, row);
    }

    /// The table whose rows are selected from these candidates.
    fn selected_from(&self, candidates: RelationId) -> Option<RelationId> {
        let of = |table: &&RelationId| self.plan.relation(**table).candidates == Some(candidates);
        self.stratum.selected.iter().find(of).copied()
    }

    fn retract_group(&mut self, index: usize, rule: &ViewRule, columns: &[Value<'_>]) {
        let table = self.database.table(rule.head);
        if let Some(row) = table.find(columns) {
            if let Some((column, function)) = single_aggregate(rule)
                && let Some(order) = better(function)
            {
                let (input, best) = (columns[column as usize], table.value(row, column));
                if compare(best, input) == order {
                    return; // what went was not the best
                }
            }
            self.views.changes.remove(self.database, rule.head, row);
        }
        self.note_group(index, columns, false);
    }

    fn note_group(&mut self, index: usize, columns: &[Value<'_>], touched: bool) {
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

    /// Puts back what can still be derived; aggregates touched groups; selects among candidates.
    fn rederive(&mut self) {
        let overdeleted = std::mem::take(&mut self.views.overdeleted);
        for &(head, row) in &overdeleted {
            if self.database.table(head).is_dying(row) && self.derivable(head, row) {
                self.views.changes.revive(self.database, head, row);
                self.reselect_for(head, row);
            }
        }
        for index in 0..self.stratum.rules.len() {
            self.regroup(index);
        }
        self.select();
        self.views.phase = match self.retraction_pending() {
            true => Phase::Retract,
            false => Phase::Extend,
        };
    }

    fn derivable(&mut self, head: RelationId, row: RowId) -> bool {
        let rules = self.stratum.rules.iter().filter(|rule| rule.head == head);
        for check in rules.filter_map(|rule| rule.check.as_ref()) {
            self.database.prepare(check);
            let derived = &mut self.views.derived;
            let mut sink = Collect { derived, failures: None };
            let reading = Reading::present(self.database);
            run_rows(check, &[row], reading, self.scope, &mut sink);
            let derived = std::mem::take(&mut self.views.derived);
            let table = self.database.table(head);
            let found = derived.iter().any(|(_, columns)| {
                (0..).zip(columns).all(|(column, value)| table.value(row, column).equal(&value))
            });
            self.recycle(derived);
            if found {
                return true;
            }
        }
        false
    }

    fn regroup(&mut self, index: usize) {
        let rule = &self.stratum.rules[index];
        let Some(groups) = &mut self.views.groups[index] else { return };
        if groups.rows.is_empty() {
            return;
        }
        let empty = Table::new(groups.rows.spec().clone());
        let rows = std::mem::replace(&mut groups.rows, empty);
        let touched = std::mem::take(&mut groups.touched);
        let touched: Vec<RowId> = {
            let rows = &rows;
            let row_of = |(_, columns): ((), crate::flat::Seq<'_>)| {
                rows.find(&columns.iter().collect::<Vec<_>>())
            };
            let mut all: Vec<RowId> = touched.iter().filter_map(row_of).collect();
            all.sort_unstable();
            all
        };
        let Some(check) = &rule.check else { return };
        let mut columns = Vec::new();
        for row in rows.rows(Access::Scan, &[], Visible::Live) {
            columns.clear();
            rows.read_row(row, &mut columns);
            self.aggregate(rule, check, &columns, touched.binary_search(&row).is_ok());
        }
    }

    /// Aggregates one group anew and puts the result in its row's place.
    fn aggregate(&mut self, rule: &ViewRule, check: &Strand, group: &[Value<'_>], touched: bool) {
        let mut results = TupleBuf::new();
        self.database.prepare(check);
        {
            let mut sink = Aggregated { results: &mut results, failures: self.failures };
            let reading = Reading::present(self.database);
            run(check, group.iter().copied(), reading, self.scope, &mut sink);
        }
        let old = self.database.table(rule.head).find(group);
        match results.get(0) {
            Some((count, columns)) if count > 0 => {
                let columns: Vec<Value<'_>> = columns.iter().collect();
                let equal = self.database.table(rule.head).find_equal(&columns).is_some();
                if touched || !equal {
                    self.put(rule.head, &columns, Source::Derived);
                }
            }
            _ => {
                if let Some(row) = old {
                    self.views.changes.remove(self.database, rule.head, row);
                }
            }
        }
    }

    fn put(&mut self, relation: RelationId, columns: &[Value<'_>], source: Source) {
        let changes = &mut self.views.changes;
        changes.put(self.database, relation, columns, self.now_ns, source);
    }

    /// Notes the key of a candidate that changed.
    fn reselect_for(&mut self, candidates: RelationId, row: RowId) {
        let Some(table) = self.selected_from(candidates) else { return };
        let mut columns = Vec::new();
        self.database.table(candidates).read_row(row, &mut columns);
        self.views.reselect.push(table, &columns[1..]);
    }

    /// For each noted key, makes the last candidate the row of the table.
    fn select(&mut self) {
        let keys = std::mem::take(&mut self.views.reselect);
        for (relation, columns) in keys.iter() {
            if !self.stratum.selected.contains(&relation) {
                self.views.reselect.push(relation, &columns.iter().collect::<Vec<_>>());
                continue;
            }
            self.select_one(relation, &columns.iter().collect::<Vec<_>>());
        }
    }

    fn select_one(&mut self, relation: RelationId, columns: &[Value<'_>]) {
        let description = self.plan.relation(relation);
        let (Some(candidates), Some(spec)) = (description.candidates, description.table()) else {
            return;
        };
        let key: Vec<Value<'_>> = match &spec.key {
            Key::Columns(key) => key.iter().map(|&column| columns[column as usize]).collect(),
            Key::Bag => columns.to_vec(),
        };
        self.database.table_mut(candidates).prepare(Access::Index(0));
        let table = self.database.table(candidates);
        let rank = |row: &RowId| (table.value(*row, 0).as_int(), *row);
        let best = table.rows(Access::Index(0), &key, Visible::Live).max_by_key(rank);
        let visible = self.database.table(relation).find(columns);
        let Some(best) = best else {
            if let Some(row) = visible {
                self.views.changes.remove(self.database, relation, row);
            }
            return;
        };
        let mut chosen = TupleBuf::new();
        let mut values = Vec::new();
        table.read_row(best, &mut values);
        chosen.push((), &values[1..]);
        if let Some((_, chosen)) = chosen.get(0) {
            let chosen: Vec<Value<'_>> = chosen.iter().collect();
            if self.database.table(relation).find_equal(&chosen).is_none() {
                self.put(relation, &chosen, Source::Derived);
            }
        }
    }

    fn retraction_pending(&self) -> bool {
        self.stratum.rules.iter().enumerate().any(|(index, rule)| {
            rule.body.iter().enumerate().any(|(atom, body)| {
                let log = self.views.changes.log(body.relation);
                let cursor = self.views.cursors[index][atom];
                match body.negated {
                    true => cursor.refreshed < log.fresh.len(),
                    false => cursor.gone < log.gone.len(),
                }
            })
        })
    }

    /// Semi-naive: every row that came meets the rows that were there before and its equals.
    fn extend(&mut self) {
        // `u32::MAX` where nothing came: all live rows.
        let mut limits = vec![RowId(u32::MAX); self.plan.relations.len()];
        let mut work = Vec::new();
        for (index, rule) in self.stratum.rules.iter().enumerate() {
            for (atom, body) in rule.body.iter().enumerate() {
                if body.negated && rule.kind == ViewKind::Plain {
                    continue; // soft state fires for what comes, never for what goes
                }
                let delta = if body.negated { Delta::Gone } else { Delta::Fresh };
                let mut rows = self.take(index, atom, body.relation, delta, false);
                if !body.negated {
                    let table = self.database.table(body.relation);
                    let new = rows.iter().filter(|&&row| row >= table.fresh_from()).min();
                    if let Some(&new) = new {
                        let limit = &mut limits[body.relation.index()];
                        *limit = new.min(*limit);
                    }
                    rows.extend(self.take(index, atom, body.relation, Delta::Refreshed, false));
                }
                if !rows.is_empty() {
                    work.push((index, atom, rows));
                }
            }
        }
        if work.is_empty() {
            self.finish();
            return;
        }
        for (index, atom, rows) in work {
            self.extend_with(index, atom, &rows, &limits);
        }
        // Aggregates and selections of this round, and what they displaced, come first.
        self.views.phase = Phase::Retract;
    }

    fn extend_with(&mut self, index: usize, atom: usize, rows: &[RowId], limits: &[RowId]) {
        let rule = &self.stratum.rules[index];
        let visible = |other: u16, lookup: &Lookup| {
            // A derivation from two rows that came is found from the later atom.
            let later = other as usize > atom && !rule.body[other as usize].negated;
            match later {
                true => Visible::Below(limits[lookup.relation.index()]),
                false => Visible::Live,
            }
        };
        for batch in rows.chunks(BATCH) {
            self.database.prepare(&rule.deltas[atom]);
            if self.extend_words(rule, &rule.deltas[atom], batch, &visible) {
                continue;
            }
            let reading = Reading {
                database: self.database,
                visible: &visible,
                ignore_absent: false,
                traced: false,
            };
            let derived = &mut self.views.derived;
            let mut sink = Collect { derived, failures: Some(&mut *self.failures) };
            run_rows(&rule.deltas[atom], batch, reading, self.scope, &mut sink);
            let derived = std::mem::take(&mut self.views.derived);
            let mut values = Vec::new();
            for (_, columns) in derived.iter() {
                values.clear();
                values.extend(columns);
                self.extend_one(index, rule, &values);
            }
            self.recycle(derived);
        }
    }

    /// Runs a batch on words and puts in what it derives; false if that cannot be done.
    fn extend_words(
        &mut self,
        rule: &ViewRule,
        strand: &Strand,
        batch: &[RowId],
        visible: &dyn Fn(u16, &Lookup) -> Visible,
    ) -> bool {
        let plain = rule.kind == ViewKind::Maintained && self.selected_from(rule.head).is_none();
        if !plain || batch.len() < self.views.narrow_from {
            return false;
        }
        let mut derived = std::mem::take(&mut self.views.derived_words);
        let done = loop {
            let database = &*self.database;
            let reading = Reading { database, visible, ignore_absent: false, traced: false };
            match narrow::compile(strand, reading, self.scope) {
                Ok(narrow) => {
                    narrow.run(batch, &mut derived);
                    break true;
                }
                Err(Halt::Widen(layout)) => self.database.table_mut(rule.head).widen(layout),
                Err(Halt::Never) => break true,
                Err(Halt::Unfit) => break false,
            }
        };
        self.views.changes.put_words(self.database, rule.head, &derived);
        derived.clear();
        self.views.derived_words = derived;
        self.views.ran_on_words += u64::from(done);
        done
    }

    fn extend_one(&mut self, index: usize, rule: &ViewRule, columns: &[Value<'_>]) {
        match rule.kind {
            ViewKind::Grouped => self.extend_group(index, rule, columns),
            ViewKind::Plain => {
                self.views.insert(self.plan, self.database, rule.head, columns, self.now_ns)
            }
            ViewKind::Maintained => {
                self.put(rule.head, columns, Source::Derived);
                if let Some(table) = self.selected_from(rule.head) {
                    self.views.reselect.push(table, &columns[1..]);
                }
            }
        }
    }

    fn extend_group(&mut self, index: usize, rule: &ViewRule, columns: &[Value<'_>]) {
        let table = self.database.table(rule.head);
        if let Some(row) = table.find(columns)
            && let Some((column, function)) = single_aggregate(rule)
            && let Some(order) = better(function)
        {
            let best = table.value(row, column);
            if compare(columns[column as usize], best) == order {
                self.put(rule.head, columns, Source::Derived);
            } else if self.plan.relation(rule.head).is_soft() {
                let mut same = TupleBuf::new();
                let mut values = Vec::new();
                table.read_row(row, &mut values);
                same.push((), &values);
                if let Some((_, same)) = same.get(0) {
                    self.put(rule.head, &same.iter().collect::<Vec<_>>(), Source::Derived);
                }
            }
            return;
        }
        self.note_group(index, columns, true);
    }

    /// The stratum is at its fixed point.
    fn finish(&mut self) {
        for &relation in self.stratum.heads.iter().chain(&self.stratum.selected) {
            self.views.changes.net_log(self.database, relation);
        }
        self.views.stratum += 1;
        self.views.phase = Phase::Start;
    }

    /// The rows of a delta that an atom has not met yet and that are (or are not) live.
    fn take(
        &mut self,
        index: usize,
        atom: usize,
        relation: RelationId,
        delta: Delta,
        retracting: bool,
    ) -> Vec<RowId> {
        let log = self.views.changes.log(relation);
        let cursor = &mut self.views.cursors[index][atom];
        let (rows, from) = match delta {
            // A negated atom has no use for refreshes: its cursor counts what it retracted for.
            Delta::Fresh if retracting => (&log.fresh, &mut cursor.refreshed),
            Delta::Fresh => (&log.fresh, &mut cursor.fresh),
            Delta::Gone => (&log.gone, &mut cursor.gone),
            Delta::Refreshed => (&log.refreshed, &mut cursor.refreshed),
        };
        let table = self.database.table(relation);
        let live = delta != Delta::Gone;
        let taken = rows[*from..].iter().copied().filter(|&row| table.is_live(row) == live);
        let taken = taken.collect();
        *from = rows.len();
        taken
    }

    fn recycle(&mut self, mut derived: TupleBuf<()>) {
        derived.clear();
        self.views.derived = derived;
    }
}

/// How a value must compare to the present one to be the better of the two.
fn better(function: Aggregate) -> Option<std::cmp::Ordering> {
    match function {
        Aggregate::Min => Some(std::cmp::Ordering::Less),
        Aggregate::Max => Some(std::cmp::Ordering::Greater),
        _ => None,
    }
}

/// Takes derivations into a buffer.
struct Collect<'s> {
    derived: &'s mut TupleBuf<()>,
    failures: Option<&'s mut dyn Failures>,
}

impl Sink for Collect<'_> {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], _: u64) {
        self.derived.push((), columns);
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        if let Some(failures) = &mut self.failures {
            failures.failed(rule, error);
        }
    }
}

/// Takes the result of an aggregate, with the number of results it is made of.
struct Aggregated<'s> {
    results: &'s mut TupleBuf<u64>,
    failures: &'s mut dyn Failures,
}

impl Sink for Aggregated<'_> {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], results: u64) {
        self.results.push(results, columns);
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        self.failures.failed(rule, error);
    }
}
