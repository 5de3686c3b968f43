//! The events of a node: the one whose turn runs, and those that wait behind it.

use std::collections::VecDeque;

use super::event::Event;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{SeqBuilder, SpareRows};

/// See the module. An event stays in its slot until its turn ends: moving it right after it was
/// written would stall on the stores.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    events: VecDeque<Event>,
    /// The first has its turn.
    runs: bool,
    /// Memory of rows that were handed over.
    pub(super) spare: SpareRows,
}

impl Inbox {
    /// Queues an event.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Queues a tuple, whose columns the caller appends.
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

    /// Takes the tuple that was queued last out again.
    pub(super) fn take_back_tuple(&mut self) {
        if let Some(Event::Tuple { row, .. }) = self.events.pop_back() {
            self.spare.give(row);
        }
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

    /// Takes it out while it is read by code that changes the node.
    pub(super) fn borrow_running(&mut self) -> Option<Event> {
        match self.events.front_mut() {
            // A cheap placeholder takes its slot.
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

    /// Removes the newest waiting events.
    pub(super) fn drain_newest(&mut self, count: usize) -> impl Iterator<Item = Event> {
        let keep = self.events.len() - count.min(self.waiting());
        self.events.drain(keep..)
    }

    /// Replaces the waiting events by what `translate` returns; returns the number dropped. No turn
    /// may be running.
    pub(super) fn translate(&mut self, translate: impl FnMut(Event) -> Option<Event>) -> usize {
        let count = self.events.len();
        self.events = std::mem::take(&mut self.events).into_iter().filter_map(translate).collect();
        count - self.events.len()
    }
}
