//! The loop: descriptors, timers, then turns, for ever.
//!
//! ```text
//! 1  serve every descriptor the host reported
//! 2  fire every timer that is due
//! 3  nothing queued: wait, until the next deadline at most; go to 1
//! 4  else run turns: 64 of them or 50 us, whichever is first
//! 5  look at the descriptors without waiting; go to 1
//! ```
//! The look in step 5 is a system call and costs more than most turns, hence the batch.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidemill_stdx::log::Level;
use tidemill_stdx::{marks, say};

use crate::host::{Host, Ready, Slice, Wait, Wake};
use crate::queue::{Event, Full, Next, Owner, Queue};
use crate::remote::Inbox;
use crate::scope::{Scope, Switch};
use crate::stats::{KindStats, LoopStats};
use crate::task::Task;
use crate::time::nanos;
use crate::timer::Timers;
use crate::turn::{Meter, Turn};
use crate::watch::Watches;
use crate::{Time, alarm};

/// What this file says at most.
const CEILING: Level = Level::Trace;

/// Turns between two looks at the descriptors.
const BATCH_TURNS: usize = 64;
/// Time between two looks at the descriptors.
const BATCH_SPAN: Duration = Duration::from_micros(50);
/// Timers fired at a stretch.
pub(crate) const BATCH_TIMERS: usize = 1024;

/// How much a loop may hold.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Events that wait for their turn; [`Loop::event`] refuses more.
    pub events: usize,
    /// Calls and actions that wait in one turn. A turn that passes it is cut off: what it still
    /// had queued is dropped and counted, for dropping one call would leave half a fixed point.
    pub calls: usize,
    /// Closures from other threads that wait.
    pub remote: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { events: 1 << 20, calls: 1 << 24, remote: 1 << 16 }
    }
}

/// Why [`Loop::run`] returned.
#[derive(Debug)]
pub enum Outcome {
    /// [`Loop::stop`] was called.
    Stopped,
    /// Nothing is left that could ever happen.
    Idle,
    /// The time given to [`Loop::run_until`] has come.
    Reached,
    /// The host cannot wait any more, or `run` was called from inside the loop.
    Failed(io::Error),
}

/// An event loop over a world `W`, which every closure gets by reference together with the loop.
///
/// See the crate's documentation for a tour.
pub struct Loop<W> {
    pub(crate) host: Box<dyn Host>,
    queue: Queue<W>,
    pub(crate) turn: Turn<W>,
    pub(crate) in_turn: bool,
    pub(crate) timers: Timers<alarm::Timer<W>>,
    pub(crate) watches: Watches<W>,
    pub(crate) inbox: Option<Inbox<W>>,
    pub(crate) stats: LoopStats,
    pub(crate) limits: Limits,
    /// What is known of each owner, by its number.
    owners: Vec<Known>,
    /// The scope of what runs.
    pub(crate) scope: Scope,
    /// Turns the world to a scope.
    pub(crate) switch: Option<Switch<W>>,
    /// The clock when it was last read.
    pub(crate) now: Time,
    /// The wall clock at a time, once asked for since the host was last looked at.
    wall: Option<(Time, i64)>,
    /// Steps, handlers included, since the host was last told.
    pub(crate) steps: u64,
    /// What the running turn has charged, not yet counted.
    charged: u64,
    running: bool,
    stopping: bool,
    /// Stops it from another thread or a signal handler.
    stop_flag: Option<Arc<AtomicBool>>,
    ready: Vec<Ready>,
}

/// An owner.
#[derive(Copy, Clone)]
struct Known {
    /// An index into [`LoopStats::kinds`].
    kind: u16,
    scope: Scope,
}

/// Owner 0, and owners that the loop has not given out.
const UNKNOWN: Known = Known { kind: 0, scope: Scope::LOOP };

impl<W: 'static> Loop<W> {
    /// A loop on `host` with the default limits.
    pub fn new(host: Box<dyn Host>) -> Loop<W> {
        Loop::with_limits(host, Limits::default())
    }

    /// A loop on `host`.
    pub fn with_limits(mut host: Box<dyn Host>, limits: Limits) -> Loop<W> {
        let now = host.now();
        let kinds = vec![KindStats { kind: "loop".into(), ..KindStats::default() }];
        Loop {
            host,
            queue: Queue::new(limits.events),
            turn: Turn::new(Owner::LOOP, now),
            in_turn: false,
            timers: Timers::new(),
            watches: Watches::new(),
            inbox: None,
            stats: LoopStats { kinds, ..LoopStats::default() },
            limits,
            owners: vec![UNKNOWN],
            scope: Scope::LOOP,
            switch: None,
            now,
            wall: None,
            steps: 0,
            charged: 0,
            running: false,
            stopping: false,
            stop_flag: None,
            ready: Vec::new(),
        }
    }

    /// A new owner of a kind such as `"node"`: turns are counted by kind. Its turns are of the
    /// [scope](Scope) that it is made in, whoever queues them.
    pub fn owner(&mut self, kind: &str) -> Owner {
        let known = self.stats.kinds.iter().position(|stats| stats.kind == kind);
        let kind = known.unwrap_or_else(|| {
            self.stats.kinds.push(KindStats { kind: kind.into(), ..KindStats::default() });
            self.stats.kinds.len() - 1
        });
        let owner = Owner(self.owners.len() as u32);
        // Kinds beyond 2^16 are counted under the loop's own.
        let kind = u16::try_from(kind).unwrap_or(0);
        self.owners.push(Known { kind, scope: self.scope });
        owner
    }

    /// Queues an event: the start of a turn of `owner`. Events of one owner run in order.
    pub fn event(
        &mut self,
        owner: Owner,
        f: impl FnOnce(&mut W, &mut Loop<W>) + 'static,
    ) -> Result<(), Full> {
        self.enqueue(owner, Task::new(f))
    }

    fn enqueue(&mut self, owner: Owner, task: Task<W>) -> Result<(), Full> {
        let queued = self.queue.push(Event { owner, queued: self.now, task });
        match queued {
            Ok(()) => {
                let events = self.queue.events();
                self.stats.queue_high_water = self.stats.queue_high_water.max(events);
            }
            Err(Full) => {
                self.stats.dropped_events += 1;
                say!(Debug, "event", "the queue is full: an event is dropped");
            }
        }
        queued
    }

    /// Defers a call to later in the running turn. Outside a turn, in the handler of a
    /// descriptor or timer, there is none to join: it becomes an event of [`Owner::LOOP`].
    pub fn dpc(&mut self, f: impl FnOnce(&mut W, &mut Loop<W>) + 'static) {
        if self.in_turn {
            self.turn.defer(Task::new(f));
        } else {
            self.event_in_scope(f);
        }
    }

    /// Defers a call to the end of the running turn, after all deferred calls; those it defers
    /// itself run before the next action. Outside a turn as [`Loop::dpc`].
    pub fn action(&mut self, f: impl FnOnce(&mut W, &mut Loop<W>) + 'static) {
        if self.in_turn {
            self.turn.act(Task::new(f));
        } else {
            self.event_in_scope(f);
        }
    }

    /// Queues an event of nobody, of the scope that runs.
    fn event_in_scope(&mut self, f: impl FnOnce(&mut W, &mut Loop<W>) + 'static) {
        let task = match self.scope {
            Scope::LOOP => Task::new(f),
            scope => Task::new(move |world: &mut W, lp: &mut Loop<W>| {
                lp.within(world, scope, f);
            }),
        };
        // A full queue has been counted; there is nobody to tell.
        let _ = self.enqueue(Owner::LOOP, task);
    }

    /// Drops what is queued for `owner`, its suspended turn included. Not its timers and
    /// watches: those have no owner.
    pub fn discard(&mut self, owner: Owner) {
        self.stats.discarded_events += self.queue.discard(owner) as u64;
    }

    /// Counts `steps` of work done inside one closure against the slice of its turn, for engines
    /// that run many things at a stretch.
    pub fn charge(&mut self, steps: u64) {
        self.charged = self.charged.saturating_add(steps);
    }

    /// How long a turn may run before others get theirs.
    pub fn slice(&self) -> Slice {
        self.host.slice()
    }

    /// The time: the same throughout a turn, even one that is suspended meanwhile.
    pub fn now(&self) -> Time {
        if self.in_turn { self.turn.now } else { self.now }
    }

    /// The wall clock in nanoseconds since the Unix epoch; the same throughout a turn. It is read
    /// once between two looks at the host, and the loop's own clock tells how far it has gone on.
    pub fn wall(&mut self) -> i64 {
        if let (true, Some(wall)) = (self.in_turn, self.turn.wall) {
            return wall;
        }
        let host = &mut self.host;
        let (at, wall) = *self.wall.get_or_insert_with(|| (host.now(), host.wall_ns()));
        let now = self.now();
        let wall = wall.saturating_add(now.0.wrapping_sub(at.0).cast_signed());
        if self.in_turn {
            self.turn.wall = Some(wall);
        }
        wall
    }

    /// The next random number of the program.
    pub fn random(&mut self) -> u64 {
        self.host.random()
    }

    /// When the next timer is due.
    pub fn next_timer(&self) -> Option<Time> {
        self.timers.next()
    }

    /// How long a poll may take that would take so long by the clock: no time where slices are
    /// counted, for how often it looks would be different each time.
    pub fn patience(&self, span: Duration) -> Duration {
        match self.host.slice() {
            Slice::Span(_) => span,
            Slice::Steps(_) => Duration::ZERO,
        }
    }

    /// The host, for its network.
    pub fn host(&mut self) -> &mut dyn Host {
        &mut *self.host
    }

    /// The counters.
    pub fn stats(&self) -> &LoopStats {
        &self.stats
    }

    /// Makes `run` return after the current turn or handler. What is queued stays.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Makes `run` return soon after `flag` becomes true, also in the middle of a turn, which then
    /// stays suspended: for signals, which nothing that a program does may hold up. A loop that
    /// waits for its host does not see it.
    pub fn stop_when(&mut self, flag: Arc<AtomicBool>) {
        self.stop_flag = Some(flag);
    }

    fn is_told_to_stop(&self) -> bool {
        // Relaxed: a wish, which nothing else is published with.
        self.stop_flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Runs until stopped, or until nothing is left to do.
    pub fn run(&mut self, world: &mut W) -> Outcome {
        self.run_to(world, None)
    }

    /// Runs until `end`: everything due by then has happened, and the clock has reached it.
    pub fn run_until(&mut self, world: &mut W, end: Time) -> Outcome {
        self.run_to(world, Some(end))
    }

    /// As [`Loop::run_until`], but [`Outcome::Stopped`] as soon as so many steps were run and not
    /// all that is due by `end` has happened: calling it again goes on. For loops inside something
    /// else, which has other things to do.
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
            if let Err(error) = self.look(world, wait) {
                return Outcome::Failed(error);
            }
            self.turns(world, 1);
            let is_quiet = self.is_quiet(wait);
            if is_quiet && self.now >= end {
                return Outcome::Reached;
            }
            let stopping = self.stopping || self.is_told_to_stop();
            if stopping || !is_quiet && self.stats.steps >= steps_end {
                return Outcome::Stopped;
            }
        }
    }

    /// Serves what is ready without waiting and runs at most one turn or one slice of it; false
    /// if there was nothing to do. For tests that look between turns.
    pub fn step(&mut self, world: &mut W) -> io::Result<bool> {
        let before = (self.stats.served, self.stats.timers, self.stats.remote);
        self.look(world, Wait::Poll)?;
        let ran = self.turns(world, 1);
        self.enter(world, Scope::LOOP);
        Ok(ran || before != (self.stats.served, self.stats.timers, self.stats.remote))
    }

    fn run_to(&mut self, world: &mut W, end: Option<Time>) -> Outcome {
        if self.running {
            return Outcome::Failed(runs_already());
        }
        self.running = true;
        self.stopping = false;
        let outcome = self.rounds(world, end);
        self.enter(world, Scope::LOOP);
        self.running = false;
        outcome
    }

    fn rounds(&mut self, world: &mut W, end: Option<Time>) -> Outcome {
        loop {
            if self.stopping || self.is_told_to_stop() {
                return Outcome::Stopped;
            }
            if end.is_none() && self.is_exhausted() {
                return Outcome::Idle;
            }
            let wait = self.may_wait(end);
            if let Err(error) = self.look(world, wait) {
                return Outcome::Failed(error);
            }
            self.turns(world, BATCH_TURNS);
            if end.is_some_and(|end| self.is_past(end, wait)) {
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

    /// Whether nothing is queued and nothing can come that would be.
    fn is_exhausted(&self) -> bool {
        self.queue.is_idle()
            && self.timers.armed() == 0
            && !self.has_remotes()
            && self.host.is_idle()
    }

    /// The longest the next look may wait: not at all if a turn could run instead.
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

    /// Steps 1 to 3 and 5: asks the host, serves descriptors, fires timers.
    fn look(&mut self, world: &mut W, wait: Wait) -> io::Result<()> {
        match wait {
            Wait::Poll => self.stats.polls += 1,
            _ => self.stats.waits += 1,
        }
        self.host.spent(std::mem::take(&mut self.steps));
        let mut ready = std::mem::take(&mut self.ready);
        let wake = self.host.wait(wait, &mut ready);
        self.stats.host = self.host.stats();
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

    /// Step 4: at most `turns` turns; whether there was any.
    fn turns(&mut self, world: &mut W, turns: usize) -> bool {
        let began = self.now;
        let slice = self.host.slice();
        let limit = match slice {
            Slice::Span(span) => nanos(span),
            Slice::Steps(steps) => steps,
        };
        for count in 0..turns {
            if self.stopping || self.now - began >= BATCH_SPAN || self.is_told_to_stop() {
                return count > 0;
            }
            marks::leave();
            let Some(next) = self.queue.next(limit) else { return count > 0 };
            if !self.enter(world, self.known(next.owner()).scope) {
                continue;
            }
            if !self.run_slice(world, next, slice) {
                // A whole slice is gone: time to look.
                return true;
            }
        }
        true
    }

    /// Starts or resumes a turn and runs it to its end, or, for false, the end of its slice.
    fn run_slice(&mut self, world: &mut W, next: Next<W>, slice: Slice) -> bool {
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
            Next::Resume(turn) => self.turn = turn,
        }
        let finished = self.quiesce(world, &mut meter);
        self.in_turn = false;
        self.read_clock();
        let elapsed = nanos(self.now - began);
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
            self.queue.suspend(rest);
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
            if meter.is_over(&mut *self.host) || self.is_told_to_stop() {
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

    fn known(&self, owner: Owner) -> Known {
        self.owners.get(owner.0 as usize).copied().unwrap_or(UNKNOWN)
    }
}

fn runs_already() -> io::Error {
    io::Error::new(io::ErrorKind::Deadlock, "the loop is already running")
}
