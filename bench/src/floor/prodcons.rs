//! The sum of the items that producers send to consumers through a buffer of 10.

use std::collections::VecDeque;

const SIZE: usize = 10;

#[derive(Clone, Copy, Debug)]
enum Activity {
    Producer { next: u64 },
    Consumer { sum: u64 },
}

struct World {
    activities: Vec<Activity>,
    ready: VecDeque<usize>,
    buffer: VecDeque<u64>,
    /// Producers that wait for room.
    full: VecDeque<usize>,
    /// Consumers that wait for an item.
    empty: VecDeque<usize>,
    items: u64,
}

pub fn run(producers: u64, consumers: u64, items: u64) -> u64 {
    let mut activities = vec![Activity::Producer { next: 1 }; producers as usize];
    activities.extend(vec![Activity::Consumer { sum: 0 }; consumers as usize]);
    let mut world = World {
        ready: (0..activities.len()).collect(),
        activities,
        buffer: VecDeque::with_capacity(SIZE),
        full: VecDeque::new(),
        empty: VecDeque::new(),
        items,
    };
    while let Some(me) = world.ready.pop_front() {
        match world.activities[me] {
            Activity::Producer { next } => world.produce(me, next),
            Activity::Consumer { sum } => world.consume(me, sum),
        }
    }
    let sum = |activity: &Activity| match activity {
        Activity::Consumer { sum } => *sum,
        Activity::Producer { .. } => 0,
    };
    world.activities.iter().map(sum).sum()
}

impl World {
    /// Runs until the buffer is full, or all is produced.
    fn produce(&mut self, me: usize, mut next: u64) {
        while next <= self.items && self.buffer.len() < SIZE {
            self.buffer.push_back(next);
            next += 1;
            self.ready.extend(self.empty.pop_front());
        }
        if next <= self.items {
            self.full.push_back(me);
        }
        self.activities[me] = Activity::Producer { next };
    }

    /// Runs until the buffer is empty. A consumer that waits when all is produced has nothing left
    /// to do.
    fn consume(&mut self, me: usize, mut sum: u64) {
        while let Some(item) = self.buffer.pop_front() {
            sum += item;
            self.ready.extend(self.full.pop_front());
        }
        self.empty.push_back(me);
        self.activities[me] = Activity::Consumer { sum };
    }
}
