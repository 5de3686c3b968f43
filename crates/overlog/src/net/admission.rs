//! Admission of tuples from the network: [`Arrivals`](crate::arrivals::Arrivals) by the numbers of
//! messages.

use std::sync::Arc;

use tidemill_fabric::counters::Count;
use tidemill_relation::Seq;

use super::address::canonical;
use crate::arrivals::Arrival;

/// The tuples that nodes of a program admit, by the numbers of their messages.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// From number 1 on; of relations that never arrive neither insertions nor deletions.
    arrivals: Vec<Arrival>,
}

/// The tuples that one node admits.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The table and the node's own address; `None` takes everything.
    limits: Option<(Arc<Table>, Box<str>)>,
}

impl Table {
    /// A table of what may arrive, in the order of the numbers of messages.
    pub fn new(arrivals: impl IntoIterator<Item = Arrival>) -> Table {
        Table { arrivals: arrivals.into_iter().collect() }
    }

    /// The arrivals allowed for this number; `None` if the program has no such message.
    fn get(&self, number: u32) -> Option<&Arrival> {
        self.arrivals.get((number as usize).checked_sub(1)?)
    }
}

impl Admission {
    /// The admission of the node of this address.
    pub fn new(table: Arc<Table>, address: &str) -> Admission {
        Admission { limits: Some((table, canonical(address).into())) }
    }

    /// Admits every tuple, at any location: for tests of the layers below.
    pub fn everything() -> Admission {
        Admission { limits: None }
    }

    /// Whether a tuple of this message is admitted at all.
    ///
    /// # Errors
    /// Why it is not.
    pub fn admit(&self, number: u32, delete: bool) -> Result<(), Count> {
        let Some((table, _)) = &self.limits else { return Ok(()) };
        let arrival = table.get(number).ok_or(Count::UnknownRelation)?;
        let is_exported = if delete { arrival.deletes } else { arrival.inserts };
        if is_exported { Ok(()) } else { Err(Count::NotExported) }
    }

    /// Whether a tuple that is taken is located at this node.
    pub fn is_here(&self, number: u32, columns: Seq<'_>) -> bool {
        let Some((table, own)) = &self.limits else { return true };
        let here = |&column: &u32| {
            let address = columns.get(column as usize).and_then(|value| value.as_str());
            address.is_some_and(|address| *address == **own || *canonical(address) == **own)
        };
        table.get(number).is_some_and(|arrival| arrival.locations.iter().any(here))
    }
}
