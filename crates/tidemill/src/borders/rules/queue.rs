//! The deliveries queued for one communication.

use std::collections::VecDeque;
use std::rc::Rc;

use hashbrown::HashTable;
use tidemill_relation::{OwnedValue, Seq, SeqBuilder, SpareRows};
use tidemill_stdx::keyed::Secret;

/// The maximum number of deliveries queued for a communication.
pub(super) const WAITING_MAX: usize = 1000;

/// A change of a tuple, by the code of its character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Change {
    Come = b'+',
    Gone = b'-',
}

/// A message to a component: the change of a tuple.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery<'r> {
    pub(super) message: u32,
    pub(super) change: Change,
    /// The columns of the tuple.
    pub(super) columns: Seq<'r>,
}

/// The key of a row, which includes the relation.
#[derive(Debug)]
pub(super) struct RowKey {
    value: OwnedValue,
    hash: u64,
}

impl RowKey {
    pub(super) fn new(value: OwnedValue) -> Rc<RowKey> {
        let hash = value.get().hash(&Secret::FIXED);
        Rc::new(RowKey { value, hash })
    }
}

/// Deliveries in order. Of the rows of a table with one key there is one at most.
#[derive(Default, Debug)]
pub(super) struct Queue {
    /// In the order of their numbers, from `first`. Cancelled ones are empty.
    entries: VecDeque<Option<Entry>>,
    first: u64,
    /// Deliveries with keys: hash and number. The queue is short, so colliding keys cannot make it
    /// slow.
    by_key: HashTable<(u64, u64)>,
}

#[derive(Debug)]
struct Entry {
    message: u32,
    change: Change,
    /// Of a row: the component has not seen any row of this key.
    is_new: bool,
    row: SeqBuilder,
    /// Of a row.
    key: Option<Rc<RowKey>>,
}

impl Entry {
    fn set(&mut self, Delivery { message, change, columns }: Delivery<'_>) {
        (self.message, self.change) = (message, change);
        self.row.clear();
        self.row.extend(columns);
    }
}

/// The result of queueing a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Put {
    Waits,
    /// It has replaced or cancelled an earlier one.
    Coalesced,
    /// There was no room.
    Dropped,
}

impl Queue {
    /// Queues a delivery; a row replaces the queued one of its key.
    pub(super) fn put(
        &mut self,
        delivery: Delivery<'_>,
        key: Option<&Rc<RowKey>>,
        spare: &mut SpareRows,
    ) -> Put {
        if let Some(number) = key.and_then(|key| self.find(key)) {
            self.coalesce(number, delivery, spare);
            return Put::Coalesced;
        }
        // A cancelled delivery keeps its place until it is at the front, so the length bounds all.
        if self.entries.len() >= WAITING_MAX {
            return Put::Dropped;
        }
        if let Some(&RowKey { hash, .. }) = key.map(|key| &**key) {
            let number = self.first + self.entries.len() as u64;
            self.by_key.insert_unique(hash, (hash, number), |&(hash, _)| hash);
        }
        let Delivery { message, change, .. } = delivery;
        let is_new = change == Change::Come;
        let (row, key) = (spare.take_used(), key.cloned());
        self.entries.push_back(Some(Entry { message, change, is_new, row, key }));
        // Filled in its place, see `SpareRows::take_used`.
        if let Some(Some(entry)) = self.entries.back_mut() {
            entry.set(delivery);
        }
        Put::Waits
    }

    /// Replaces or cancels a queued row by a later change of its key.
    fn coalesce(&mut self, number: u64, delivery: Delivery<'_>, spare: &mut SpareRows) {
        let Some(place) = self.entry(number) else { return };
        match place {
            Some(entry) if delivery.change == Change::Gone && entry.is_new => {
                spare.give(std::mem::take(&mut entry.row));
                let key = entry.key.take();
                *place = None;
                key.into_iter().for_each(|key| self.forget(key.hash, number));
            }
            Some(entry) => entry.set(delivery),
            None => {}
        }
    }

    fn entry(&mut self, number: u64) -> Option<&mut Option<Entry>> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(at)
    }

    fn find(&self, key: &RowKey) -> Option<u64> {
        let is_it = |&(_, number): &(u64, u64)| {
            let entry = self.entries.get((number - self.first) as usize);
            let known = entry.and_then(|entry| entry.as_ref()?.key.as_ref());
            known.is_some_and(|known| known.value == key.value)
        };
        self.by_key.find(key.hash, is_it).map(|&(_, number)| number)
    }

    fn forget(&mut self, hash: u64, number: u64) {
        if let Ok(entry) = self.by_key.find_entry(hash, |&(_, other)| other == number) {
            entry.remove();
        }
    }

    /// Drops the messages that have no successor; returns their number.
    pub(super) fn retain(&mut self, goes_on: impl Fn(u32) -> bool) -> u64 {
        let mut dropped = 0;
        for at in 0..self.entries.len() {
            let is_it = |entry: &mut Entry| !goes_on(entry.message);
            let Some(entry) = self.entries[at].take_if(is_it) else { continue };
            dropped += 1;
            let number = self.first + at as u64;
            entry.key.into_iter().for_each(|key| self.forget(key.hash, number));
        }
        dropped
    }

    /// The number of deliveries that wait.
    pub(super) fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The next one, which stays in its place until it is [passed](Queue::pass).
    pub(super) fn next(&mut self) -> Option<Delivery<'_>> {
        while let Some(None) = self.entries.front() {
            self.entries.pop_front();
            self.first += 1;
        }
        let Entry { message, change, row, .. } = self.entries.front()?.as_ref()?;
        Some(Delivery { message: *message, change: *change, columns: row.as_seq() })
    }

    /// Drops the next one, which was delivered.
    pub(super) fn pass(&mut self, spare: &mut SpareRows) {
        let Some(place) = self.entries.pop_front() else { return };
        let number = self.first;
        self.first += 1;
        let Some(Entry { row, key, .. }) = place else { return };
        spare.give(row);
        key.into_iter().for_each(|key| self.forget(key.hash, number));
    }
}

#[cfg(test)]
mod tests {
    use tidemill_relation::Value;

    use super::*;

    fn put(queue: &mut Queue, change: Change, key: i64, value: i64) -> Put {
        let mut row = SeqBuilder::new();
        row.push(Value::Int(value));
        let delivery = Delivery { message: 3, change, columns: row.as_seq() };
        let key = RowKey::new(OwnedValue::new(Value::Int(key)));
        queue.put(delivery, Some(&key), &mut SpareRows::default())
    }

    /// An event, which has no key.
    fn put_event(queue: &mut Queue) -> Put {
        let delivery = Delivery { message: 4, change: Change::Come, columns: Seq::EMPTY };
        queue.put(delivery, None, &mut SpareRows::default())
    }

    fn all(queue: &mut Queue) -> Vec<(Change, i64)> {
        let deliveries = std::iter::from_fn(|| {
            let Delivery { change, columns, .. } = queue.next()?;
            let value = columns.get(0).and_then(|value| value.as_int());
            queue.pass(&mut SpareRows::default());
            Some((change, value.unwrap_or(i64::MAX)))
        });
        deliveries.collect()
    }

    #[test]
    fn rows_of_one_key_are_one_delivery() {
        use Change::{Come, Gone};
        let mut queue = Queue::default();
        assert_eq!(put(&mut queue, Come, 1, 10), Put::Waits);
        assert_eq!(put(&mut queue, Gone, 2, 20), Put::Waits);
        // A row that the component has not seen is inserted and deleted unseen.
        assert_eq!(put(&mut queue, Gone, 1, 10), Put::Coalesced);
        // A row that it has seen is replaced, then deleted.
        assert_eq!(put(&mut queue, Come, 2, 21), Put::Coalesced);
        assert_eq!(put(&mut queue, Come, 1, 11), Put::Waits);
        assert_eq!(all(&mut queue), [(Come, 21), (Come, 11)]);
        put(&mut queue, Gone, 2, 21);
        put(&mut queue, Come, 2, 22);
        put(&mut queue, Gone, 2, 22);
        assert_eq!(all(&mut queue), [(Gone, 22)]);
    }

    #[test]
    fn what_does_not_go_on_makes_room_when_its_turn_comes() {
        let mut queue = Queue::default();
        put(&mut queue, Change::Come, 1, 10);
        put_event(&mut queue);
        put(&mut queue, Change::Come, 2, 20);
        assert_eq!(queue.retain(|message| message == 4), 2);
        assert_eq!(put(&mut queue, Change::Come, 1, 11), Put::Waits);
        assert_eq!(queue.next().map(|it| it.message), Some(4));
        assert_eq!(all(&mut queue), [(Change::Come, i64::MAX), (Change::Come, 11)]);
    }

    #[test]
    fn events_are_each_their_own_up_to_a_limit() {
        let mut queue = Queue::default();
        let puts: Vec<Put> = (0..WAITING_MAX + 2).map(|_| put_event(&mut queue)).collect();
        assert!(puts[..WAITING_MAX].iter().all(|put| *put == Put::Waits));
        assert_eq!(puts[WAITING_MAX..], [Put::Dropped; 2]);
        assert_eq!(put(&mut queue, Change::Come, 1, 1), Put::Dropped);
    }
}
