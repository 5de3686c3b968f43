//! The tuples that other nodes may send.
//!
//! A tuple from the network is taken if some rule of the program ships tuples of its relation to
//! another location, or if the program or the command line exports the relation. All else is
//! refused: a stranger who knows the names of relations can neither insert rows into tables that
//! only rules of this node fill, nor delete any.

use tidemill_relation::plan::{Action, RelationId};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

/// Relations that the system itself interprets. They are never taken from others, even if a program
/// exports them.
const RESERVED: &[&str] = &["violation", "unsettled", "history", "periodic", "stage::fault"];

/// Namespaces of the system.
const RESERVED_SPACES: &[&str] = &["sys::", "sim::", "flow::"];

/// True for relations whose tuples are never taken from the network.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || RESERVED_SPACES.iter().any(|space| name.starts_with(space))
}

/// The relations that other nodes may send.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Arrivals {
    relations: SortedMap<RelationId, Arrival>,
}

/// The arrivals allowed for one relation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// Insertions, and events.
    pub inserts: bool,
    /// Deletions.
    pub deletes: bool,
    /// Columns of which one holds the address of the node that the tuple is for.
    pub locations: SortedSet<u32>,
}

impl Arrivals {
    /// Allows what rules of other nodes do to a relation.
    pub fn allow(&mut self, relation: RelationId, action: Action, location: u32) {
        let arrival = self.relations.entry(relation).or_default();
        match action {
            Action::Emit | Action::Insert => arrival.inserts = true,
            Action::Delete => arrival.deletes = true,
        }
        arrival.locations.insert(location);
    }

    /// Refuses all tuples of a relation.
    pub fn refuse(&mut self, relation: RelationId) {
        self.relations.remove(&relation);
    }

    /// The arrivals allowed for a relation.
    pub fn get(&self, relation: RelationId) -> Option<&Arrival> {
        self.relations.get(&relation)
    }
}
