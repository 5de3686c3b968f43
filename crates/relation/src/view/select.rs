//! Selection: of several derivations with the key of one row the last wins.
//!
//! A change notes the key and, if it only added a candidate, that candidate. A key is selected for
//! once, however many of its candidates changed; but in a table of bounded size for each, as what
//! is put in last pushes others out. The row that stands was the last before, so where candidates
//! only came it is compared with those from the first of them on: a group of many candidates is not
//! scanned for each that is added.

use hashbrown::HashTable;

use super::changes::Source;
use super::rounds::Round;
use super::{ASSERTED, Reselect};
use crate::flat::TupleBuf;
use crate::plan::RelationId;
use crate::table::{Access, Key, RowId, Visible};
use crate::value::Value;

/// A key to select for.
struct Noted {
    table: RelationId,
    /// Which of the notes has its columns.
    note: usize,
    /// The first new candidate, if candidates were only added.
    since: Option<RowId>,
}

/// The columns of a row with this key.
fn columns_of<'n>(notes: &'n TupleBuf<Reselect>, key: &Noted) -> Vec<Value<'n>> {
    notes.get(key.note).map(|(_, columns)| columns.iter().collect()).unwrap_or_default()
}

impl Round<'_> {
    /// A candidate was removed: removes the row that was selected from it, too.
    pub(super) fn retract_selected(&mut self, candidates: RelationId, columns: &[Value<'_>]) {
        let Some(table) = self.selected_from(candidates) else { return };
        let row = &columns[1..];
        if let Some(found) = self.database.table(table).find_equal(row) {
            self.views.changes.remove(self.database, table, found);
        }
        // If another row was selected, that one stays the last.
        if self.database.table(table).find(row).is_none() {
            self.views.reselect.push(Reselect::anew(table), row);
        }
    }

    /// The table whose rows are selected from these candidates.
    pub(super) fn selected_from(&self, candidates: RelationId) -> Option<RelationId> {
        let of = |table: &&RelationId| self.plan.relation(**table).candidates == Some(candidates);
        self.stratum.selected.iter().find(of).copied()
    }

    /// Notes the key of a candidate that was put back.
    pub(super) fn reselect_for(&mut self, candidates: RelationId, row: RowId) {
        let Some(table) = self.selected_from(candidates) else { return };
        let mut columns = Vec::new();
        self.database.table(candidates).read_row(row, &mut columns);
        let note = Reselect { table, since: Some(row) };
        self.views.reselect.push(note, &columns[1..]);
    }

    /// For each noted key, makes the last candidate the row of the table.
    pub(super) fn select(&mut self) {
        if self.views.reselect.is_empty() {
            return;
        }
        let notes = std::mem::take(&mut self.views.reselect);
        for key in self.keys(&notes) {
            let columns = columns_of(&notes, &key);
            let Noted { table, since, .. } = key;
            if self.stratum.selected.contains(&table) {
                self.select_one(table, &columns, since)
            } else {
                self.views.reselect.push(Reselect { table, since }, &columns)
            }
        }
    }

    /// The keys in the order in which they were noted first.
    fn keys(&self, notes: &TupleBuf<Reselect>) -> Vec<Noted> {
        let mut keys: Vec<Noted> = Vec::new();
        let mut places: HashTable<usize> = HashTable::new();
        for (note, (Reselect { table, since }, columns)) in notes.iter().enumerate() {
            let values: Vec<Value<'_>> = columns.iter().collect();
            if self.plan.relation(table).table().is_some_and(|spec| spec.size_max.is_some()) {
                keys.push(Noted { table, note, since });
                continue;
            }
            let rows = self.database.table(table);
            let is_same = |place: &usize| {
                let key = &keys[*place];
                key.table == table && rows.have_same_key(&values, &columns_of(notes, key))
            };
            let hash = rows.key_hash_of(&values);
            if let Some(&place) = places.find(hash, is_same) {
                let key = &mut keys[place];
                key.since = key.since.zip(since).map(|(one, other)| one.min(other));
                continue;
            }
            places.insert_unique(hash, keys.len(), |place| {
                let key = &keys[*place];
                self.database.table(key.table).key_hash_of(&columns_of(notes, key))
            });
            keys.push(Noted { table, note, since });
        }
        keys
    }

    fn select_one(&mut self, relation: RelationId, columns: &[Value<'_>], since: Option<RowId>) {
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
        let standing = self.database.table(relation).find(columns);
        // If candidates were only added, the standing row is the last of the older ones: the new
        // ones compete with its candidate alone.
        let known = since.zip(standing.and_then(|row| self.candidate_of(relation, row)));
        let rank = |row: &RowId| (table.value(*row, 0).as_int(), *row);
        let rows = table.rows(Access::Index(0), &key, Visible::Live);
        let best = match known {
            Some((since, before)) => rows.starting_at(since).chain([before]).max_by_key(rank),
            None => rows.max_by_key(rank),
        };
        let Some(best) = best else {
            if let Some(row) = standing {
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

    /// The candidate that a row of a table was selected from: the last that is equal to it.
    fn candidate_of(&self, relation: RelationId, row: RowId) -> Option<RowId> {
        let candidates = self.plan.relation(relation).candidates?;
        let mut values = vec![Value::Int(ASSERTED)];
        self.database.table(relation).read_row(row, &mut values);
        let rules = self.stratum.rules.iter().filter(|rule| rule.head == candidates);
        let mut numbers: Vec<i64> = rules.map(|rule| i64::from(rule.rule.0)).collect();
        numbers.push(ASSERTED);
        numbers.sort_unstable();
        numbers.into_iter().rev().find_map(|number| {
            values[0] = Value::Int(number);
            self.database.table(candidates).find_equal(&values)
        })
    }
}
