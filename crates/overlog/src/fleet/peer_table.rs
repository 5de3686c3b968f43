//! The rows of `sys::peer` that a node keeps.

use tidemill_stdx::ordered::OrderedMap;

use tidemill_relation::plan::{Plan, RelationId};

use crate::check::system::PEER;

/// The state of a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) identity: String,
    /// On the clock of the loop.
    pub(super) since_ns: u64,
    pub(super) state: &'static str,
}

/// The table of a node.
pub(super) struct Peers {
    pub(super) relation: RelationId,
    pub(super) rows: OrderedMap<Box<str>, Row>,
}

impl Peers {
    /// The table of a plan, where that reads it.
    pub(super) fn new(plan: &Plan) -> Option<Peers> {
        let relation = plan.find(PEER)?;
        let is_table = plan.relation(relation).arity() == 5;
        is_table.then(|| Peers { relation, rows: OrderedMap::new() })
    }
}
