//! Derivations from rows that were put back.
//!
//! A row that retraction removed and that was restored existed when the commit began, and so were
//! most derivations that use it. They put back what retraction removed too. But a row that was
//! deleted, in this commit or before, stays deleted in spite of them: it returns by a new
//! derivation, one that uses a row inserted in this commit, or the absence of a removed one.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::extend::semi_naive;
use super::rounds::{BATCH, Round, collect};
use super::traced::{KnownDerivations, Noting};
use crate::flat::{TupleBuf, write_value};
use crate::plan::Lookup;
use crate::strand::{Reading, run_rows_traced};
use crate::table::{RowId, Visible};
use crate::value::Value;

impl Round<'_> {
    /// Derives from rows of an atom that were put back.
    pub(super) fn extend_revived(
        &mut self,
        index: usize,
        atom: usize,
        rows: &[RowId],
        limits: &[RowId],
    ) {
        let rule = &self.stratum.rules[index];
        let visible = semi_naive(rule, atom, limits);
        for batch in rows.chunks(BATCH) {
            let derived = collect(self, &rule.deltas[atom], batch, &visible);
            if self.is_over() {
                return;
            }
            if self.is_traced(index) {
                self.note_revived(index, atom, batch, &visible);
            }
            let mut missing = TupleBuf::new();
            let mut columns: Vec<Value<'_>> = Vec::new();
            for (_, result) in derived.iter() {
                columns.clear();
                columns.extend(result);
                let table = self.database.table(rule.head);
                if table.find_equal(&columns).is_some() {
                    continue;
                }
                let retracted = |row| self.views.retracted.contains(&(rule.head, row));
                if table.find_dying(&columns).is_some_and(retracted) {
                    self.extend_one(index, rule, &columns)
                } else {
                    missing.push((), &columns)
                }
            }
            self.recycle(derived);
            if !missing.is_empty() {
                self.extend_new(index, atom, batch, &missing);
            }
        }
    }

    /// Notes the derivations that did not hold when the commit began: those that other rows, or the
    /// absence of some, have made possible before these were put back.
    fn note_revived(
        &mut self,
        index: usize,
        atom: usize,
        batch: &[RowId],
        visible: &dyn Fn(u16, &Lookup) -> Visible,
    ) {
        let rule = &self.stratum.rules[index];
        let strand = &rule.deltas[atom];
        let before = |_: u16, _: &Lookup| Visible::Before;
        let reading = Reading { visible: &before, ..Reading::present(self.database) };
        let mut known = KnownDerivations::default();
        run_rows_traced(strand, batch, reading, self.scope, &mut known);
        let Some(traced) = &mut self.views.traced else { return };
        let reading = Reading { visible, ..Reading::present(self.database) };
        let (inner, known, joined) = (&mut KnownDerivations::default(), &known, SmallVec::new());
        let mut sink = Noting { inner, traced, rule, skip: 0, known, joined };
        run_rows_traced(strand, batch, reading, self.scope, &mut sink);
    }

    /// Puts in those rows that are derived more often than when the commit began.
    fn extend_new(&mut self, index: usize, atom: usize, batch: &[RowId], missing: &TupleBuf<()>) {
        let rule = &self.stratum.rules[index];
        let new: Vec<RowId> =
            rule.body.iter().map(|it| self.database.table(it.relation).fresh_from()).collect();
        let before = |other: u16, _: &Lookup| {
            if rule.body[usize::from(other)].negated {
                // A row inserted and removed in this commit blocked nothing when it began.
                Visible::Before
            } else {
                Visible::Below(new[usize::from(other)])
            }
        };
        let old = collect(self, &rule.deltas[atom], batch, &before);
        let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
        for (_, columns) in old.iter() {
            *counts.entry(encoded(columns)).or_default() += 1;
        }
        self.recycle(old);
        for (_, columns) in missing.iter() {
            match counts.get_mut(&encoded(columns)) {
                Some(count @ 1..) => *count -= 1,
                _ => self.extend_one(index, rule, &columns.iter().collect::<Vec<_>>()),
            }
        }
    }
}

fn encoded<'v>(columns: impl IntoIterator<Item = Value<'v>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    columns.into_iter().for_each(|value| write_value(&mut bytes, value));
    bytes
}
