//! The loop and its state; `run` executes it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use crate::Time;
use crate::host::{Host, HostStats, Slice};
use crate::inbox::Inbox;
use crate::instant::Instant;
use crate::owner::Owner;
use crate::queue::{Event, Full, Queue};
use crate::scope::{Scope, Switch};
use crate::source::{Interest, Ready};
use crate::stats::{KindStats, LoopStats};
use crate::task;
use crate::timer::{TimerId, Timers};
use crate::timer_entry::TimerEntry;
use crate::turn::Turn;
use crate::watches::{WatchId, Watches};

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Trace;

/// A closure that runs once.
pub(crate) type Task<W> = task::Task<W, Loop<W>>;
/// The handler of a timer that may fire again.
pub(crate) type TimerHandler<W> = Box<dyn FnMut(&mut W, &mut Loop<W>, TimerId)>;
/// A closure from another thread.
pub(crate) type Posted<W> = Box<dyn FnOnce(&mut W, &mut Loop<W>) + Send>;
pub(crate) type OnReady<W> = Box<dyn FnMut(&mut W, &mut Loop<W>, WatchId)>;
type OnError<W> = Box<dyn FnMut(&mut W, &mut Loop<W>, WatchId, io::Error)>;

/// The limits of a loop.
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
    /// Nothing is queued, and nothing can arrive any more.
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
    pub(crate) queue: Queue<Task<W>>,
    pub(crate) turn: Turn<Task<W>>,
    pub(crate) in_turn: bool,
    pub(crate) timers: Timers<TimerEntry<Task<W>, TimerHandler<W>>>,
    pub(crate) watches: Watches<Handlers<W>>,
    pub(crate) inbox: Option<Inbox<Posted<W>>>,
    pub(crate) stats: LoopStats,
    pub(crate) limits: Limits,
    /// The kind and scope of each owner, by its number.
    pub(crate) owners: Vec<OwnerEntry>,
    /// The current scope.
    pub(crate) scope: Scope,
    /// Switches the world to a scope.
    pub(crate) switch: Option<Switch<W>>,
    /// The clock when it was last read.
    pub(crate) now: Time,
    /// The wall clock at a time, if read since the host was last polled.
    pub(crate) wall: Option<(Time, i64)>,
    /// Steps, handlers included, last reported to the host.
    pub(crate) steps: u64,
    /// The steps of each scope since the clock has advanced.
    pub(crate) instant: Instant,
    /// Steps that the running turn has charged, not yet counted.
    pub(crate) charged: u64,
    pub(crate) running: bool,
    pub(crate) stopping: bool,
    /// When it stops, once all that is due by then has happened.
    pub(crate) stop_at: Option<Time>,
    /// Stops it from another thread or a signal handler.
    stop_flag: Option<Arc<AtomicBool>>,
    pub(crate) ready: Vec<Ready>,
}

/// An owner.
#[derive(Copy, Clone)]
pub(crate) struct OwnerEntry {
    /// An index into [`LoopStats::kinds`].
    pub(crate) kind: u16,
    pub(crate) scope: Scope,
}

/// Owner 0, and owners that the loop has not given out.
const UNKNOWN: OwnerEntry = OwnerEntry { kind: 0, scope: Scope::LOOP };

/// The functions to call when a watched source is ready or fails.
///
/// Handlers are bound when the watch begins, so there is no moment at which a source could be
/// ready without a handler to call.
pub struct Handlers<W> {
    pub(crate) read: Option<OnReady<W>>,
    pub(crate) write: Option<OnReady<W>>,
    pub(crate) error: Option<OnError<W>>,
}

impl<W> Default for Handlers<W> {
    fn default() -> Handlers<W> {
        Handlers::new()
    }
}

impl<W> Handlers<W> {
    /// No handlers yet.
    pub fn new() -> Handlers<W> {
        Handlers { read: None, write: None, error: None }
    }

    /// Calls `f` when the source can be read, or is at its end.
    pub fn read(mut self, f: impl FnMut(&mut W, &mut Loop<W>, WatchId) + 'static) -> Self {
        self.read = Some(Box::new(f));
        self
    }

    /// Calls `f` when the source can be written.
    pub fn write(mut self, f: impl FnMut(&mut W, &mut Loop<W>, WatchId) + 'static) -> Self {
        self.write = Some(Box::new(f));
        self
    }

    /// Calls `f` when the source fails. If it failed for good (its descriptor was closed, or
    /// its other side was), the watch has ended by then and the id names nothing any more.
    pub fn error(
        mut self,
        f: impl FnMut(&mut W, &mut Loop<W>, WatchId, io::Error) + 'static,
    ) -> Self {
        self.error = Some(Box::new(f));
        self
    }

    pub(crate) fn covers(&self, interest: Interest) -> bool {
        (!interest.reads() || self.read.is_some()) && (!interest.writes() || self.write.is_some())
    }
}

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
            instant: Instant::default(),
            charged: 0,
            running: false,
            stopping: false,
            stop_at: None,
            stop_flag: None,
            ready: Vec::new(),
        }
    }

    /// A new owner of a kind such as `"node"`: turns are counted by kind. Its turns run in the
    /// [scope](Scope) in which it was made, wherever they are queued.
    pub fn owner(&mut self, kind: &str) -> Owner {
        let known = self.stats.kinds.iter().position(|stats| stats.kind == kind);
        let kind = known.unwrap_or_else(|| {
            self.stats.kinds.push(KindStats { kind: kind.into(), ..KindStats::default() });
            self.stats.kinds.len() - 1
        });
        let owner = Owner(self.owners.len() as u32);
        // Kinds beyond 2^16 are counted under the loop's own.
        let kind = u16::try_from(kind).unwrap_or(0);
        self.owners.push(OwnerEntry { kind, scope: self.scope });
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

    /// Queues an event of [`Owner::LOOP`] in the current scope.
    fn event_in_scope(&mut self, f: impl FnOnce(&mut W, &mut Loop<W>) + 'static) {
        let task = match self.scope {
            Scope::LOOP => Task::new(f),
            scope => Task::new(move |world: &mut W, lp: &mut Loop<W>| {
                lp.within(world, scope, f);
            }),
        };
        // A full queue has counted the drop.
        let _ = self.enqueue(Owner::LOOP, task);
    }

    /// Drops what is queued for `owner`, its suspended turn included. Not its timers and
    /// watches: those have no owner.
    pub fn discard(&mut self, owner: Owner) {
        self.stats.discarded_events += self.queue.discard(owner) as u64;
    }

    /// Counts `steps` of work done inside one closure against the slice of its turn, for engines
    /// that run many steps in one closure.
    pub fn charge(&mut self, steps: u64) {
        self.charged = self.charged.saturating_add(steps);
    }

    /// The time that a turn may run before others get theirs.
    pub fn slice(&self) -> Slice {
        self.host.slice()
    }

    /// The time: the same throughout a turn, even one that is suspended meanwhile.
    pub fn now(&self) -> Time {
        if self.in_turn { self.turn.now } else { self.now }
    }

    /// The wall clock in nanoseconds since the Unix epoch; the same throughout a turn. It is read
    /// once between two polls of the host, and advanced by the loop's own clock.
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

    /// How long a poll may take that takes `span` where slices are measured by the clock. Where
    /// they are counted it is zero: the number of polls would differ from run to run.
    pub fn poll_span(&self, span: Duration) -> Duration {
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

    /// The counters of the host. They are read when asked for: the kernel has one for each port,
    /// and each costs a system call.
    pub fn host_stats(&self) -> HostStats {
        self.host.stats()
    }

    /// Makes `run` return after the current turn or handler. What is queued stays.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Makes `run` return when all that is due now has happened, for all owners: where the end must
    /// not depend on the order of what happens at one time.
    pub fn stop_after_now(&mut self) {
        self.stop_at.get_or_insert(self.now);
    }

    /// Makes `run` return soon after `flag` becomes true, also in the middle of a turn, which then
    /// stays suspended: for signals, which no program may delay. A loop that waits for its host
    /// does not see the flag.
    pub fn stop_when(&mut self, flag: Arc<AtomicBool>) {
        self.stop_flag = Some(flag);
    }

    pub(crate) fn must_stop(&self) -> bool {
        // Relaxed: the flag publishes nothing but itself.
        self.stop_flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn known(&self, owner: Owner) -> OwnerEntry {
        self.owners.get(owner.0 as usize).copied().unwrap_or(UNKNOWN)
    }
}
