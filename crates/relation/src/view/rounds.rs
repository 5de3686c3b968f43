//! One round of one stratum: the phases of [`super`].
//!
//! ```text
//! phase     does                                             continues with
//! Start     skips a stratum whose inputs have not changed    Retract
//! Retract   retracts what was derived from removed rows      Retract while there are any, Rederive
//! Rederive  puts back what is derivable; groups; selections  Retract if that removed rows, Extend
//! Extend    derives from new rows                            Retract if there were any, Start
//! ```
//! A call of [`Round::run`] is one pass of one phase. `Retract` and `Rederive` are in
//! [`super::retract`], `Extend` is in [`super::extend`]; [`super::delta`] says which rows they
//! start from.
//!
//! # Example
//!
//! The transitive closure of the edges 12, 23 and 13; a commit deletes 23 and inserts 34:
//!
//! ```text
//! path(X, Y) :- edge(X, Y).
//! path(X, Z) :- path(X, Y), edge(Y, Z).
//!
//! pass       paths after it     why
//! Start      12 13 23           edges have changed
//! Retract    12 13              23 was derived from edge 23, as was 13, which edge 13 supports
//! Retract    12 13              nothing follows from path 23
//! Rederive   12 13              23 cannot be derived from what is left
//! Extend     12 13 14 34        34 from edge 34; 14 from edge 34 and path 13
//! Retract, Rederive, Extend     14 and 34 are new: no edge leads on from 4
//! Retract, Rederive, Extend     no new rows: the stratum is done
//! ```
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
//!    several of them at the last of their atoms only ([`super::extend::semi_naive`]).
//! 5. No strand runs while a table changes: the derivations from at most [`BATCH`] rows are
//!    collected, then inserted or retracted.

use std::borrow::Cow;

use super::delta::{Cursor, Delta};
use super::groups::different;
use super::sinks::Collect;
use super::{Failures, Phase, Source, Views};
use crate::database::Database;
use crate::eval::Scope;
use crate::flat::TupleBuf;
use crate::plan::{Bind, Lookup, Plan, RelationId, Step, Strand, Stratum, ViewKind, ViewRule};
use crate::strand::{Reading, run_rows};
use crate::table::{Access, Key, RowId, TableSpec, Visible};
use crate::value::Value;

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

    /// The stratum is at its fixed point.
    pub(super) fn finish(&mut self) {
        for &relation in self.stratum.heads.iter().chain(&self.stratum.selected) {
            self.views.changes.net_log(self.database, relation);
            self.database.table_mut(relation).link();
        }
        self.views.stratum += 1;
        self.views.phase = Phase::Start;
    }

    /// Whether the round ends early, because the commit will be given up.
    pub(super) fn is_over(&self) -> bool {
        self.views.has_exceeded() || self.scope.ambient.is_interrupted()
    }

    /// The rows of a delta that an atom has not met yet.
    pub(super) fn take(&mut self, index: usize, atom: usize, delta: Delta) -> Vec<RowId> {
        let relation = self.stratum.rules[index].body[atom].relation;
        let entries = delta.entries(self.views.changes.log(relation));
        let met = delta.met(&mut self.views.cursors[index][atom]);
        let table = self.database.table(relation);
        let rows = entries[*met..].iter().copied().filter(|&row| delta.has(table, row)).collect();
        *met = entries.len();
        rows
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

    /// The counted derivations of `rows` rows; `None` if the round ends early.
    pub(super) fn take_derived(
        &mut self,
        rows: usize,
        probes: u64,
        is_over: bool,
    ) -> Option<TupleBuf<()>> {
        self.views.exceeded |= is_over;
        if self.is_over() {
            return None;
        }
        let derived = std::mem::take(&mut self.views.derived);
        self.views.count_part(rows, derived.len(), probes);
        Some(derived)
    }

    pub(super) fn recycle(&mut self, mut derived: TupleBuf<()>) {
        derived.clear();
        self.views.derived = derived;
    }

    /// Whether derivations of a rule are noted; aggregates are recomputed at the end.
    pub(super) fn is_traced(&self, index: usize) -> bool {
        self.stratum.rules[index].kind != ViewKind::Grouped
            && self.views.traced.as_ref().is_some_and(|it| it.rule(self.views.stratum, index))
    }

    /// Whether the number and order of a rule's derivations of a row do not matter.
    pub(super) fn fills_set(&self, rule: &ViewRule) -> bool {
        // A table of bounded size keeps the rows that were last put in.
        let is_set = |spec: &TableSpec| spec.size_max.is_none() && spec.key != Key::Bag;
        self.plan.relation(rule.head).table().is_some_and(is_set)
    }

    /// The rows of an atom that derive different things. Rows that are equal to a strand are looked
    /// for only where each of them would meet a whole table.
    pub(super) fn distinct<'d>(
        &self,
        rule: &ViewRule,
        atom: usize,
        rows: &'d [RowId],
    ) -> Cow<'d, [RowId]> {
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
