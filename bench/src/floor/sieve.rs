//! Primes up to a limit: each has a filter, which starts the next one; 0 ends the numbers.

use std::collections::VecDeque;

use super::channel::Channel;

#[derive(Debug, Default)]
struct Filter {
    inbox: Channel,
    /// 0 before the first message.
    prime: u64,
    /// The message that did not fit into the next one's inbox: the filter waits in send.
    held: Option<u64>,
    /// It is in the list of filters that can continue.
    ready: bool,
}

struct World {
    filters: Vec<Filter>,
    ready: VecDeque<usize>,
}

pub fn run(limit: u64) -> u64 {
    let mut world = World { filters: vec![Filter::default()], ready: VecDeque::new() };
    for n in (2..=limit).chain([0]) {
        while !world.filters[0].inbox.send(n) {
            world.step();
        }
        world.wake(0);
    }
    while world.step() {}
    world.filters.len() as u64
}

impl World {
    fn wake(&mut self, filter: usize) {
        if !std::mem::replace(&mut self.filters[filter].ready, true) {
            self.ready.push_back(filter);
        }
    }

    /// Runs one filter until it waits; returns false if all wait.
    fn step(&mut self) -> bool {
        let Some(me) = self.ready.pop_front() else { return false };
        self.filters[me].ready = false;
        if let Some(held) = self.filters[me].held.take()
            && !self.pass_on(me, held)
        {
            return true;
        }
        while let Some(n) = self.filters[me].inbox.receive() {
            if me > 0 && self.filters[me - 1].held.is_some() {
                self.wake(me - 1);
            }
            let prime = self.filters[me].prime;
            if prime == 0 {
                self.filters[me].prime = n;
            } else if (n == 0 || n % prime != 0) && !self.pass_on(me, n) {
                break;
            }
        }
        true
    }

    /// Returns false if the message must wait for room.
    fn pass_on(&mut self, me: usize, n: u64) -> bool {
        let next = me + 1;
        if next == self.filters.len() {
            if n == 0 {
                return true;
            }
            self.filters.push(Filter::default());
        }
        if self.filters[next].inbox.send(n) {
            self.wake(next);
            return true;
        }
        self.filters[me].held = Some(n);
        false
    }
}
