//! The asserted rows of tables, without derivations, as plain lists.

use std::collections::BTreeMap;

use tidemill_relation::plan::RelationId;
use tidemill_relation::table::{Key, TableSpec};

/// The asserted rows, least recently touched first, without the location.
#[derive(Clone, Debug, Default)]
pub struct Model {
    rows: BTreeMap<RelationId, Vec<Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    row: Vec<i64>,
    touched_ns: u64,
}

impl Model {
    /// Inserts a row: replaces the one with its key, and evicts the oldest if the table is full.
    pub fn insert(&mut self, table: RelationId, spec: &TableSpec, row: &[i64], now_ns: u64) {
        self.delete(table, spec, row);
        let rows = self.rows.entry(table).or_default();
        rows.push(Entry { row: row.to_vec(), touched_ns: now_ns });
        if spec.size_max.is_some_and(|most| rows.len() as u64 > most) {
            rows.remove(0);
        }
    }

    /// Deletes the row with the key of this one.
    pub fn delete(&mut self, table: RelationId, spec: &TableSpec, row: &[i64]) {
        let key = |row: &[i64]| -> Vec<i64> {
            match &spec.key {
                // Column 0 is the location, the same for all.
                Key::Columns(key) => key
                    .iter()
                    .filter_map(|&it| row.get((it as usize).checked_sub(1)?).copied())
                    .collect(),
                Key::Bag => row.to_vec(),
            }
        };
        let rows = self.rows.entry(table).or_default();
        rows.retain(|entry| key(&entry.row) != key(row));
    }

    /// Removes the rows whose lifetime is over.
    pub fn expire(&mut self, table: RelationId, lifetime_ns: u64, now_ns: u64) {
        let rows = self.rows.entry(table).or_default();
        rows.retain(|entry| entry.touched_ns + lifetime_ns > now_ns);
    }

    /// The rows of a table.
    pub fn rows(&self, table: RelationId) -> impl Iterator<Item = &[i64]> {
        self.rows.get(&table).into_iter().flatten().map(|entry| &entry.row[..])
    }

    /// Tables that were changed.
    pub fn tables(&self) -> impl Iterator<Item = RelationId> {
        self.rows.keys().copied()
    }
}
