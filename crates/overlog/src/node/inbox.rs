//! The events of a node: the one whose turn runs, and those that wait behind it.

use super::event::Event;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{SeqBuilder, SpareRows};

/// See the module. An event stays in its slot until its turn ends: moving it right after it was
/// written would stall on the stores.
///
/// ```text
/// slots:  | used | first, running or waiting | ... | last | used | used |
/// ```
/// The slots form a ring. A used one that held a tuple keeps the memory of its row for the next
/// tuple, if it is one of the first slots. A node that keeps up uses the first slot alone.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// As many as a power of two, or none.
    slots: Vec<Event>,
    first: usize,
    count: usize,
    /// The first has its turn.
    runs: bool,
    /// Memory of rows that were handed over.
    pub(super) spare: SpareRows,
}

/// The slots that keep the memory of a row, and the most bytes that one keeps.
const KEEPING_SLOTS: usize = 64;
const KEPT_BYTES_MAX: usize = 4096;

impl Inbox {
    /// The slot behind the last event.
    #[inline]
    fn next_slot(&mut self) -> usize {
        if self.count == self.slots.len() {
            self.grow();
        }
        let at = self.slot(self.count);
        self.count += 1;
        at
    }

    #[inline]
    fn slot(&self, number: usize) -> usize {
        (self.first + number) & (self.slots.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.first);
        self.first = 0;
        let slots = (2 * self.slots.len()).max(4);
        self.slots.resize(slots, Event::Expiry);
    }

    /// The event at a slot, for which a cheap one takes its place.
    fn take(&mut self, slot: usize) -> Event {
        std::mem::replace(&mut self.slots[slot], Event::Expiry)
    }

    /// Queues an event.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        let slot = self.next_slot();
        if let Event::Tuple { row, .. } = std::mem::replace(&mut self.slots[slot], event)
            && row.capacity() > 0
        {
            self.spare.give(row);
        }
    }

    /// Queues a tuple, whose columns the caller appends.
    #[inline]
    pub(super) fn push_tuple(
        &mut self,
        relation: RelationId,
        (delete, received): (bool, bool),
    ) -> &mut SeqBuilder {
        let slot = self.next_slot();
        let slot = &mut self.slots[slot];
        if !matches!(slot, Event::Tuple { .. }) {
            *slot = Event::Tuple { relation, row: SeqBuilder::new(), delete, received };
        }
        let Event::Tuple { relation: its, row, delete: deletes, received: is_received } = slot
        else {
            unreachable!("it was put there")
        };
        (*its, *deletes, *is_received) = (relation, delete, received);
        if row.capacity() == 0 {
            *row = self.spare.take();
        }
        row.clear();
        row
    }

    /// Takes the tuple that was queued last out again.
    pub(super) fn take_back_tuple(&mut self) {
        self.count -= 1;
    }

    /// The first event that waits, if no other has its turn.
    #[inline]
    pub(super) fn first(&self) -> Option<&Event> {
        self.front().filter(|_| !self.runs)
    }

    #[inline]
    fn front(&self) -> Option<&Event> {
        self.slots.get(self.first).filter(|_| self.count > 0)
    }

    /// Begins the turn of the first event, if one waits; no other has its turn.
    #[inline]
    pub(super) fn begin(&mut self) -> Option<&Event> {
        debug_assert!(!self.runs, "a turn begins when the one before has ended");
        self.runs = self.count > 0;
        self.front()
    }

    /// The event that has its turn.
    #[inline]
    pub(super) fn running(&self) -> Option<&Event> {
        self.front().filter(|_| self.runs)
    }

    /// Takes the row of the running tuple out, while it is read by code that changes the node.
    pub(super) fn take_row(&mut self) -> Option<SeqBuilder> {
        match self.slots.get_mut(self.first) {
            Some(Event::Tuple { row, .. }) if self.runs => Some(std::mem::take(row)),
            _ => None,
        }
    }

    /// Puts it back.
    pub(super) fn give_row(&mut self, row: SeqBuilder) {
        if let Some(Event::Tuple { row: place, .. }) = self.slots.get_mut(self.first) {
            *place = row;
        }
    }

    /// Takes it out while it is read by code that changes the node.
    pub(super) fn borrow_running(&mut self) -> Option<Event> {
        self.runs.then(|| self.take(self.first))
    }

    /// Puts it back.
    pub(super) fn give_back(&mut self, event: Event) {
        self.slots[self.first] = event;
    }

    /// Its turn has ended; the memory of its row is used again.
    #[inline]
    pub(super) fn end(&mut self) {
        if !std::mem::take(&mut self.runs) {
            return;
        }
        match &mut self.slots[self.first] {
            Event::Tuple { row, .. }
                if self.first < KEEPING_SLOTS && row.capacity() <= KEPT_BYTES_MAX => {}
            Event::Tuple { row, .. } | Event::Change { row, .. } => {
                self.spare.give(std::mem::take(row));
            }
            other => *other = Event::Expiry,
        }
        self.count -= 1;
        self.first = if self.count == 0 { 0 } else { self.slot(1) };
    }

    /// Events that wait.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.count - usize::from(self.runs)
    }

    /// Removes the newest waiting events.
    pub(super) fn drain_newest(&mut self, count: usize) -> impl Iterator<Item = Event> {
        let keep = self.count - count.min(self.waiting());
        let events: Vec<Event> = (keep..self.count).map(|it| self.take(self.slot(it))).collect();
        self.count = keep;
        events.into_iter()
    }

    /// Replaces the waiting events by what `translate` returns; returns the number dropped. No turn
    /// may be running.
    pub(super) fn translate(&mut self, translate: impl FnMut(Event) -> Option<Event>) -> usize {
        let count = self.count;
        let events: Vec<Event> = self.drain_newest(count).filter_map(translate).collect();
        events.into_iter().for_each(|event| self.push(event));
        count - self.count
    }
}
