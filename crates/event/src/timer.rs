//! The timer list, sorted by deadline; equal deadlines in the order they were set.
//!
//! A 4-ary heap of (deadline, sequence, key) with each timer's place in the heap written beside
//! it, so cancelling and moving take O(log n) and leave no garbage: a million timers that are
//! re-armed all the time need the memory of a million.
//!
//! A timer exists until removed and is *armed* or not. One that fires is disarmed first: from
//! inside its handler it can be armed again or removed.

use crate::Time;
use crate::slab::{Key, Slab};

/// Names one timer of one loop.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId(pub(crate) Key);

/// Children of the node at `i` are `ARITY * i + 1 ..= ARITY * i + ARITY`.
const ARITY: usize = 4;

#[derive(Copy, Clone)]
struct Entry {
    at: Time,
    sequence: u64,
    key: Key,
}

impl Entry {
    fn order(&self) -> (Time, u64) {
        (self.at, self.sequence)
    }
}

struct Timer<P> {
    /// Place in the heap; none when not armed.
    place: Option<u32>,
    payload: P,
}

/// Timers with a payload each.
pub(crate) struct Timers<P> {
    heap: Vec<Entry>,
    timers: Slab<Timer<P>>,
    sequence: u64,
}

impl<P> Timers<P> {
    pub(crate) fn new() -> Timers<P> {
        Timers { heap: Vec::new(), timers: Slab::new(), sequence: 0 }
    }

    /// The number of armed timers.
    pub(crate) fn armed(&self) -> usize {
        self.heap.len()
    }

    /// The next sequence number: timers armed from now on have it or a larger one.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.first().map(|entry| entry.at)
    }

    /// A new timer, armed for `at`.
    pub(crate) fn insert(&mut self, at: Time, payload: P) -> TimerId {
        let key = self.timers.insert(Timer { place: None, payload });
        self.arm(TimerId(key), at);
        TimerId(key)
    }

    /// Arms for `at`, whether armed or not; false if there is no such timer.
    pub(crate) fn arm(&mut self, id: TimerId, at: Time) -> bool {
        let Some(timer) = self.timers.get(id.0) else { return false };
        let entry = Entry { at, sequence: self.sequence, key: id.0 };
        self.sequence += 1;
        match timer.place {
            Some(place) => {
                self.heap[place as usize] = entry;
                self.settle(place as usize);
            }
            None => {
                self.heap.push(entry);
                self.rise(self.heap.len() - 1);
            }
        }
        true
    }

    /// Whether a timer is armed; one that is gone is not.
    pub(crate) fn is_armed(&self, id: TimerId) -> bool {
        self.timers.get(id.0).is_some_and(|timer| timer.place.is_some())
    }

    /// Removes a timer, armed or not.
    pub(crate) fn remove(&mut self, id: TimerId) -> Option<P> {
        let timer = self.timers.remove(id.0)?;
        if let Some(place) = timer.place {
            self.unlink(place as usize);
        }
        Some(timer.payload)
    }

    /// Removes all timers, armed or not, but those that `keep` says.
    pub(crate) fn retain(&mut self, keep: impl Fn(&P) -> bool) {
        let gone = self.timers.iter().filter(|(_, timer)| !keep(&timer.payload));
        let gone: Vec<Key> = gone.map(|(key, _)| key).collect();
        gone.into_iter().for_each(|key| drop(self.remove(TimerId(key))));
    }

    /// The payload of the timer.
    pub(crate) fn payload(&mut self, id: TimerId) -> Option<&mut P> {
        self.timers.get_mut(id.0).map(|timer| &mut timer.payload)
    }

    /// Disarms the earliest timer if it is due at `now` and was armed before `sequence`.
    pub(crate) fn expire(&mut self, now: Time, sequence: u64) -> Option<(TimerId, Time)> {
        let first = *self.heap.first()?;
        if first.at > now || first.sequence >= sequence {
            return None;
        }
        self.unlink(0);
        if let Some(timer) = self.timers.get_mut(first.key) {
            timer.place = None;
        }
        Some((TimerId(first.key), first.at))
    }

    /// Takes the entry at `place` out of the heap.
    fn unlink(&mut self, place: usize) {
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.settle(place);
        }
    }

    fn settle(&mut self, place: usize) {
        let place = self.rise(place);
        self.sink(place);
    }

    fn rise(&mut self, mut place: usize) -> usize {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent].order() <= entry.order() {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
        place
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = ARITY * place + 1;
            let last = (first + ARITY).min(self.heap.len());
            let Some(child) = (first..last).min_by_key(|&child| self.heap[child].order()) else {
                break;
            };
            if entry.order() <= self.heap[child].order() {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        if let Some(timer) = self.timers.get_mut(entry.key) {
            timer.place = Some(place as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tidemill_stdx::rng::Rng;

    use super::*;

    #[test]
    fn equal_deadlines_keep_their_order() {
        let mut timers = Timers::new();
        for name in 0..10 {
            timers.insert(Time(5), name);
        }
        let mut seen = Vec::new();
        while let Some((id, _)) = timers.expire(Time(5), u64::MAX) {
            seen.extend(timers.remove(id));
        }
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
    }

    /// A hundred thousand random operations against a sorted map.
    #[test]
    fn agrees_with_a_sorted_map() {
        let mut random = Rng::new(7);
        let mut timers = Timers::new();
        let mut model = BTreeMap::new();
        let mut live: Vec<(TimerId, (Time, u64))> = Vec::new();
        for _ in 0..100_000 {
            let at = Time(random.below(1000));
            let order = (at, timers.sequence());
            match random.below(4) {
                0 | 1 => {
                    let id = timers.insert(at, ());
                    model.insert(order, id);
                    live.push((id, order));
                }
                2 if !live.is_empty() => {
                    let which = random.below(live.len() as u64) as usize;
                    let (id, old) = live[which];
                    assert_eq!(model.remove(&old), Some(id));
                    assert!(timers.arm(id, at));
                    model.insert(order, id);
                    live[which].1 = order;
                }
                3 if !live.is_empty() => {
                    let which = random.below(live.len() as u64) as usize;
                    let (id, old) = live.swap_remove(which);
                    model.remove(&old);
                    assert_eq!(timers.remove(id), Some(()));
                    assert_eq!(timers.remove(id), None);
                }
                _ => {}
            }
            assert_eq!(timers.next(), model.keys().next().map(|order| order.0));
        }
        for (order, id) in model {
            assert_eq!(timers.expire(Time::MAX, u64::MAX), Some((id, order.0)));
        }
        assert_eq!(timers.armed(), 0);
    }
}
