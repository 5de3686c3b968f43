//! Tuples that a commit has removed from bags.
//!
//! A rule that empties a bag of equal tuples derives their deletion once for each, and each would
//! scan all rows that were equal. From the second on there is nothing to remove, unless some have
//! been inserted since.

use hashbrown::HashTable;

use crate::flat::TupleBuf;
use crate::plan::RelationId;
use crate::table::Table;
use crate::value::Value;

#[derive(Clone, Debug, Default)]
pub(super) struct Emptied {
    tuples: TupleBuf<RelationId>,
    /// The hash of each tuple, and which it is.
    places: HashTable<(u64, usize)>,
}

impl Emptied {
    /// Whether all of these rows of a bag were removed before; marks them as removed.
    pub(super) fn again(
        &mut self,
        relation: RelationId,
        bag: &Table,
        values: &[Value<'_>],
    ) -> bool {
        let hash = bag.key_hash_of(values);
        let is_same = |(_, place): &(u64, usize)| {
            self.tuples.get(*place).is_some_and(|(other, columns)| {
                other == relation && bag.have_same_key(values, &columns.iter().collect::<Vec<_>>())
            })
        };
        if self.places.find(hash, is_same).is_some() {
            return true;
        }
        self.places.insert_unique(hash, (hash, self.tuples.len()), |(hash, _)| *hash);
        self.tuples.push(relation, values);
        false
    }

    /// Forgets all, as something was inserted.
    pub(super) fn forget(&mut self) {
        if !self.tuples.is_empty() {
            self.tuples.clear();
            self.places.clear();
        }
    }
}
