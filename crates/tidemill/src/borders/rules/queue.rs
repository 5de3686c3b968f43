//! The deliveries queued for one communication.

use std::collections::VecDeque;

use hashbrown::HashTable;
use tidemill_relation::{OwnedValue, SeqBuilder};
use tidemill_stdx::keyed::Secret;

/// The maximum number of deliveries queued for a communication.
pub(super) const WAITING_MAX: usize = 1000;

/// A change of a tuple, by the code of its character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    Come = b'+' as isize,
    Gone = b'-' as isize,
}

/// A message to a component: the change of a tuple.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Delivery {
    pub(super) message: u32,
    pub(super) change: Change,
    /// The columns of the tuple.
    pub(super) row: SeqBuilder,
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
    delivery: Delivery,
    /// Of a row: its key and hash.
    key: Option<(u64, OwnedValue)>,
    /// Of a row: the component has not seen any row of this key.
    is_new: bool,
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
    /// Queues a delivery; a row replaces the queued one of its key, which includes the relation.
    pub(super) fn put(&mut self, delivery: Delivery, key: Option<OwnedValue>) -> Put {
        let key = key.map(|key| (key.get().hash(&Secret::FIXED), key));
        let known = key.as_ref().and_then(|(hash, key)| self.find(*hash, key));
        if let Some(number) = known {
            let Some(place) = self.entry(number) else { return Put::Coalesced };
            match place {
                Some(entry) if delivery.change == Change::Gone && entry.is_new => {
                    let hash = entry.key.as_ref().map(|(hash, _)| *hash);
                    *place = None;
                    hash.into_iter().for_each(|hash| self.forget(hash, number));
                }
                Some(entry) => entry.delivery = delivery,
                None => {}
            }
            return Put::Coalesced;
        }
        // A cancelled delivery keeps its place until it is at the front, so the length bounds all.
        if self.entries.len() >= WAITING_MAX {
            return Put::Dropped;
        }
        if let Some((hash, _)) = key {
            let number = self.first + self.entries.len() as u64;
            self.by_key.insert_unique(hash, (hash, number), |&(hash, _)| hash);
        }
        let is_new = delivery.change == Change::Come;
        self.entries.push_back(Some(Entry { delivery, key, is_new }));
        Put::Waits
    }

    fn entry(&mut self, number: u64) -> Option<&mut Option<Entry>> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(at)
    }

    fn find(&self, hash: u64, key: &OwnedValue) -> Option<u64> {
        let is_it = |&(_, number): &(u64, u64)| {
            let entry = self.entries.get((number - self.first) as usize);
            let known = entry.and_then(|entry| entry.as_ref()?.key.as_ref());
            known.is_some_and(|(_, known)| known == key)
        };
        self.by_key.find(hash, is_it).map(|&(_, number)| number)
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
            let is_it = |entry: &Entry| !goes_on(entry.delivery.message);
            let Some(entry) = self.entries[at].take_if(|entry| is_it(entry)) else { continue };
            dropped += 1;
            let number = self.first + at as u64;
            entry.key.into_iter().for_each(|(hash, _)| self.forget(hash, number));
        }
        dropped
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The next one.
    pub(super) fn take(&mut self) -> Option<Delivery> {
        while let Some(place) = self.entries.pop_front() {
            let number = self.first;
            self.first += 1;
            let Some(Entry { delivery, key, .. }) = place else { continue };
            key.into_iter().for_each(|(hash, _)| self.forget(hash, number));
            return Some(delivery);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use tidemill_relation::Value;

    use super::*;

    fn put(queue: &mut Queue, change: Change, key: i64, value: i64) -> Put {
        let mut row = SeqBuilder::new();
        row.push(Value::Int(value));
        let delivery = Delivery { message: 3, change, row };
        queue.put(delivery, Some(OwnedValue::new(Value::Int(key))))
    }

    fn all(queue: &mut Queue) -> Vec<(Change, i64)> {
        let deliveries = std::iter::from_fn(|| queue.take());
        let value = |row: &SeqBuilder| row.as_seq().get(0).and_then(|value| value.as_int());
        deliveries.map(|it| (it.change, value(&it.row).unwrap_or(i64::MAX))).collect()
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
        let event = Delivery { message: 4, change: Change::Come, row: SeqBuilder::new() };
        queue.put(event.clone(), None);
        put(&mut queue, Change::Come, 2, 20);
        assert_eq!(queue.retain(|message| message == 4), 2);
        assert_eq!(put(&mut queue, Change::Come, 1, 11), Put::Waits);
        assert_eq!(queue.take(), Some(event));
        assert_eq!(all(&mut queue), [(Change::Come, 11)]);
    }

    #[test]
    fn events_are_each_their_own_up_to_a_limit() {
        let mut queue = Queue::default();
        let event = || Delivery { message: 1, change: Change::Come, row: SeqBuilder::new() };
        let puts: Vec<Put> = (0..WAITING_MAX + 2).map(|_| queue.put(event(), None)).collect();
        assert!(puts[..WAITING_MAX].iter().all(|put| *put == Put::Waits));
        assert_eq!(puts[WAITING_MAX..], [Put::Dropped; 2]);
        assert_eq!(put(&mut queue, Change::Come, 1, 1), Put::Dropped);
    }
}
