//! The phases `Retract` and `Rederive`: rows go that have lost their support.
//!
//! Retraction is DRed: overdelete, then rederive (A. Gupta, I. S. Mumick, V. S. Subrahmanian,
//! *Maintaining Views Incrementally*, SIGMOD 1993), cut short where a row has a derivation from
//! rows of lower rank. A row that has lost one derivation:
//!
//! | [`Support`] | what is known | `Retract` | `Rederive` |
//! |---|---|---|---|
//! | asserted | it needs none | stays | |
//! | `Older` | it follows from rows that do not follow from it | stays | |
//! | `None` | it follows from nothing | removes it | |
//! | `Unknown` | it may follow from itself | removes it | derives it from what is left, or not |

use super::delta::Delta;
use super::groups::Upkeep;
use super::rounds::{BATCH, Round};
use super::sinks::{Collect, Find};
use super::{Phase, ViewWork};
use crate::plan::{Lookup, RelationId, ViewKind, ViewRule};
use crate::strand::{Reading, run_rows};
use crate::table::{RowId, Visible};
use crate::value::Value;

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
    /// Retracts all derivations that used a removed row (or a new row, where it is negated). What
    /// that removes is retracted by the next pass: its rows are new entries of the logs.
    pub(super) fn retract(&mut self) {
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

    /// Puts back what can still be derived; aggregates touched groups; selects among candidates.
    pub(super) fn rederive(&mut self) {
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

    pub(super) fn retraction_pending(&self) -> bool {
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
}
