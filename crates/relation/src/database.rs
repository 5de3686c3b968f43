//! The tables of one node.

use crate::plan::{Plan, RelationId, Step, Strand};
use crate::table::Table;
use tidemill_stdx::keyed::Secret;

/// The tables of a plan, by relation.
#[derive(Clone, Debug)]
pub struct Database {
    tables: Vec<Option<Table>>,
    secret: Secret,
}

impl Database {
    /// Empty tables for every table of `plan`, which hash keys with `secret`. No result depends on
    /// the secret; a peer that knows it can choose keys that make tables slow.
    pub fn new(plan: &Plan, secret: Secret) -> Database {
        let table = |relation: &crate::plan::Relation| {
            relation.table().map(|spec| Table::new(spec.clone(), secret))
        };
        Database { tables: plan.relations.iter().map(table).collect(), secret }
    }

    /// The secret of the hashes of keys.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The table of a relation; `None` for events.
    pub fn get(&self, relation: RelationId) -> Option<&Table> {
        self.tables.get(relation.index())?.as_ref()
    }

    /// The table of a relation that a verified plan uses as a table.
    ///
    /// # Panics
    /// For events and foreign ids.
    pub fn table(&self, relation: RelationId) -> &Table {
        self.tables[relation.index()].as_ref().expect("verified: the relation is a table")
    }

    /// Like [`Database::table`], to change it.
    pub fn table_mut(&mut self, relation: RelationId) -> &mut Table {
        self.tables[relation.index()].as_mut().expect("verified: the relation is a table")
    }

    /// Brings the indexes up to date that `strand` reads.
    pub fn prepare(&mut self, strand: &Strand) {
        for step in &strand.steps {
            if let Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) = step {
                self.table_mut(lookup.relation).prepare(lookup.access);
            }
        }
    }

    /// All tables with their relations.
    pub fn iter(&self) -> impl Iterator<Item = (RelationId, &Table)> {
        let tables = self.tables.iter().enumerate();
        tables.filter_map(|(index, table)| Some((RelationId(index as u32), table.as_ref()?)))
    }

    /// All tables with their relations, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (RelationId, &mut Table)> {
        let tables = self.tables.iter_mut().enumerate();
        tables.filter_map(|(index, table)| Some((RelationId(index as u32), table.as_mut()?)))
    }
}
