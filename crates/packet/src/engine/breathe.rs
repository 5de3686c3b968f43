//! Breaths: by a loop, or by native code; and what to wait for when nothing moves.

use super::{Engine, Rest};
use crate::app::{Input, Status};

/// The result of breaths.
#[derive(Clone, Copy)]
struct Taken {
    breaths: u64,
    /// Of the last: something moved; a source may have more.
    moved: bool,
    is_ready: bool,
}

impl Engine {
    /// Takes one breath.
    pub fn breathe(&mut self) -> Rest {
        self.take(1, 1, u64::MAX).0
    }

    /// Takes `breaths` breaths, whether anything moves or not; returns the state after the last.
    pub fn breathe_times(&mut self, breaths: u64) -> Rest {
        self.take(breaths, breaths, u64::MAX).0
    }

    /// Takes breaths as long as something moves: at most `breaths`, and none after `packets`
    /// packets have been freed. Returns the state after the last, and the number of breaths.
    pub fn breathe_while_busy(&mut self, breaths: u64, packets: u64) -> (Rest, u64) {
        self.take(breaths, 1, packets)
    }

    /// Takes `breaths` at most, and after one in which nothing moved, only up to `idle`.
    fn take(&mut self, breaths: u64, idle: u64, packets: u64) -> (Rest, u64) {
        match self.stopwatch {
            None => self.take_unmeasured(breaths, idle, packets),
            Some(_) => self.take_measured(breaths, idle, packets),
        }
    }

    /// The same, while nobody reads the time that apps take.
    pub(super) fn take_unmeasured(&mut self, breaths: u64, idle: u64, packets: u64) -> (Rest, u64) {
        let freed_limit = self.common.pool.freed().saturating_add(packets);
        let mut count = 0;
        loop {
            self.prepare_breath();
            let left = breaths.max(1) - count;
            let taken = match &self.code {
                Some(code) => {
                    let breathe = code.breathe();
                    self.run(breathe, left, idle.saturating_sub(count), freed_limit)
                }
                None => self.dispatch(),
            };
            count += taken.breaths;
            self.stats.breaths += taken.breaths;
            let limit = if taken.moved { breaths } else { idle };
            if count >= limit || self.common.pool.freed() >= freed_limit {
                return (self.after(taken), count);
            }
        }
    }

    /// Does what is due before a breath.
    fn prepare_breath(&mut self) {
        if self.due_ns <= self.common.now_ns.get() {
            self.catch_up();
        }
        if self.is_stale {
            self.renew_code();
        }
    }

    /// One breath by the loop, prepared; returns the state after it, and whether something moved.
    pub(super) fn breathe_by_loop(&mut self) -> (Rest, bool) {
        self.prepare_breath();
        let taken = self.dispatch();
        self.stats.breaths += taken.breaths;
        (self.after(taken), taken.moved)
    }

    /// One breath by the loop.
    fn dispatch(&mut self) -> Taken {
        let born = self.common.pool.allocated();
        let (is_ready, mut moved) = (self.pull(), self.push());
        moved |= self.common.pool.allocated() != born;
        self.stats.breaths_busy += u64::from(moved);
        Taken { breaths: 1, moved, is_ready }
    }

    /// Breaths by native code.
    fn run(
        &mut self,
        breathe: crate::compiled::Breathe,
        breaths: u64,
        idle: u64,
        freed_limit: u64,
    ) -> Taken {
        let frame = self.frame.as_ptr();
        let (born, flags) = (self.common.pool.allocated(), self.flags.as_ptr().cast::<u8>());
        let this: *mut Engine = self;
        // SAFETY: the frame lives as long as the engine, and code that does not run yet has no
        // reference into it.
        let entered = unsafe { &mut *frame };
        (entered.engine, entered.born, entered.freed_limit) = (this, born, freed_limit);
        (entered.stop, entered.busy) = (0, 0);
        // SAFETY: the code was made of this graph: the states, rings, ports and flags that it knows
        // exist, and it reaches the engine by the frame only, from which `self` is not used
        // meanwhile.
        let breaths = unsafe { breathe(flags, breaths, idle) };
        // SAFETY: the frame is on this stack; the code has returned, so nothing writes it.
        let left = unsafe { &*frame };
        self.stats.breaths_busy += left.busy;
        Taken { breaths, moved: left.moved != 0, is_ready: left.ready != 0 }
    }

    /// The state after breaths.
    fn after(&self, taken: Taken) -> Rest {
        match taken.is_ready {
            _ if taken.moved => Rest::Busy,
            // A source that is ready and moves nothing finds its link full.
            true => Rest::Poll((self.due_ns != u64::MAX).then_some(self.due_ns)),
            false => self.rest(),
        }
    }

    /// Pulls every source that is awake; returns whether one of them may have more.
    fn pull(&mut self) -> bool {
        let (mut is_ready, lap) = (false, self.lap());
        for at in 0..self.pulls.len() {
            let index = self.pulls[at];
            let slot = &mut self.slots[index];
            if !slot.wake.is_set() {
                continue;
            }
            let Some(instance) = &mut slot.instance else { continue };
            if slot.bell.as_ref().is_some_and(|bell| !bell.rings()) {
                is_ready = true;
                continue;
            }
            let status = lap.of(&mut slot.breath_ns, || instance.call(instance.pull, &mut slot.io));
            if slot.pushes {
                // It may have taken what waits for it to be pushed.
                slot.waiting.set(slot.waits());
            }
            match status {
                Status::Ready | Status::Poll => is_ready = true,
                status => self.put_to_sleep(index, status),
            }
        }
        is_ready
    }

    pub(super) fn put_to_sleep(&mut self, index: usize, status: Status) {
        let slot = &mut self.slots[index];
        match status {
            Status::Failed => return self.failed(index),
            Status::Done => {
                slot.done = true;
                self.descriptors_changed = true;
            }
            Status::Until => {
                slot.wake_at_ns = slot.io.until_ns;
                self.due_ns = self.due_ns.min(slot.wake_at_ns);
            }
            _ => {}
        }
        // Packets under way to it would arrive without a further notification.
        let fed = slot.feeds.iter().any(|&link| !self.links[link].link.ring().is_empty());
        slot.wake.set(fed && status != Status::Done);
    }

    /// Lets every app push that has packets waiting; returns whether there was any. Checks the
    /// links themselves, and no flag: flags and code are compared with it.
    pub(super) fn push(&mut self) -> bool {
        let (mut moved, lap) = (false, self.lap());
        for at in 0..self.order.len() {
            let index = self.order[at];
            let slot = &mut self.slots[index];
            let is_waiting = |input: &Input| input.ring().is_some_and(|ring| !ring.is_empty());
            if !slot.pushes || !slot.io.inputs.iter().any(is_waiting) {
                continue;
            }
            let Some(instance) = &mut slot.instance else { continue };
            debug_assert!(
                slot.waiting.is_set(),
                "packets wait for {}, and no flag says so",
                slot.name
            );
            moved = true;
            if slot.is_sink {
                slot.io.note_oldest();
            }
            let (io, push) = (&mut slot.io, instance.push);
            if lap.of(&mut slot.breath_ns, || instance.call(push, io)) == Status::Failed {
                self.failed(index);
            } else {
                slot.waiting.set(slot.waits());
            }
        }
        moved
    }

    /// The event to wait for when nothing moved and no source is awake.
    fn rest(&self) -> Rest {
        if self.due_ns != u64::MAX && !self.is_finished() {
            return Rest::Until(self.due_ns);
        }
        if self.is_finished() { Rest::Finished } else { Rest::Asleep }
    }

    /// Whether nothing can arrive any more: sources are done, and packets have all arrived.
    fn is_finished(&self) -> bool {
        let done = |&index: &usize| self.slots[index].is_done();
        self.pulls.iter().all(done) && self.links.iter().all(|slot| slot.link.ring().is_empty())
    }

    /// Does what is due: ticks, restarts, ends of sleeps.
    #[cold]
    fn catch_up(&mut self) {
        let now_ns = self.common.now_ns.get();
        self.due_ns = u64::MAX;
        for index in 0..self.slots.len() {
            if self.slots[index].restart_at_ns <= now_ns {
                self.restart(index);
            }
            let slot = &mut self.slots[index];
            if slot.wake_at_ns <= now_ns {
                slot.wake_at_ns = u64::MAX;
                slot.wake.set(true);
            }
            if slot.tick_at_ns <= now_ns
                && let Some(instance) = &mut slot.instance
            {
                slot.tick_at_ns = now_ns.saturating_add(slot.tick_every_ns);
                if instance.call(instance.tick, &mut slot.io) == Status::Failed {
                    self.failed(index);
                } else {
                    // A tick may take packets from its inputs.
                    slot.waiting.set(slot.pushes && slot.waits());
                }
            }
            self.due_ns = self.due_ns.min(self.slots[index].due_ns());
        }
    }
}
