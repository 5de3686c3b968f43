//! The events of a node: the one whose turn runs, and those that wait behind it.

use std::collections::VecDeque;

use super::event::Event;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{SeqBuilder, SpareRows};

/// See the module. An event stays where it was put until its turn ends: what is moved right after
/// it was written waits for the writes.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    events: VecDeque<Event>,
    /// The first has its turn.
    runs: bool,
    /// Memory of rows that were handed over.
    pub(super) spare: SpareRows,
}

impl Inbox {
    /// Puts an event behind all others.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Puts a tuple behind all others, whose columns are to be appended.
    #[inline]
    pub(super) fn push_tuple(
        &mut self,
        relation: RelationId,
        (delete, received): (bool, bool),
    ) -> &mut SeqBuilder {
        let row = self.spare.take_used();
        self.events.push_back(Event::Tuple { relation, row, delete, received });
        let Some(Event::Tuple { row, .. }) = self.events.back_mut() else {
            unreachable!("it was put there")
        };
        row.clear();
        row
    }

    /// Begins the turn of the first event, if one waits; no other has its turn.
    #[inline]
    pub(super) fn begin(&mut self) -> Option<&Event> {
        debug_assert!(!self.runs, "a turn begins when the one before has ended");
        let first = self.events.front();
        self.runs = first.is_some();
        first
    }

    /// The event that has its turn.
    #[inline]
    pub(super) fn running(&self) -> Option<&Event> {
        self.events.front().filter(|_| self.runs)
    }

    /// Takes it out for as long as it is read by what changes the node.
    pub(super) fn borrow_running(&mut self) -> Option<Event> {
        match self.events.front_mut() {
            // In its place nothing is needed that says anything.
            Some(event) if self.runs => Some(std::mem::replace(event, Event::Expiry)),
            _ => None,
        }
    }

    /// Puts it back.
    pub(super) fn give_back(&mut self, event: Event) {
        if let Some(first) = self.events.front_mut() {
            *first = event;
        }
    }

    /// Its turn has ended; the memory of its row is used again.
    #[inline]
    pub(super) fn end(&mut self) {
        if !std::mem::take(&mut self.runs) {
            return;
        }
        if let Some(Event::Tuple { row, .. } | Event::Change { row, .. }) = self.events.front_mut()
        {
            self.spare.give(std::mem::take(row));
            // The row that is left has no memory, so nothing has to be dropped.
            std::mem::forget(self.events.pop_front());
        } else {
            self.events.pop_front();
        }
    }

    /// Events that wait.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.events.len() - usize::from(self.runs)
    }

    /// Takes out the newest that wait.
    pub(super) fn drain_newest(&mut self, count: usize) -> impl Iterator<Item = Event> {
        let keep = self.events.len() - count.min(self.waiting());
        self.events.drain(keep..)
    }

    /// Keeps of the events that wait what `translate` makes of them; how many it made nothing of.
    /// None has its turn.
    pub(super) fn translate(&mut self, translate: impl FnMut(Event) -> Option<Event>) -> usize {
        let count = self.events.len();
        self.events = std::mem::take(&mut self.events).into_iter().filter_map(translate).collect();
        count - self.events.len()
    }
}
