//! One turn: an event's closure, the calls it defers until none is left, then its actions.
//!
//! ```text
//! event ── dpc ── dpc ── ... ── action ── dpc ── dpc ── action ── ... ── done
//!              ^            ^                 ^            ^
//!              └────────────┴──── here it may be suspended ┘
//! ```
//! A turn is a fixed point: nothing from outside enters it, and while it runs it sees one time.
//! Calls deferred by an action run before the next action.

use std::collections::VecDeque;

use crate::Time;
use crate::host::{Host, Slice};
use crate::owner::Owner;
use crate::time::nanos;

/// The state of a turn between two closures, of type `T`.
pub(crate) struct Turn<T> {
    owner: Owner,
    /// The time of the turn, and the wall clock once it was read.
    pub(crate) now: Time,
    pub(crate) wall: Option<i64>,
    dpcs: VecDeque<T>,
    actions: VecDeque<T>,
    /// Over all its slices.
    pub(crate) elapsed_ns: u64,
    pub(crate) steps: u64,
}

impl<T> Turn<T> {
    pub(crate) fn new(owner: Owner, now: Time) -> Turn<T> {
        Turn {
            owner,
            now,
            wall: None,
            dpcs: VecDeque::new(),
            actions: VecDeque::new(),
            elapsed_ns: 0,
            steps: 0,
        }
    }

    /// Makes a finished turn the next one, keeping the room of its queues.
    pub(crate) fn begin(&mut self, owner: Owner, now: Time) {
        self.owner = owner;
        self.now = now;
        self.wall = None;
        self.elapsed_ns = 0;
        self.steps = 0;
    }

    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    pub(crate) fn defer(&mut self, task: T) {
        self.dpcs.push_back(task);
    }

    pub(crate) fn act(&mut self, task: T) {
        self.actions.push_back(task);
    }

    /// Closures that wait.
    pub(crate) fn len(&self) -> usize {
        self.dpcs.len() + self.actions.len()
    }

    /// The next closure: deferred calls before actions.
    pub(crate) fn next(&mut self) -> Option<T> {
        self.dpcs.pop_front().or_else(|| self.actions.pop_front())
    }

    /// Drops what is left of the turn; returns how much it was.
    pub(crate) fn abandon(&mut self) -> usize {
        let left = self.len();
        self.dpcs.clear();
        self.actions.clear();
        left
    }
}

/// Measures a slice without reading the clock after every closure.
///
/// From the cost of the closures so far it predicts how many make up a 64th of the slice (at most
/// [`STRIDE_MAX`]) and reads the clock after those.
pub(crate) struct Meter {
    slice: Slice,
    began: Time,
    steps: u64,
    look_at: u64,
}

const STRIDE_MAX: u64 = 64;

impl Meter {
    pub(crate) fn new(slice: Slice, began: Time) -> Meter {
        Meter { slice, began, steps: 0, look_at: 1 }
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts `steps` that were run since the clock was read.
    pub(crate) fn add(&mut self, steps: u64) {
        self.steps = self.steps.saturating_add(steps);
    }

    /// Whether the slice is used up.
    pub(crate) fn is_over(&mut self, host: &mut dyn Host) -> bool {
        match self.slice {
            Slice::Steps(limit) => self.steps >= limit,
            Slice::Span(_) if self.steps < self.look_at => false,
            Slice::Span(span) => {
                let limit = nanos(span);
                let elapsed = nanos(host.now() - self.began);
                let each = (elapsed / self.steps.max(1)).max(1);
                self.look_at = self.steps + (limit / 64 / each).clamp(1, STRIDE_MAX);
                elapsed >= limit
            }
        }
    }
}
