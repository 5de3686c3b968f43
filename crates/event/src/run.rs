//! Running the loop: descriptors, timers, then turns, for ever.
//!
//! ```text
//! 1  serve every descriptor the host reported
//! 2  fire every timer that is due
//! 3  nothing queued: wait, until the next deadline at most; go to 1
//! 4  else run turns: 64 of them or 50 us, whichever is first
//! 5  look at the descriptors without waiting; go to 1
//! ```
//! The poll in step 5 is a system call and costs more than most turns, hence the batch. In a
//! simulation the batch is a round: each suspended turn for a slice, and each event that is queued.

use std::io;
use std::time::Duration;

use tidemill_stdx::log::Level;
use tidemill_stdx::{marks, say};

use crate::Time;
use crate::event_loop::{Loop, Outcome, Task};
use crate::host::{Slice, Spent, Wait, Wake};
use crate::owner::Owner;
use crate::queue::Next;
use crate::scope::Scope;
use crate::time::nanos;
use crate::turn::{Meter, Turn};

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Trace;

/// Turns between two polls of the descriptors.
const BATCH_TURNS: usize = 64;
/// Time between two polls of the descriptors.
const BATCH_SPAN: Duration = Duration::from_micros(50);

impl<W: 'static> Loop<W> {
    /// Runs until stopped, or until nothing is left to do.
    pub fn run(&mut self, world: &mut W) -> Outcome {
        self.run_to(world, Until::Idle)
    }

    /// Runs until `end`: everything due by then has happened, and the clock has reached it.
    pub fn run_until(&mut self, world: &mut W, end: Time) -> Outcome {
        self.run_to(world, Until::Reached(end))
    }

    /// Runs what is due by `last`, and leaves the clock where that has brought it.
    pub fn run_through(&mut self, world: &mut W, last: Time) -> Outcome {
        self.run_to(world, Until::Last(last))
    }

    /// When something is due next: now, if something is queued; nothing if that cannot be known,
    /// as the host waits for others.
    pub fn next_due(&mut self) -> Option<Time> {
        if !self.queue.is_idle() {
            return Some(self.now);
        }
        let arrival = self.host.sim().and_then(|sim| sim.next_arrival());
        let due = self.timers.next().into_iter().chain(arrival).min()?;
        Some(due.max(self.now))
    }

    /// As [`Loop::run_until`], but [`Outcome::Stopped`] as soon as `steps` steps were run and not
    /// all that is due by `end` has happened: calling it again continues. For loops embedded in
    /// another one.
    pub fn run_within(&mut self, world: &mut W, end: Time, steps: u64) -> Outcome {
        if self.running {
            return Outcome::Failed(runs_already());
        }
        self.running = true;
        self.stopping = false;
        let outcome = self.rounds_within(world, end, self.stats.steps.saturating_add(steps));
        self.enter(world, Scope::LOOP);
        self.running = false;
        outcome
    }

    fn rounds_within(&mut self, world: &mut W, end: Time, steps_end: u64) -> Outcome {
        loop {
            let wait = self.may_wait(Some(end));
            if let Err(error) = self.poll(world, wait) {
                return Outcome::Failed(error);
            }
            self.turns(world, 1);
            let is_quiet = self.is_quiet(wait);
            if is_quiet && self.now >= end {
                return Outcome::Reached;
            }
            let stopping = self.stopping || self.must_stop();
            if stopping || !is_quiet && self.stats.steps >= steps_end {
                return Outcome::Stopped;
            }
        }
    }

    /// Serves what is ready without waiting and runs at most one turn or one slice of it; false
    /// if there was nothing to do. For tests that check the state between turns.
    pub fn step(&mut self, world: &mut W) -> io::Result<bool> {
        let before = (self.stats.served, self.stats.timers, self.stats.remote);
        self.poll(world, Wait::Poll)?;
        let ran = self.turns(world, 1);
        self.enter(world, Scope::LOOP);
        Ok(ran || before != (self.stats.served, self.stats.timers, self.stats.remote))
    }

    fn run_to(&mut self, world: &mut W, until: Until) -> Outcome {
        if self.running {
            return Outcome::Failed(runs_already());
        }
        self.running = true;
        self.stopping = false;
        self.stop_at = None;
        let outcome = self.rounds(world, until);
        self.enter(world, Scope::LOOP);
        self.running = false;
        outcome
    }

    fn rounds(&mut self, world: &mut W, until: Until) -> Outcome {
        loop {
            if self.stopping || self.must_stop() {
                return Outcome::Stopped;
            }
            if self.stop_at.is_some_and(|at| self.next_due().is_none_or(|due| due > at)) {
                return Outcome::Stopped;
            }
            match until {
                Until::Idle if self.is_exhausted() => return Outcome::Idle,
                Until::Last(last) if self.next_due().is_none_or(|due| due > last) => {
                    return Outcome::Reached;
                }
                _ => {}
            }
            let wait = self.may_wait(until.end());
            if let Err(error) = self.poll(world, wait) {
                return Outcome::Failed(error);
            }
            match self.host.sim() {
                Some(_) => self.round(world),
                None => drop(self.turns(world, BATCH_TURNS)),
            }
            if until.end().is_some_and(|end| self.is_past(end, wait)) {
                return Outcome::Reached;
            }
        }
    }

    /// Whether `end` has come. What is due exactly then still happens first, and what it causes
    /// at that very time; a flood that outlasts it does not hold the loop back.
    fn is_past(&self, end: Time, waited: Wait) -> bool {
        self.now > end || self.now == end && self.is_quiet(waited)
    }

    /// Whether nothing is left to do at this time.
    fn is_quiet(&self, waited: Wait) -> bool {
        self.queue.is_idle()
            && waited == Wait::Poll
            && self.timers.next().is_none_or(|at| at > self.now)
    }

    /// Whether nothing is queued and nothing can arrive.
    fn is_exhausted(&self) -> bool {
        self.queue.is_idle()
            && self.timers.armed() == 0
            && !self.has_remotes()
            && self.host.is_idle()
    }

    /// The longest that the next poll may wait: not at all if a turn could run instead.
    fn may_wait(&self, end: Option<Time>) -> Wait {
        if !self.queue.is_idle() {
            return Wait::Poll;
        }
        let deadline = match (self.timers.next(), end) {
            (Some(at), Some(end)) => at.min(end),
            (Some(at), None) | (None, Some(at)) => at,
            (None, None) => return Wait::Forever,
        };
        if deadline <= self.now { Wait::Poll } else { Wait::Until(deadline) }
    }

    /// Steps 1 to 3 and 5: polls the host, serves descriptors, fires timers.
    fn poll(&mut self, world: &mut W, wait: Wait) -> io::Result<()> {
        match wait {
            Wait::Poll => self.stats.polls += 1,
            _ => self.stats.waits += 1,
        }
        let (steps, of_one) = (std::mem::take(&mut self.steps), self.instant.most(self.now));
        self.host.spent(Spent { steps, of_one });
        let mut ready = std::mem::take(&mut self.ready);
        let wake = self.host.wait(wait, &mut ready);
        self.read_clock();
        self.wall = None;
        for report in ready.drain(..) {
            self.serve(world, report);
        }
        self.ready = ready;
        self.stats.interrupts += u64::from(wake? == Wake::Interrupted);
        self.fire_timers(world);
        self.take_remote();
        Ok(())
    }

    fn read_clock(&mut self) {
        self.now = self.host.now();
    }

    /// Step 4 in a simulation: a round of turns.
    fn round(&mut self, world: &mut W) {
        let slice = self.host.slice();
        self.queue.begin_round();
        while !self.stopping && !self.must_stop() {
            marks::leave();
            let Some(next) = self.queue.next_in_round() else { return };
            if self.enter(world, self.known(next.owner()).scope) {
                self.run_slice(world, next, slice);
            }
        }
    }

    /// Step 4: at most `turns` turns; whether there was any.
    fn turns(&mut self, world: &mut W, turns: usize) -> bool {
        let began = self.now;
        let slice = self.host.slice();
        let limit = match slice {
            Slice::Span(span) => nanos(span),
            Slice::Steps(steps) => steps,
        };
        for count in 0..turns {
            if self.stopping || self.now - began >= BATCH_SPAN || self.must_stop() {
                return count > 0;
            }
            marks::leave();
            let Some(next) = self.queue.next(limit) else { return count > 0 };
            if !self.enter(world, self.known(next.owner()).scope) {
                continue;
            }
            if !self.run_slice(world, next, slice) {
                // A whole slice is used: time to poll.
                return true;
            }
        }
        true
    }

    /// Starts or resumes a turn and runs it to its end, or, for false, the end of its slice.
    fn run_slice(&mut self, world: &mut W, next: Next<Task<W>>, slice: Slice) -> bool {
        let began = self.now;
        let mut meter = Meter::new(slice, began);
        self.in_turn = true;
        match next {
            Next::Start(event) => {
                let kind = usize::from(self.known(event.owner).kind);
                let delay = &mut self.stats.kinds[kind].delay_max;
                *delay = (*delay).max(began - event.queued);
                self.turn.begin(event.owner, began);
                event.task.run(world, self);
                meter.add(1 + std::mem::take(&mut self.charged));
            }
            Next::Resume(turn) => self.turn = *turn,
        }
        let finished = self.quiesce(world, &mut meter);
        self.in_turn = false;
        self.read_clock();
        let elapsed = nanos(self.now - began);
        self.instant.add(self.scope, self.turn.owner(), (began, meter.steps()));
        self.steps += meter.steps();
        self.stats.steps += meter.steps();
        self.turn.elapsed_ns += elapsed;
        self.turn.steps += meter.steps();
        if finished {
            self.count_turn();
            self.queue.charge(match slice {
                Slice::Span(_) => elapsed,
                Slice::Steps(_) => meter.steps(),
            });
        } else {
            self.stats.suspensions += 1;
            say!(Trace, "event", "a turn is suspended after {} steps", self.turn.steps);
            let rest = std::mem::replace(&mut self.turn, Turn::new(Owner::LOOP, self.now));
            self.queue.suspend(Box::new(rest));
        }
        finished
    }

    /// Runs deferred calls and actions; false if the slice ended before they did.
    fn quiesce(&mut self, world: &mut W, meter: &mut Meter) -> bool {
        while self.turn.len() > 0 {
            if self.turn.len() > self.limits.calls {
                self.stats.turns_abandoned += 1;
                let dropped = self.turn.abandon() as u64;
                self.stats.dropped_calls += dropped;
                say!(Error, "event", "a turn is given up with {dropped} calls left");
                return true;
            }
            if meter.is_over(&mut *self.host) || self.must_stop() {
                return false;
            }
            let Some(task) = self.turn.next() else { break };
            task.run(world, self);
            meter.add(1 + std::mem::take(&mut self.charged));
        }
        true
    }

    fn count_turn(&mut self) {
        self.stats.turns += 1;
        let kind = usize::from(self.known(self.turn.owner()).kind);
        let kind = &mut self.stats.kinds[kind];
        let elapsed = Duration::from_nanos(self.turn.elapsed_ns);
        kind.turns += 1;
        kind.steps += self.turn.steps;
        kind.total += elapsed;
        kind.longest = kind.longest.max(elapsed);
        kind.steps_max = kind.steps_max.max(self.turn.steps);
    }
}

/// The limit of a run.
#[derive(Clone, Copy)]
enum Until {
    /// Until nothing is left to do.
    Idle,
    /// Until this time, which the clock reaches.
    Reached(Time),
    /// Until the next that is due is later than this.
    Last(Time),
}

impl Until {
    /// The latest that it may wait for.
    fn end(self) -> Option<Time> {
        match self {
            Until::Reached(end) => Some(end),
            Until::Idle | Until::Last(_) => None,
        }
    }
}

fn runs_already() -> io::Error {
    io::Error::new(io::ErrorKind::Deadlock, "the loop is already running")
}
