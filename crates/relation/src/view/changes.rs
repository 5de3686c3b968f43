//! The changes of a commit to the tables so far.

use std::collections::HashSet;

use crate::database::Database;
use crate::plan::{Plan, RelationId};
use crate::table::{Inserted, NarrowOutcome, RowId, TableFull};
use crate::value::Value;

/// The origin of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// It is asserted: by a fact, an event rule, the network or a plain view rule.
    Asserted,
    /// A maintained or grouped view rule derived it.
    Derived,
}

/// The net change of one row over the whole commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// It was inserted.
    Insert,
    /// It was present and was inserted again.
    Refresh,
    /// It was deleted.
    Delete,
}

/// A row that changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The table.
    pub relation: RelationId,
    /// The row, valid until the commit ends.
    pub row: RowId,
    /// The change.
    pub kind: ChangeKind,
}

/// The rows of one table that changed, in order; rows that changed twice are listed twice.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeLog {
    pub(super) fresh: Vec<RowId>,
    pub(super) gone: Vec<RowId>,
    /// Rows of soft state that were inserted again.
    pub(super) refreshed: Vec<RowId>,
    /// The same for all state, for observers.
    refreshed_set: HashSet<u32>,
}

impl ChangeLog {
    fn clear(&mut self) {
        self.fresh.clear();
        self.gone.clear();
        self.refreshed.clear();
        self.refreshed_set.clear();
    }
}

/// All changes of the running commit.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    logs: Vec<ChangeLog>,
    /// Tables with something in their log.
    touched: Vec<RelationId>,
    /// Changed rows of observed tables, in order.
    order: Vec<(RelationId, RowId)>,
    observed: Vec<bool>,
    soft: Vec<bool>,
    /// Rows inserted or removed.
    pub(super) count: u64,
    /// Insertions refused because the table was full.
    pub(super) refused: u64,
}

impl Changes {
    pub(super) fn new(plan: &Plan) -> Changes {
        let relations = plan.relations.len();
        Changes {
            logs: vec![ChangeLog::default(); relations],
            touched: Vec::new(),
            order: Vec::new(),
            observed: vec![false; relations],
            soft: plan.relations.iter().map(|relation| relation.is_soft()).collect(),
            count: 0,
            refused: 0,
        }
    }

    pub(super) fn observe(&mut self, relation: RelationId) {
        self.observed[relation.index()] = true;
    }

    pub(super) fn log(&self, relation: RelationId) -> &ChangeLog {
        &self.logs[relation.index()]
    }

    fn log_mut(&mut self, relation: RelationId, row: RowId) -> &mut ChangeLog {
        let log = &mut self.logs[relation.index()];
        if log.fresh.is_empty() && log.gone.is_empty() && log.refreshed_set.is_empty() {
            self.touched.push(relation);
        }
        if self.observed[relation.index()] {
            self.order.push((relation, row));
        }
        self.count += 1;
        log
    }

    /// Inserts a tuple. Returns the row and whether it is new to the table, or `None` if it is
    /// full.
    pub(super) fn put(
        &mut self,
        database: &mut Database,
        relation: RelationId,
        values: &[Value<'_>],
        now_ns: u64,
        source: Source,
    ) -> Option<RowId> {
        let table = database.table_mut(relation);
        let row = match table.insert(values, now_ns) {
            Ok(Inserted::New { row, replaced } | Inserted::Revived { row, replaced }) => {
                if let Some(replaced) = replaced {
                    self.log_mut(relation, replaced).gone.push(replaced);
                }
                self.log_mut(relation, row).fresh.push(row);
                row
            }
            Ok(Inserted::Refreshed(row)) => {
                self.refresh(row < table.fresh_from(), relation, row);
                row
            }
            Err(TableFull) => {
                self.refused += 1;
                return None;
            }
        };
        if source == Source::Asserted {
            table.assert_row(row);
        }
        while let Some(oldest) = table.over_size() {
            table.remove(oldest);
            self.log_mut(relation, oldest).gone.push(oldest);
        }
        Some(row)
    }

    /// Inserts derived rows, given as words; see [`crate::table::Table::insert_words`].
    pub(super) fn put_words(
        &mut self,
        database: &mut Database,
        relation: RelationId,
        rows: &[u32],
    ) {
        let table = database.table_mut(relation);
        let (first, before) = (table.next_row(), table.fresh_from());
        let index = relation.index();
        let refused = if self.soft[index] || self.observed[index] {
            table.insert_words(rows, |outcome| match outcome {
                NarrowOutcome::New(row) => self.log_mut(relation, row).fresh.push(row),
                NarrowOutcome::Known(row) => self.refresh(row < before, relation, row),
            })
        } else {
            // The order is not needed: the new rows are noted as a range.
            let refused = table.insert_new_words(rows);
            if let new @ 1.. = table.next_row().0 - first.0 {
                self.count += u64::from(new) - 1;
                let fresh = &mut self.log_mut(relation, first).fresh;
                fresh.extend((first.0..first.0 + new).map(RowId));
            }
            refused
        };
        self.refused += refused as u64;
    }

    /// Notes that a row was inserted again; once in a commit, and only where that fires rules, in
    /// soft state, or is watched.
    fn refresh(&mut self, old: bool, relation: RelationId, row: RowId) {
        let index = relation.index();
        let is_soft = self.soft[index];
        if old
            && (is_soft || self.observed[index])
            && !self.logs[index].refreshed_set.contains(&row.0)
        {
            let log = self.log_mut(relation, row);
            log.refreshed_set.insert(row.0);
            if is_soft {
                log.refreshed.push(row);
            }
        }
    }

    /// Removes a row, if it is live.
    pub(super) fn remove(&mut self, database: &mut Database, relation: RelationId, row: RowId) {
        let table = database.table_mut(relation);
        if table.is_live(row) {
            table.remove(row);
            self.log_mut(relation, row).gone.push(row);
        }
    }

    /// Makes a dying row live again.
    pub(super) fn revive(&mut self, database: &mut Database, relation: RelationId, row: RowId) {
        database.table_mut(relation).revive(row);
        self.log_mut(relation, row).fresh.push(row);
    }

    /// Drops changes that cancelled out, so that later strata see the net change alone.
    pub(super) fn net_log(&mut self, database: &Database, relation: RelationId) {
        let table = database.table(relation);
        let before = table.fresh_from();
        let log = &mut self.logs[relation.index()];
        log.fresh.retain(|&row| row >= before && table.is_live(row));
        let mut seen = HashSet::new();
        log.gone.retain(|&row| row < before && table.is_dying(row) && seen.insert(row.0));
        log.refreshed.retain(|&row| table.is_live(row));
    }

    /// Whether the commit has changed a table.
    #[inline]
    pub(super) fn has_any(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Tables that the commit has changed.
    pub(super) fn touched(&self) -> impl Iterator<Item = RelationId> {
        self.touched.iter().copied()
    }

    /// False if no row of an observed table has changed.
    pub(super) fn has_observed(&self) -> bool {
        !self.order.is_empty()
    }

    /// The net changes of observed tables, in the order in which they began.
    pub(super) fn net(&self, database: &Database) -> Vec<Change> {
        let mut seen = HashSet::with_capacity(self.order.len());
        let mut changes = Vec::with_capacity(self.order.len());
        for &(relation, row) in &self.order {
            if !seen.insert((relation, row)) {
                continue;
            }
            let table = database.table(relation);
            let kind = match (row < table.fresh_from(), table.is_live(row)) {
                (false, true) => ChangeKind::Insert,
                (true, false) => ChangeKind::Delete,
                (true, true) if self.logs[relation.index()].refreshed_set.contains(&row.0) => {
                    ChangeKind::Refresh
                }
                _ => continue,
            };
            changes.push(Change { relation, row, kind });
        }
        changes
    }

    /// Ends the commit: all row ids are void.
    pub(super) fn settle(&mut self, database: &mut Database) {
        for relation in self.touched.drain(..) {
            database.table_mut(relation).settle();
            self.logs[relation.index()].clear();
        }
        self.order.clear();
        self.count = 0;
    }

    /// Rolls the commit back.
    pub(super) fn roll_back(&mut self, database: &mut Database) {
        for &relation in &self.touched {
            let table = database.table_mut(relation);
            let log = &self.logs[relation.index()];
            for &row in &log.fresh {
                if row >= table.fresh_from() {
                    table.remove(row);
                }
            }
            for &row in &log.gone {
                if row < table.fresh_from() && table.is_dying(row) {
                    table.restore(row);
                }
            }
        }
        self.settle(database);
    }
}
