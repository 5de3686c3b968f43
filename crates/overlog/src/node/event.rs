//! The events that start turns.

use std::sync::Arc;

use super::records::Records;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, SeqBuilder};

/// An event, which starts a turn.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A tuple: a fact, an injected one, one from the network or from another part of the program.
    Tuple {
        /// Its relation.
        relation: RelationId,
        /// Its columns; [`Node::spare_row`](super::Node::spare_row) gives memory for them.
        row: SeqBuilder,
        /// For a table: delete the row instead of inserting it.
        delete: bool,
        /// It came from the network, or from another part of the program.
        received: bool,
    },
    /// Of a program that traces.
    Traced(Box<Traced>),
    /// A row changed in an earlier turn.
    Change {
        /// The table.
        relation: RelationId,
        /// The row.
        row: SeqBuilder,
        /// Its place in a chain of changes.
        link: Link,
    },
    /// A timer fired.
    Periodic {
        /// Position among [`Node::periodics`](super::Node::periodics).
        timer: usize,
    },
    /// Rows of some table have expired.
    Expiry,
    /// The hold of rows of views has ended.
    Release,
    /// An operator has more rows for an input of an earlier turn.
    Resume,
    /// Tuples of tables whose changes start no strand, in one commit.
    Facts {
        /// Each with its relation.
        tuples: Vec<(RelationId, SeqBuilder)>,
    },
    /// Insertions and deletions of rows of tables, in one commit: each with its table, and whether
    /// it is a deletion.
    Rows {
        /// In this order.
        rows: Vec<(RelationId, bool, SeqBuilder)>,
    },
    /// Rows that are the same at all nodes but for their location, in one commit.
    Everywhere {
        /// The table.
        relation: RelationId,
        /// The rows without their location.
        rows: Arc<Vec<Vec<OwnedValue>>>,
    },
    /// Rows of a sender in views here are no longer supported.
    Lost {
        /// Its name in these rows.
        sender: String,
    },
    /// A peer has lost the rows that exported views have sent there.
    Forgotten {
        /// Its address.
        peer: String,
    },
}

impl Event {
    /// Whether its turn just continues the changes of an earlier one.
    pub(super) fn follows(&self) -> bool {
        match self {
            Event::Change { .. } | Event::Resume => true,
            Event::Traced(traced) => matches!(**traced, Traced::Recorded(_)),
            _ => false,
        }
    }
}

/// The number of changes in a chain: each queued by the turn of the one before. It limits chains
/// without end, and is no part of an event: those that differ in it alone are equal. Little-endian;
/// with three bytes events remain as small as they are.
#[derive(Clone, Copy, Default, Debug)]
pub struct Link([u8; 3]);

impl Link {
    const NUMBER_MAX: u32 = (1 << 24) - 1;

    /// The number of changes, this one included; no more than fit.
    pub(super) fn number(self) -> u32 {
        let [low, middle, high] = self.0;
        u32::from_le_bytes([low, middle, high, 0])
    }

    /// The place of a change that the turn of an event queues.
    pub(super) fn behind(event: Option<&Event>) -> Link {
        let before = match event {
            Some(Event::Change { link, .. }) => link.number(),
            _ => 0,
        };
        let [low, middle, high, _] = (before + 1).min(Link::NUMBER_MAX).to_le_bytes();
        Link([low, middle, high])
    }
}

impl PartialEq for Link {
    fn eq(&self, _: &Link) -> bool {
        true
    }
}

/// The events of programs that trace.
#[derive(Clone, PartialEq, Debug)]
pub enum Traced {
    /// A tuple from the network whose origin is recorded.
    Received(Received),
    /// Derivations of views in an earlier turn, to be recorded.
    Recorded(Records),
}

/// A tuple from the network, and its sender.
#[derive(Clone, PartialEq, Debug)]
pub struct Received {
    /// Its relation.
    pub relation: RelationId,
    /// Its columns.
    pub row: SeqBuilder,
    /// For a table: delete the row instead of inserting it.
    pub delete: bool,
    /// The node that sent it.
    pub sender: Arc<str>,
}

/// A periodic of a program, evaluated for one node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Periodic {
    /// Nanoseconds between firings.
    pub period_ns: u64,
    /// Firings left; `None`: for ever.
    pub left: Option<u64>,
}
