//! The phase `Extend`: derivations from new rows.
//!
//! It is semi-naive (F. Bancilhon, R. Ramakrishnan, *An Amateur's Introduction to Recursive Query
//! Processing Strategies*, SIGMOD 1986): of the rows of a table, those below its *limit* are known
//! from earlier rounds, and those from it on are new. For a rule `h :- p, q, r` the strands read
//!
//! ```text
//! delta p:  new p    known q    known r
//! delta q:  all p    new q      known r
//! delta r:  all p    all q      new r
//! ```
//! so a derivation from several rows that are new now is found once, at the last of their atoms. A
//! row that is inserted meanwhile is above the limits: it is visible to atoms before the delta, and
//! new in the next round, which may find what follows from both again.

use smallvec::SmallVec;

use super::delta::Delta;
use super::groups::Upkeep;
use super::rounds::{BATCH, Round};
use super::sinks::Collect;
use super::traced::{KnownDerivations, Noting};
use super::{Failures, Phase, Reselect, Source, ViewWork};
use crate::narrow::{self, Halt, Work};
use crate::plan::{Lookup, Strand, ViewKind, ViewRule};
use crate::strand::{Reading, run_rows, run_rows_traced};
use crate::table::{Part, RowId, Visible};
use crate::value::Value;

/// The rows from which an atom of a rule derives in a round.
struct Extension {
    /// The rule, in the stratum.
    index: usize,
    atom: usize,
    rows: Vec<RowId>,
    /// Rows of soft state that were inserted again. They are not new, whatever their numbers.
    refreshed: Vec<RowId>,
}

impl Round<'_> {
    /// Semi-naive: every new row is joined with the existing rows and with other new ones.
    pub(super) fn extend(&mut self) {
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
