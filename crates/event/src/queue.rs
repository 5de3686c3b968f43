//! Which turn runs next.
//!
//! ```text
//! fifo    [e1 e2 e3 ...]                       events, in the order they were queued
//! lanes   owner -> [suspended turn, e, e ...]  owners with a turn that outlasted its slice
//! ring    [owner, owner ...]                   the lanes, in the order of their next slice
//! ```
//! The FIFO and each lane get a slice in turns. An event whose owner has a lane moves to the
//! lane when it reaches the head of the FIFO: so the events of an owner stay in order, none of
//! them runs inside a suspended turn, and other owners' events pass. An empty lane is removed.
//!
//! In a simulation there are *rounds* instead: each lane gets a slice, then every event
//! that stood in the FIFO when the round began has its turn. So what an owner does in a round does
//! not depend on what the others do, and a simulation comes out the same however its nodes are
//! distributed over loops.

use std::collections::{BTreeMap, VecDeque};

use crate::Time;
use crate::owner::Owner;
use crate::turn::Turn;

/// A queue is at its limit; what was to be queued has been dropped and counted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the event queue is full")
    }
}

impl std::error::Error for Full {}

/// The start of a turn to be; `T` is a closure, as in [`Turn`].
pub(crate) struct Event<T> {
    pub(crate) owner: Owner,
    /// When it was queued, for the longest delay.
    pub(crate) queued: Time,
    pub(crate) task: T,
}

/// The work to run.
pub(crate) enum Next<T> {
    Start(Event<T>),
    /// Boxed, so that moving the other costs no more than it has.
    Resume(Box<Turn<T>>),
}

impl<T> Next<T> {
    pub(crate) fn owner(&self) -> Owner {
        match self {
            Next::Start(event) => event.owner,
            Next::Resume(turn) => turn.owner(),
        }
    }
}

/// An owner that needs more than a slice.
struct Lane<T> {
    suspended: Option<Box<Turn<T>>>,
    waiting: VecDeque<Event<T>>,
}

impl<T> Lane<T> {
    fn is_empty(&self) -> bool {
        self.suspended.is_none() && self.waiting.is_empty()
    }
}

/// The holder of the current slice.
#[derive(Copy, Clone, PartialEq, Eq)]
enum SliceOf {
    Fifo,
    Lane(Owner),
}

/// Events moved to lanes per call, so that sorting a flood takes a bounded time.
const MOVES: usize = 1024;

pub(crate) struct Queue<T> {
    fifo: VecDeque<Event<T>>,
    lanes: BTreeMap<Owner, Lane<T>>,
    ring: VecDeque<Owner>,
    slice_of: SliceOf,
    /// The used part of the current slice.
    spent: u64,
    events: usize,
    suspended: usize,
    limit: usize,
    /// The rest of the running round.
    round: Round,
}

/// The rest of a round.
#[derive(Copy, Clone, Default)]
struct Round {
    lanes: usize,
    events: usize,
}

impl<T> Queue<T> {
    pub(crate) fn new(limit: usize) -> Queue<T> {
        Queue {
            fifo: VecDeque::new(),
            lanes: BTreeMap::new(),
            ring: VecDeque::new(),
            slice_of: SliceOf::Fifo,
            spent: 0,
            events: 0,
            suspended: 0,
            limit,
            round: Round::default(),
        }
    }

    /// Events that wait.
    pub(crate) fn events(&self) -> usize {
        self.events
    }

    /// Whether nothing waits and no turn is suspended.
    pub(crate) fn is_idle(&self) -> bool {
        self.events == 0 && self.suspended == 0
    }

    pub(crate) fn push(&mut self, event: Event<T>) -> Result<(), Full> {
        if self.events >= self.limit {
            return Err(Full);
        }
        self.events += 1;
        self.fifo.push_back(event);
        Ok(())
    }

    /// Takes what runs next. `slice` is the limit for [`Queue::charge`].
    pub(crate) fn next(&mut self, slice: u64) -> Option<Next<T>> {
        if self.lanes.is_empty() {
            let event = self.fifo.pop_front()?;
            self.events -= 1;
            return Some(Next::Start(event));
        }
        if self.spent >= slice {
            self.rotate();
        }
        // If all of the FIFO moves to lanes, or a lane is empty, the next slice is tried.
        for _ in 0..2 * self.ring.len() + 3 {
            let next = match self.slice_of {
                SliceOf::Fifo => self.next_of_fifo(),
                SliceOf::Lane(owner) => self.next_of_lane(owner),
            };
            if next.is_some() {
                return next;
            }
            self.rotate();
        }
        None
    }

    /// Begins a round with all that waits now.
    pub(crate) fn begin_round(&mut self) {
        if let SliceOf::Lane(_) = self.slice_of {
            self.rotate();
        }
        self.round = Round { lanes: self.ring.len(), events: self.fifo.len() };
    }

    /// Takes what runs next in the round; nothing once that is over.
    pub(crate) fn next_in_round(&mut self) -> Option<Next<T>> {
        while self.round.lanes > 0 {
            self.round.lanes -= 1;
            let owner = self.ring.pop_front()?;
            match self.next_of_lane(owner) {
                None => drop(self.lanes.remove(&owner)),
                next => {
                    self.ring.push_back(owner);
                    return next;
                }
            }
        }
        while self.round.events > 0 {
            self.round.events -= 1;
            let event = self.fifo.pop_front()?;
            if let Some(next) = self.start_or_wait(event) {
                return Some(next);
            }
        }
        None
    }

    /// Starts an event from the head of the FIFO, or moves it to the lane of its owner.
    fn start_or_wait(&mut self, event: Event<T>) -> Option<Next<T>> {
        match self.lanes.get_mut(&event.owner) {
            Some(lane) => {
                lane.waiting.push_back(event);
                None
            }
            None => {
                self.events -= 1;
                Some(Next::Start(event))
            }
        }
    }

    /// Notes what the turn just run has cost.
    pub(crate) fn charge(&mut self, cost: u64) {
        self.spent = self.spent.saturating_add(cost);
    }

    /// Keeps a turn for its next slice; its owner's events wait behind it. A lane's slice is over
    /// then; the FIFO keeps its own, for what stands behind the turn there is of other owners.
    pub(crate) fn suspend(&mut self, turn: Box<Turn<T>>) {
        if let SliceOf::Lane(_) = self.slice_of {
            self.rotate();
        }
        let owner = turn.owner();
        let lane = self.lanes.entry(owner).or_insert_with(|| {
            self.ring.push_back(owner);
            Lane { suspended: None, waiting: VecDeque::new() }
        });
        lane.suspended = Some(turn);
        self.suspended += 1;
    }

    /// Drops everything of an owner: events and a suspended turn. Returns how many events.
    pub(crate) fn discard(&mut self, owner: Owner) -> usize {
        let before = self.fifo.len();
        self.fifo.retain(|event| event.owner != owner);
        let mut dropped = before - self.fifo.len();
        if let Some(lane) = self.lanes.get_mut(&owner) {
            // The empty lane is removed when its slice comes.
            self.suspended -= usize::from(lane.suspended.take().is_some());
            dropped += lane.waiting.len();
            lane.waiting.clear();
        }
        self.events -= dropped;
        dropped
    }

    fn next_of_fifo(&mut self) -> Option<Next<T>> {
        for _ in 0..MOVES {
            let event = self.fifo.pop_front()?;
            if let Some(next) = self.start_or_wait(event) {
                return Some(next);
            }
        }
        None
    }

    fn next_of_lane(&mut self, owner: Owner) -> Option<Next<T>> {
        let lane = self.lanes.get_mut(&owner)?;
        if let Some(turn) = lane.suspended.take() {
            self.suspended -= 1;
            return Some(Next::Resume(turn));
        }
        let event = lane.waiting.pop_front()?;
        self.events -= 1;
        Some(Next::Start(event))
    }

    /// Ends the current slice: after each lane the FIFO, after the FIFO a lane.
    fn rotate(&mut self) {
        self.spent = 0;
        self.slice_of = match self.slice_of {
            SliceOf::Lane(owner) => {
                match self.lanes.get(&owner) {
                    Some(lane) if !lane.is_empty() => self.ring.push_back(owner),
                    _ => drop(self.lanes.remove(&owner)),
                }
                SliceOf::Fifo
            }
            SliceOf::Fifo => self.ring.pop_front().map_or(SliceOf::Fifo, SliceOf::Lane),
        };
    }
}
