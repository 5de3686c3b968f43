//! One round of one stratum: the phases of [`super`].
//!
//! ```text
//! phase     does                                             continues with
//! Start     skips a stratum whose inputs have not changed    Retract
//! Retract   retracts what was derived from removed rows      Retract while there are any, Rederive
//! Rederive  puts back what is derivable; groups; selections  Retract if that removed rows, Extend
//! Extend    derives from new rows                            Retract if there were any, Start
//! ```
//! A call of [`Round::run`] is one pass of one phase.
//!
//! Retraction is DRed: overdelete, then rederive (A. Gupta, I. S. Mumick, V. S. Subrahmanian,
//! *Maintaining Views Incrementally*, SIGMOD 1993), cut short where a row has a derivation from
//! rows of lower rank ([`Support::Older`]). Extension is semi-naive (F. Bancilhon, R. Ramakrishnan,
//! *An Amateur's Introduction to Recursive Query Processing Strategies*, SIGMOD 1986).
//!
//! Invariants:
//!
//! 1. A body atom meets each entry of a log once per use: its [`Cursor`] is the number of entries
//!    that it has met ([`Delta`]).
//! 2. `Retract` joins removed rows with all rows that were live at some time in the commit
//!    ([`Visible::Ever`]). So a derivation from several removed rows is found, whichever was
//!    removed first. It may retract too much, never too little; `Rederive` corrects that.
//! 3. `Extend` begins with nothing left to retract or to rederive.
//! 4. `Extend` finds each derivation from the new rows that it begins with. It finds one from
//!    several of them at the last of their atoms only ([`semi_naive`]).
//! 5. No strand runs while a table changes: the derivations from at most [`BATCH`] rows are
//!    collected, then inserted or retracted.

use std::borrow::Cow;

use super::changes::ChangeLog;
use super::groups::{Upkeep, different};
use super::traced::{KnownDerivations, Noting};
use super::{Cursor, Failures, Phase, Reselect, Source, ViewWork, Views};
use crate::database::Database;
use crate::eval::{EvalError, Scope};
use crate::flat::TupleBuf;
use crate::narrow::{self, Halt, Work};
use crate::plan::{
    Atom, Bind, Lookup, Output, Plan, RelationId, RuleId, Step, Strand, Stratum, ViewKind, ViewRule,
};
use crate::strand::{Reading, Sink, run_rows, run_rows_traced};
use crate::table::{Access, Key, Part, RowId, Table, TableSpec, Visible};
use crate::value::Value;
use smallvec::SmallVec;

/// Rows of a delta that run before their derivations are put in: bounds the buffer between.
pub(super) const BATCH: usize = 1024;

pub(super) struct Round<'r> {
    pub(super) views: &'r mut Views,
    pub(super) plan: &'r Plan,
    pub(super) stratum: &'r Stratum,
    pub(super) database: &'r mut Database,
    pub(super) scope: Scope<'r>,
    pub(super) now_ns: u64,
    pub(super) failures: &'r mut dyn Failures,
}

/// The rows of an atom's relation that start a strand, by what they mean to the atom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delta {
    /// Removed rows: what was derived from them is retracted.
    Removed,
    /// New rows of a negated atom: what was derived from their absence is retracted.
    Blocking,
    /// New rows: they derive.
    Inserted,
    /// Removed rows of a negated atom: their absence derives.
    Unblocking,
    /// Rows of soft state that were inserted again: they refresh what they derive.
    Refreshed,
}

impl Delta {
    /// The delta whose consequences an atom retracts.
    fn retracting(atom: &Atom) -> Delta {
        if atom.negated { Delta::Blocking } else { Delta::Removed }
    }

    /// The entries of a log among which its rows are.
    fn entries(self, log: &ChangeLog) -> &[RowId] {
        match self {
            Delta::Inserted | Delta::Blocking => &log.fresh,
            Delta::Removed | Delta::Unblocking => &log.gone,
            Delta::Refreshed => &log.refreshed,
        }
    }

    /// The number of entries met. An atom uses `fresh` and `gone` for one delta each, as it is
    /// negated or not.
    fn met(self, cursor: &mut Cursor) -> &mut usize {
        match self {
            Delta::Inserted | Delta::Blocking => &mut cursor.fresh,
            Delta::Removed | Delta::Unblocking => &mut cursor.gone,
            Delta::Refreshed => &mut cursor.refreshed,
        }
    }

    /// Whether an entry is one of its rows: what a later entry has undone is not.
    fn has(self, table: &Table, row: RowId) -> bool {
        match self {
            Delta::Inserted | Delta::Blocking | Delta::Refreshed => table.is_live(row),
            Delta::Removed => !table.is_live(row),
            // The absence of a row inserted and removed in this commit is not new.
            Delta::Unblocking => !table.is_live(row) && table.was_live(row),
        }
    }
}

/// The rows from which an atom of a rule derives in a round.
struct Extension {
    /// The rule, in the stratum.
    index: usize,
    atom: usize,
    rows: Vec<RowId>,
    /// Rows of soft state that were inserted again. They are not new, whatever their numbers.
    refreshed: Vec<RowId>,
}

/// The source of a derivation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Support {
    /// Rows of lower rank, so none that follow from it.
    Older,
    /// No rows.
    None,
    /// Younger rows, which may follow from it, or none.
    Unknown,
}

impl Round<'_> {
    /// Whether the round ends early, because the commit will be given up.
    pub(super) fn is_over(&self) -> bool {
        self.views.has_exceeded() || self.scope.ambient.is_interrupted()
    }

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
            self.views.reselect.iter().any(|(note, _)| note.table == *relation)
                || self.candidates_changed(*relation)
        };
        if idle && !self.stratum.selected.iter().any(selected) {
            self.views.stratum += 1;
            return;
        }
        self.views.start_limits(self.stratum, self.database);
        for &head in &self.stratum.heads {
            let is_new = self.database.table(head).fresh_from() == RowId(0);
            self.views.in_order[head.index()] |= is_new;
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

    /// Retracts all derivations that used a removed row (or a new row, where it is negated). What
    /// that removes is retracted by the next pass: its rows are new entries of the logs.
    fn retract(&mut self) {
        let mut any = false;
        for (index, rule) in self.stratum.rules.iter().enumerate() {
            if self.views.upkeep(index) != Upkeep::Anew {
                any |= self.update_groups(index);
                continue;
            }
            for (atom, body) in rule.body.iter().enumerate() {
                let rows = self.take(index, atom, Delta::retracting(body));
                if rows.is_empty() || rule.kind == ViewKind::Plain {
                    continue;
                }
                any = true;
                let began = self.views.begin_part();
                self.retract_with(index, rule, atom, &rows);
                self.views.end_part(began, index, ViewWork::Delta(atom as u32));
            }
        }
        if !any {
            self.views.phase = Phase::Rederive;
        }
    }

    fn retract_with(&mut self, index: usize, rule: &ViewRule, atom: usize, rows: &[RowId]) {
        let ever = |_: u16, _: &Lookup| Visible::Ever;
        let rows = &*self.distinct(rule, atom, rows);
        // Each derivation is searched for in the head's hash table.
        self.database.table_mut(rule.head).link();
        for batch in rows.chunks(BATCH) {
            self.database.prepare(&rule.deltas[atom]);
            let reading =
                Reading { visible: &ever, ignore_absent: true, ..Reading::present(self.database) };
            let most = self.views.most_left();
            let derived = &mut self.views.derived;
            // Derivations that fail now failed then.
            let mut sink = Collect { derived, failures: None, most, looked: 0 };
            run_rows(&rule.deltas[atom], batch, reading, self.scope, &mut sink);
            let (probes, is_over) = (sink.probes(batch), sink.is_over());
            let Some(derived) = self.take_derived(batch.len(), probes, is_over) else { return };
            for (_, columns) in derived.iter() {
                let columns: Vec<Value<'_>> = columns.iter().collect();
                match rule.kind {
                    ViewKind::Grouped => self.worsen_group(index, &columns),
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
        let support = self.support(head, row);
        if support == Support::Older {
            self.views.stayed += 1;
            return;
        }
        self.views.changes.remove(self.database, head, row);
        if support != Support::None {
            self.views.overdeleted.push((head, row));
        }
        self.views.retracted.insert((head, row));
        self.retract_selected(head, columns);
    }

    /// Puts back what can still be derived; aggregates touched groups; selects among candidates.
    fn rederive(&mut self) {
        let overdeleted = std::mem::take(&mut self.views.overdeleted);
        for &(head, row) in &overdeleted {
            if self.is_over() {
                return;
            }
            let live = |_: u16, _: &Lookup| Visible::Live;
            if self.database.table(head).is_dying(row) && self.derivable(head, row, &live) {
                self.views.changes.revive(self.database, head, row);
                self.reselect_for(head, row);
            }
        }
        for index in 0..self.stratum.rules.len() {
            self.update_groups(index);
            if self.has_groups(index) {
                let began = self.views.begin_part();
                self.regroup(index);
                self.views.end_part(began, index, ViewWork::Groups);
            }
        }
        self.select();
        self.views.phase = if self.retraction_pending() { Phase::Retract } else { Phase::Extend };
    }

    /// The support of a row that has lost a derivation.
    ///
    /// Ranks of rows of several tables cannot be compared, so only a table that is alone in its
    /// stratum is checked. The derivation that was found is not marked as used: if a row of it is
    /// retracted later, `row` is checked again, as it was derived from that.
    fn support(&mut self, head: RelationId, row: RowId) -> Support {
        let is_alone = self.stratum.heads[..] == [head] && self.stratum.selected.is_empty();
        let mut rules = self.stratum.rules.iter();
        let are_maintained = rules.all(|rule| rule.kind == ViewKind::Maintained);
        if !is_alone || !are_maintained || !self.views.in_order[head.index()] {
            return Support::Unknown;
        }
        let older = |_: u16, lookup: &Lookup| {
            if lookup.relation == head { Visible::OlderThan(row) } else { Visible::Live }
        };
        let recurs = self.stratum.rules.iter().any(|rule| rule.reads(head));
        match (self.derivable(head, row, &older), recurs) {
            (true, _) => Support::Older,
            (false, true) => Support::Unknown,
            (false, false) => Support::None,
        }
    }

    fn derivable(
        &mut self,
        head: RelationId,
        row: RowId,
        visible: &dyn Fn(u16, &Lookup) -> Visible,
    ) -> bool {
        let rules = self.stratum.rules.iter().enumerate().filter(|(_, rule)| rule.head == head);
        for (index, check) in rules.filter_map(|(at, rule)| Some((at, rule.check.as_ref()?))) {
            let began = self.views.begin_part();
            self.database.prepare(check);
            let reading = Reading { visible, ..Reading::present(self.database) };
            let table = self.database.table(head);
            let mut sink = Find { table, row, found: false, looked: 0 };
            run_rows(check, &[row], reading, self.scope, &mut sink);
            let (found, probes) = (sink.found, sink.looked.saturating_sub(1));
            self.views.count_part(1, usize::from(found), probes);
            self.views.end_part(began, index, ViewWork::Rederive);
            if found {
                return true;
            }
        }
        false
    }

    pub(super) fn put(
        &mut self,
        relation: RelationId,
        columns: &[Value<'_>],
        source: Source,
    ) -> Option<RowId> {
        let changes = &mut self.views.changes;
        changes.put(self.database, relation, columns, self.now_ns, source)
    }

    fn retraction_pending(&self) -> bool {
        self.stratum.rules.iter().enumerate().any(|(index, rule)| {
            if self.views.upkeep(index) != Upkeep::Anew {
                return self.is_pending(index);
            }
            rule.body.iter().enumerate().any(|(atom, body)| {
                let delta = Delta::retracting(body);
                let mut cursor = self.views.cursors[index][atom];
                let entries = delta.entries(self.views.changes.log(body.relation));
                *delta.met(&mut cursor) < entries.len()
            })
        })
    }

    /// Semi-naive: every new row is joined with the existing rows and with other new ones.
    fn extend(&mut self) {
        debug_assert!(self.views.overdeleted.is_empty(), "a row is not rederived");
        debug_assert!(!self.retraction_pending(), "a removed row is not retracted");
        self.views.count_round(self.stratum, self.database);
        // Both before anything is derived: what the round inserts belongs to the next.
        let extensions = self.extensions();
        if extensions.is_empty() {
            self.finish();
            return;
        }
        let limits = self.limits(&extensions);
        for extension in extensions {
            self.extend_by(extension, &limits);
        }
        // Aggregates and selections of this round, and what they displaced, come first.
        self.views.phase = Phase::Retract;
    }

    /// Takes the rows from which the atoms derive in this round.
    fn extensions(&mut self) -> Vec<Extension> {
        let mut extensions = Vec::new();
        for (index, rule) in self.stratum.rules.iter().enumerate() {
            if self.views.upkeep(index) != Upkeep::Anew {
                continue; // the next retraction handles them
            }
            for (atom, body) in rule.body.iter().enumerate() {
                let (rows, refreshed) = if !body.negated {
                    self.take_inserted(index, atom)
                } else if rule.kind == ViewKind::Plain {
                    continue; // soft state fires for insertions, never for removals
                } else {
                    (self.take(index, atom, Delta::Unblocking), Vec::new())
                };
                if !rows.is_empty() || !refreshed.is_empty() {
                    extensions.push(Extension { index, atom, rows, refreshed });
                }
            }
        }
        extensions
    }

    /// The rows from which an atom that is not negated derives: inserted ones, put back or new, and
    /// refreshed ones.
    fn take_inserted(&mut self, index: usize, atom: usize) -> (Vec<RowId>, Vec<RowId>) {
        let rule = &self.stratum.rules[index];
        let relation = rule.body[atom].relation;
        let mut rows = self.take(index, atom, Delta::Inserted);
        if rule.kind == ViewKind::Plain && !self.plan.relation(relation).is_soft() {
            // A row that was put back is not new: it fires nothing.
            let new = self.database.table(relation).fresh_from();
            rows.retain(|&row| row >= new);
        }
        let mut refreshed = self.take(index, atom, Delta::Refreshed);
        // A refresh of hard state derives only existing rows.
        if rule.kind == ViewKind::Maintained {
            refreshed.clear();
        }
        (rows, refreshed)
    }

    /// By relation, the least new row that extends an atom in this round; `u32::MAX` where there is
    /// none, so that all live rows are below it.
    fn limits(&self, extensions: &[Extension]) -> Vec<RowId> {
        let mut limits = vec![RowId(u32::MAX); self.plan.relations.len()];
        for Extension { index, atom, rows, .. } in extensions {
            let body = self.stratum.rules[*index].body[*atom];
            if body.negated {
                continue;
            }
            let new = self.database.table(body.relation).fresh_from();
            if let Some(&least) = rows.iter().filter(|&&row| row >= new).min() {
                let limit = &mut limits[body.relation.index()];
                *limit = least.min(*limit);
            }
        }
        limits
    }

    /// Derives from the rows of one atom.
    fn extend_by(&mut self, extension: Extension, limits: &[RowId]) {
        let Extension { index, atom, mut rows, refreshed } = extension;
        let rule = &self.stratum.rules[index];
        let began = self.views.begin_part();
        let body = rule.body[atom];
        if rule.kind == ViewKind::Maintained && !body.negated {
            let new = self.database.table(body.relation).fresh_from();
            let (old, fresh): (Vec<RowId>, Vec<RowId>) =
                rows.into_iter().partition(|&row| row < new);
            self.extend_revived(index, atom, &old, limits);
            rows = fresh;
        }
        rows.extend(refreshed);
        self.extend_with(index, atom, &rows, limits);
        self.views.end_part(began, index, ViewWork::Delta(atom as u32));
    }

    fn extend_with(&mut self, index: usize, atom: usize, rows: &[RowId], limits: &[RowId]) {
        if let Some(start) = self.better_start(index, atom, rows) {
            return self.extend_from(index, atom, start, rows, limits);
        }
        let rule = &self.stratum.rules[index];
        let visible = semi_naive(rule, atom, limits);
        let rows = &*self.distinct(rule, atom, rows);
        for batch in rows.chunks(BATCH) {
            self.extend_batch(index, atom, batch, &visible, None);
        }
    }

    /// Inserts what the strand of an atom derives from some of its rows.
    pub(super) fn extend_batch(
        &mut self,
        index: usize,
        start: usize,
        batch: &[RowId],
        visible: &dyn Fn(u16, &Lookup) -> Visible,
        part: Option<&Part>,
    ) {
        if self.is_over() {
            return;
        }
        let rule = &self.stratum.rules[index];
        let strand = &rule.deltas[start];
        let is_traced = self.is_traced(index);
        self.database.prepare(strand);
        if !is_traced && self.extend_words(rule, strand, batch, visible, part) {
            return;
        }
        let reading = Reading { visible, ..Reading::present(self.database) };
        let most = self.views.most_left();
        let derived = &mut self.views.derived;
        let failures = Some(&mut *self.failures as &mut dyn Failures);
        let mut sink = Collect { derived, failures, most, looked: 0 };
        match &mut self.views.traced {
            Some(traced) if is_traced => {
                // A removed row is no premise.
                let skip = usize::from(rule.body[start].negated);
                let (inner, known, joined) =
                    (&mut sink, &KnownDerivations::default(), SmallVec::new());
                let mut sink = Noting { inner, traced, rule, skip, known, joined };
                run_rows_traced(strand, batch, reading, self.scope, &mut sink);
            }
            _ => run_rows(strand, batch, reading, self.scope, &mut sink),
        }
        let (probes, is_over) = (sink.probes(batch), sink.is_over());
        let Some(derived) = self.take_derived(batch.len(), probes, is_over) else { return };
        let mut values = Vec::new();
        for (_, columns) in derived.iter() {
            values.clear();
            values.extend(columns);
            self.extend_one(index, rule, &values);
        }
        self.recycle(derived);
    }

    /// The counted derivations of `rows` rows; `None` if the round ends early.
    fn take_derived(&mut self, rows: usize, probes: u64, is_over: bool) -> Option<TupleBuf<()>> {
        self.views.exceeded |= is_over;
        if self.is_over() {
            return None;
        }
        let derived = std::mem::take(&mut self.views.derived);
        self.views.count_part(rows, derived.len(), probes);
        Some(derived)
    }

    /// Whether derivations of a rule are noted; aggregates are recomputed at the end.
    pub(super) fn is_traced(&self, index: usize) -> bool {
        self.stratum.rules[index].kind != ViewKind::Grouped
            && self.views.traced.as_ref().is_some_and(|it| it.rule(self.views.stratum, index))
    }

    /// The rows of an atom that derive different things. Rows that are equal to a strand are looked
    /// for only where each of them would meet a whole table.
    fn distinct<'d>(&self, rule: &ViewRule, atom: usize, rows: &'d [RowId]) -> Cow<'d, [RowId]> {
        let delta = &rule.deltas[atom];
        let first = delta.steps.iter().find_map(|step| match step {
            Step::Join(lookup) => Some(lookup.access),
            _ => None,
        });
        let ignores = delta.trigger.columns.contains(&Bind::Ignore);
        if rows.len() < 2 || !ignores || !self.fills_set(rule) || first != Some(Access::Scan) {
            return Cow::Borrowed(rows);
        }
        let mut rows = rows.to_vec();
        different(self.database.table(rule.body[atom].relation), delta, &mut rows);
        Cow::Owned(rows)
    }

    /// Whether the number and order of a rule's derivations of a row do not matter.
    pub(super) fn fills_set(&self, rule: &ViewRule) -> bool {
        // A table of bounded size keeps the rows that were last put in.
        let is_set = |spec: &TableSpec| spec.size_max.is_none() && spec.key != Key::Bag;
        self.plan.relation(rule.head).table().is_some_and(is_set)
    }

    /// Runs a batch on words and inserts what it derives; false if that is not possible.
    fn extend_words(
        &mut self,
        rule: &ViewRule,
        strand: &Strand,
        batch: &[RowId],
        visible: &dyn Fn(u16, &Lookup) -> Visible,
        part: Option<&Part>,
    ) -> bool {
        let plain = rule.kind == ViewKind::Maintained && self.selected_from(rule.head).is_none();
        if !plain || batch.len() < self.views.narrow_from {
            return false;
        }
        let mut derived = std::mem::take(&mut self.views.derived_words);
        let mut work = Work { probes: 0, left_out: 0 };
        let done = loop {
            let database = &*self.database;
            let reading = Reading { visible, ..Reading::present(database) };
            match narrow::compile(strand, reading, part, self.scope) {
                Ok(narrow) => {
                    let most = usize::try_from(self.views.most_left()).unwrap_or(usize::MAX);
                    let words_max = most.saturating_mul(self.database.table(rule.head).row_size());
                    work = narrow.run(batch, &mut derived, words_max, self.scope.ambient);
                    self.views.exceeded |= derived.len() > words_max;
                    break true;
                }
                Err(Halt::Widen(layout)) => self.database.table_mut(rule.head).widen(layout),
                Err(Halt::Never) => break true,
                Err(Halt::Unfit) => break false,
            }
        };
        if done {
            let row_size = self.database.table(rule.head).row_size().max(1);
            let derived = derived.len() / row_size + work.left_out as usize;
            self.views.count_part(batch.len(), derived, work.probes);
        }
        self.views.changes.put_words(self.database, rule.head, &derived);
        derived.clear();
        self.views.derived_words = derived;
        self.views.ran_on_words += u64::from(done);
        done
    }

    pub(super) fn extend_one(&mut self, index: usize, rule: &ViewRule, columns: &[Value<'_>]) {
        match rule.kind {
            ViewKind::Grouped => self.improve_group(index, columns),
            ViewKind::Plain => {
                self.views.insert(self.plan, self.database, rule.head, columns, self.now_ns)
            }
            ViewKind::Maintained => {
                let since = self.put(rule.head, columns, Source::Derived);
                if let Some(table) = self.selected_from(rule.head) {
                    self.views.reselect.push(Reselect { table, since }, &columns[1..]);
                }
            }
        }
    }

    /// The stratum is at its fixed point.
    fn finish(&mut self) {
        for &relation in self.stratum.heads.iter().chain(&self.stratum.selected) {
            self.views.changes.net_log(self.database, relation);
            self.database.table_mut(relation).link();
        }
        self.views.stratum += 1;
        self.views.phase = Phase::Start;
    }

    /// The rows of a delta that an atom has not met yet.
    fn take(&mut self, index: usize, atom: usize, delta: Delta) -> Vec<RowId> {
        let relation = self.stratum.rules[index].body[atom].relation;
        let entries = delta.entries(self.views.changes.log(relation));
        let met = delta.met(&mut self.views.cursors[index][atom]);
        let table = self.database.table(relation);
        let rows = entries[*met..].iter().copied().filter(|&row| delta.has(table, row)).collect();
        *met = entries.len();
        rows
    }

    pub(super) fn recycle(&mut self, mut derived: TupleBuf<()>) {
        derived.clear();
        self.views.derived = derived;
    }
}

/// The rows visible to the atoms of a rule when new rows extend one of them: a derivation from two
/// new rows is found from the later atom.
pub(super) fn semi_naive<'l>(
    rule: &'l ViewRule,
    atom: usize,
    limits: &'l [RowId],
) -> impl Fn(u16, &Lookup) -> Visible + 'l {
    move |other, lookup| {
        let later = other as usize > atom && !rule.body[other as usize].negated;
        if later { Visible::Below(limits[lookup.relation.index()]) } else { Visible::Live }
    }
}

/// The derivations of a strand from some rows; its memory is [recycled](Round::recycle).
pub(super) fn collect(
    round: &mut Round<'_>,
    strand: &Strand,
    rows: &[RowId],
    visible: &dyn Fn(u16, &Lookup) -> Visible,
) -> TupleBuf<()> {
    round.database.prepare(strand);
    let mut derived = std::mem::take(&mut round.views.derived);
    let reading = Reading { visible, ..Reading::present(round.database) };
    let most = round.views.most_left();
    let mut sink = Collect { derived: &mut derived, failures: None, most, looked: 0 };
    run_rows(strand, rows, reading, round.scope, &mut sink);
    let probes = sink.probes(rows);
    round.views.exceeded |= sink.is_over();
    round.views.count_part(rows.len(), derived.len(), probes);
    derived
}

/// Looks for a derivation of a row; the first is enough.
struct Find<'s> {
    table: &'s Table,
    row: RowId,
    found: bool,
    looked: u64,
}

impl Sink for Find<'_> {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], _: u64) {
        let mut values = (0..).zip(columns);
        self.found |= values.all(|(column, value)| self.table.value(self.row, column).equal(value));
    }

    fn failed(&mut self, _: RuleId, _: EvalError) {}

    fn looked(&mut self, rows: u32) {
        self.looked += u64::from(rows);
    }

    fn is_full(&self) -> bool {
        self.found
    }
}

/// Takes derivations into a buffer.
struct Collect<'s> {
    derived: &'s mut TupleBuf<()>,
    failures: Option<&'s mut dyn Failures>,
    /// Its capacity; [`Views::exceeded`] is set if there are more.
    most: u64,
    /// Rows examined, those that started the strand included.
    looked: u64,
}

impl Collect<'_> {
    /// Rows that look-ups have examined for these.
    fn probes(&self, started: &[RowId]) -> u64 {
        self.looked.saturating_sub(started.len() as u64)
    }

    fn is_over(&self) -> bool {
        self.derived.len() as u64 > self.most
    }
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

    fn looked(&mut self, rows: u32) {
        self.looked += u64::from(rows);
    }

    fn is_full(&self) -> bool {
        self.is_over()
    }
}
