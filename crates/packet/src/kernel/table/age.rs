//! The age of entries: lists in the order of insertion, and a timer wheel.
//!
//! Entries are numbered from 1; lists are doubly linked by these numbers, and 0 ends them. A
//! refresh only writes the time into the entry. A search for the oldest or for expired ones reads
//! it there, and moves such an entry to its new place. Apps with tables of their own use both, too.

use std::collections::VecDeque;

/// Buckets of a wheel: twice the time that an entry stays.
const BUCKETS: u64 = 256;

/// The shortest time between two ticks of a wheel.
const TICK_NS_MIN: u64 = 1_000_000;

/// The time between two ticks of a wheel whose entries have a time of their own each.
pub const DEADLINE_TICK_NS: u64 = 250_000_000;

/// How often their times are looked at.
pub const LOOK_NS: u64 = 16_000_000_000;

/// The time between two ticks of a wheel: entries expire at most this long after their time.
pub fn tick_ns(expire_ns: u64) -> u64 {
    expire_ns.div_ceil(BUCKETS / 2).max(TICK_NS_MIN)
}

/// An entry's neighbours in a list.
#[derive(Clone, Copy, Default)]
struct Links {
    previous: u32,
    next: u32,
}

/// Entries in the order of insertion.
#[derive(Default)]
pub struct Queue {
    links: Vec<Links>,
    first: u32,
    last: u32,
}

impl Queue {
    fn links(&mut self, entry: u32) -> &mut Links {
        let at = entry as usize;
        if self.links.len() <= at {
            self.links.resize(at + 1, Links::default());
        }
        &mut self.links[at]
    }

    /// Makes room for the entries 1 to `entries`.
    pub fn reserve(&mut self, entries: usize) {
        self.links.reserve_exact((entries + 1).saturating_sub(self.links.len()));
    }

    /// The one that was appended first.
    pub fn first(&self) -> Option<u32> {
        (self.first != 0).then_some(self.first)
    }

    /// Appends an entry that is not in the list.
    pub fn append(&mut self, entry: u32) {
        let previous = std::mem::replace(&mut self.last, entry);
        *self.links(entry) = Links { previous, next: 0 };
        match previous {
            0 => self.first = entry,
            previous => self.links(previous).next = entry,
        }
    }

    /// Removes an entry that is in the list.
    pub fn remove(&mut self, entry: u32) {
        let Links { previous, next } = std::mem::take(self.links(entry));
        match previous {
            0 => self.first = next,
            previous => self.links(previous).next = next,
        }
        match next {
            0 => self.last = previous,
            next => self.links(next).previous = previous,
        }
    }

    /// From the oldest on.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let after = |entry: u32| self.links[entry as usize].next;
        std::iter::successors(self.first(), move |&entry| Some(after(entry)).filter(|&it| it != 0))
    }
}

/// Where an entry is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WheelState {
    /// Not in the wheel.
    Out,
    Bucket(u8),
    /// Among the expired ones.
    Due,
}

/// A timer wheel: entries by the tick at which to look whether their time is over.
pub struct Wheel {
    expire_ns: u64,
    tick_ns: u64,
    /// An entry is looked at after this many ticks, even if its time is longer.
    ahead_max: u64,
    /// The last tick that was processed.
    tick: u64,
    /// The first of each bucket.
    firsts: Vec<u32>,
    links: Vec<Links>,
    /// Where each entry is, by number of the entry.
    states: Vec<WheelState>,
    /// Expired entries, taken out of their buckets; those that have been refreshed since are passed
    /// over.
    due: VecDeque<u32>,
}

impl Wheel {
    /// An empty wheel; entries expire when they have not been touched for `expire_ns`.
    pub fn new(expire_ns: u64) -> Wheel {
        Wheel {
            expire_ns,
            tick_ns: tick_ns(expire_ns),
            ahead_max: BUCKETS - 1,
            tick: 0,
            firsts: vec![0; BUCKETS as usize],
            links: Vec::new(),
            states: Vec::new(),
            due: VecDeque::new(),
        }
    }

    /// An empty wheel for entries that have a time of their own each: what stands for when an entry
    /// was touched is when its time is over. That may come nearer without a change in the wheel, so
    /// entries are looked at every [`LOOK_NS`].
    pub fn of_deadlines() -> Wheel {
        let (expire_ns, tick_ns) = (0, DEADLINE_TICK_NS);
        Wheel { expire_ns, tick_ns, ahead_max: LOOK_NS / DEADLINE_TICK_NS, ..Wheel::new(0) }
    }

    /// Makes room for the entries 1 to `entries`.
    pub fn reserve(&mut self, entries: usize) {
        self.links.reserve_exact((entries + 1).saturating_sub(self.links.len()));
        self.states.reserve_exact((entries + 1).saturating_sub(self.states.len()));
    }

    /// The first tick at which the time of an entry is over that was touched then.
    fn due_tick(&self, touched_ns: u64) -> u64 {
        touched_ns.saturating_add(self.expire_ns).div_ceil(self.tick_ns)
    }

    /// Adds an entry that was touched then.
    pub fn add(&mut self, entry: u32, touched_ns: u64) {
        let at = entry as usize;
        if self.links.len() <= at {
            self.links.resize(at + 1, Links::default());
            self.states.resize(at + 1, WheelState::Out);
        }
        // An entry that is due already goes to the next bucket.
        let tick = self.due_tick(touched_ns).clamp(self.tick + 1, self.tick + self.ahead_max);
        let bucket = (tick % BUCKETS) as u8;
        let next = std::mem::replace(&mut self.firsts[usize::from(bucket)], entry);
        if next != 0 {
            self.links[next as usize].previous = entry;
        }
        self.links[at] = Links { previous: 0, next };
        self.states[at] = WheelState::Bucket(bucket);
    }

    /// Removes an entry, if it is there.
    pub fn remove(&mut self, entry: u32) {
        let at = entry as usize;
        let Some(state) = self.states.get_mut(at) else { return };
        let WheelState::Bucket(bucket) = std::mem::replace(state, WheelState::Out) else { return };
        let Links { previous, next } = std::mem::take(&mut self.links[at]);
        match previous {
            0 => self.firsts[usize::from(bucket)] = next,
            previous => self.links[previous as usize].next = next,
        }
        if next != 0 {
            self.links[next as usize].previous = previous;
        }
    }

    /// The next expired entry; `touched_ns` returns when one was refreshed last. It stays out of
    /// the wheel until it is removed.
    pub fn expired(&mut self, now_ns: u64, touched_ns: impl Fn(u32) -> u64) -> Option<u32> {
        let end = now_ns / self.tick_ns;
        loop {
            while self.due.is_empty() && self.tick < end {
                // After a jump of the clock one round is enough.
                self.tick = (self.tick + 1).max(end.saturating_sub(BUCKETS - 1));
                self.turn(end, &touched_ns);
            }
            let entry = self.due.pop_front()?;
            let state = &mut self.states[entry as usize];
            if *state == WheelState::Due {
                *state = WheelState::Out;
                return Some(entry);
            }
        }
    }

    fn turn(&mut self, end: u64, touched_ns: &impl Fn(u32) -> u64) {
        let mut next = std::mem::take(&mut self.firsts[(self.tick % BUCKETS) as usize]);
        while next != 0 {
            let entry = next;
            next = self.links[entry as usize].next;
            let touched_ns = touched_ns(entry);
            if self.due_tick(touched_ns) <= end {
                self.states[entry as usize] = WheelState::Due;
                self.due.push_back(entry);
            } else {
                self.add(entry, touched_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_the_order() {
        let mut queue = Queue::default();
        (1..=4).for_each(|entry| queue.append(entry));
        queue.remove(1);
        queue.remove(3);
        queue.append(1);
        assert_eq!(queue.iter().collect::<Vec<_>>(), [2, 4, 1]);
        [2, 4, 1].into_iter().for_each(|entry| queue.remove(entry));
        assert_eq!(queue.first(), None);
    }

    /// All that expire until a time, when `touched` has the refresh time of each.
    fn go(wheel: &mut Wheel, now_ns: u64, touched: &[u64]) -> Vec<u32> {
        let mut gone = Vec::new();
        while let Some(entry) = wheel.expired(now_ns, |entry| touched[entry as usize]) {
            gone.push(entry);
        }
        gone
    }

    /// Handlers of expiry delete entries, too, and the next packet may use their numbers.
    #[test]
    fn what_is_removed_while_it_is_due_does_not_go_again() {
        const S: u64 = 1_000_000_000;
        let (mut wheel, mut touched) = (Wheel::new(S), [0; 4]);
        (1..=3).for_each(|entry| wheel.add(entry, 0));
        let first = wheel.expired(5 * S, |entry| touched[entry as usize]).expect("all are due");
        let [gone, kept] = if first == 2 { [1, 3] } else { [2, 4 - first] };
        wheel.remove(first);
        wheel.remove(gone);
        touched[gone as usize] = 5 * S;
        wheel.add(gone, 5 * S);
        assert_eq!(go(&mut wheel, 5 * S, &touched), [kept]);
        assert_eq!(go(&mut wheel, 7 * S, &touched), [gone]);
    }

    #[test]
    fn entries_go_at_the_first_tick_behind_their_time() {
        const S: u64 = 1_000_000_000;
        let mut wheel = Wheel::new(S);
        let tick = tick_ns(S);
        let mut touched = [0, 10 * S, 10 * S + 5, 10 * S];
        assert_eq!(go(&mut wheel, 10 * S, &touched), []);
        (1..=3).for_each(|entry| wheel.add(entry, touched[entry as usize]));
        wheel.remove(3);
        touched[2] = 10 * S + S / 2;
        assert_eq!(go(&mut wheel, 11 * S - 1, &touched), []);
        assert_eq!(go(&mut wheel, 11 * S + tick, &touched), [1]);
        assert_eq!(go(&mut wheel, 11 * S + S / 2 - 1, &touched), []);
        // The clock jumps.
        assert_eq!(go(&mut wheel, 1000 * S, &touched), [2]);
        assert_eq!(go(&mut wheel, 2000 * S, &touched), []);
    }
}
