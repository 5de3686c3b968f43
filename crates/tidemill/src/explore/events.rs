//! Interns events: equal ones have the same number.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use tidemill_overlog::node::Event;
use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::text::DisplayTuple;
use tidemill_relation::{Seq, SeqBuilder, write_value};
use tidemill_stdx::hash::Map;

use super::numbers::Numbers;
use super::renaming::Renaming;

/// An event by number.
pub(super) type EventId = u32;

/// An event, and the remaining firings of its periodic.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) event: Event,
    pub(super) left: Option<u64>,
    /// Bytes that are equal for equal events.
    key: Arc<[u8]>,
}

/// All events seen in any run.
#[derive(Clone, Default)]
pub(super) struct Events {
    known: Arc<Numbers<Arc<[u8]>, Known>>,
    /// Events of facts by these in sorted order; nothing where there are several. Only the start
    /// has any.
    facts: Map<Vec<Vec<u8>>, Option<EventId>>,
}

impl Events {
    /// The number of an event.
    pub(super) fn number(&mut self, event: Event, left: Option<u64>) -> EventId {
        let relation = |relation: RelationId, key: &mut Vec<u8>| {
            key.extend(relation.0.to_le_bytes());
        };
        let timer = |timer: usize, key: &mut Vec<u8>| key.extend((timer as u64).to_le_bytes());
        let key: Arc<[u8]> = key_of(&event, left, &relation, &timer).into();
        if let Some(number) = self.known.find(&key) {
            return number;
        }
        let facts = match &event {
            Event::Facts { tuples } => Some(sorted(tuples)),
            _ => None,
        };
        let (number, is_new) = self.known.number(key.clone(), || Known { event, left, key });
        if let Some(facts) = facts.filter(|_| is_new) {
            let entry = self.facts.entry(facts);
            entry.and_modify(|known| *known = None).or_insert(Some(number));
        }
        number
    }

    /// An event.
    pub(super) fn get(&self, number: EventId) -> &Known {
        self.known.get(number)
    }

    /// The number of an event under a permutation of nodes. Nodes have facts of all nodes in one
    /// order: the renamed facts are those of the renamed node if only their order differs.
    pub(super) fn renamed(&mut self, number: EventId, renaming: &Renaming) -> EventId {
        if renaming.is_identity() {
            return number;
        }
        let Known { event, left, .. } = self.get(number);
        let (event, left) = (renaming.event(event), *left);
        let same = match &event {
            Event::Facts { tuples } => self.facts.get(&sorted(tuples)).copied().flatten(),
            _ => None,
        };
        same.unwrap_or_else(|| self.number(event, left))
    }

    /// The order of two events, which follows from what they contain.
    pub(super) fn order(&self, one: EventId, other: EventId) -> Ordering {
        self.get(one).key.cmp(&self.get(other).key)
    }

    /// The timer that fires in an event.
    pub(super) fn timer(&self, number: EventId) -> Option<usize> {
        match self.get(number).event {
            Event::Periodic { timer } => Some(timer),
            _ => None,
        }
    }

    /// An event as text.
    pub(super) fn text<'e>(&'e self, plan: &'e Plan, number: EventId) -> EventText<'e> {
        EventText { plan, event: &self.get(number).event }
    }

    pub(super) fn bytes(&self) -> usize {
        self.known.count() * (size_of::<Known>() + 160)
    }
}

/// Tuples as bytes, sorted.
fn sorted(tuples: &[(RelationId, SeqBuilder)]) -> Vec<Vec<u8>> {
    let bytes = |(relation, row): &(RelationId, SeqBuilder)| {
        let mut bytes = relation.0.to_le_bytes().to_vec();
        row.as_seq().iter().for_each(|value| write_value(&mut bytes, value));
        bytes
    };
    let mut all: Vec<Vec<u8>> = tuples.iter().map(bytes).collect();
    all.sort_unstable();
    all
}

/// Bytes that are equal for equal events with equal numbers of firings left: `relation` and `timer`
/// append what identifies these.
pub(super) fn key_of(
    event: &Event,
    left: Option<u64>,
    relation: &dyn Fn(RelationId, &mut Vec<u8>),
    timer: &dyn Fn(usize, &mut Vec<u8>),
) -> Vec<u8> {
    let mut key = Vec::new();
    let mut tuple = |kind: u8, named: RelationId, row: Seq<'_>| {
        key.push(kind);
        relation(named, &mut key);
        key.extend((row.len() as u32).to_le_bytes());
        row.iter().for_each(|value| write_value(&mut key, value));
    };
    match event {
        Event::Tuple { relation, row, delete, received } => {
            let kind = u8::from(*delete) | u8::from(*received) << 1;
            tuple(kind, *relation, row.as_seq());
        }
        Event::Change { relation, row, .. } => tuple(4, *relation, row.as_seq()),
        Event::Facts { tuples } => {
            tuples.iter().for_each(|(relation, row)| tuple(5, *relation, row.as_seq()));
        }
        Event::Periodic { timer: fired } => {
            key.push(6);
            timer(*fired, &mut key);
        }
        // Explored nodes have no other events.
        other => key.extend(format!("{other:?}").into_bytes()),
    }
    key.extend(left.unwrap_or(u64::MAX).to_le_bytes());
    key
}

/// An event in readable form.
pub(super) struct EventText<'e> {
    plan: &'e Plan,
    event: &'e Event,
}

impl fmt::Display for EventText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tuple = |f: &mut fmt::Formatter<'_>, relation: RelationId, row: Seq<'_>| {
            DisplayTuple::new(&self.plan.relation(relation).name, row.iter()).fmt(f)
        };
        match self.event {
            Event::Tuple { relation, row, delete, .. } => {
                f.write_str(if *delete { "delete " } else { "" })?;
                tuple(f, *relation, row.as_seq())
            }
            Event::Change { relation, row, .. } => tuple(f, *relation, row.as_seq()),
            Event::Facts { tuples } => {
                for (at, (relation, row)) in tuples.iter().enumerate() {
                    f.write_str(if at > 0 { ", " } else { "" })?;
                    tuple(f, *relation, row.as_seq())?;
                }
                Ok(())
            }
            Event::Periodic { timer } => write!(f, "timer {timer}"),
            Event::Expiry => f.write_str("rows whose time is over"),
            other => write!(f, "{other:?}"),
        }
    }
}
