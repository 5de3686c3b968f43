//! Which turn runs next.
//!
//! ```text
//! fifo    [e1 e2 e3 ...]                       events, in the order they were queued
//! lanes   owner -> [suspended turn, e, e ...]  owners with a turn that outlasted its slice
//! ring    [owner, owner ...]                   the lanes, in the order of their next slice
//! ```
//! The FIFO and each lane get a slice in turns. An event whose owner has a lane moves to the
//! lane when it reaches the head of the FIFO: so the events of an owner stay in order, none of
//! them runs inside a suspended turn, and other owners' events pass. A lane that is empty goes.

use std::collections::{BTreeMap, VecDeque};

use crate::Time;
use crate::task::Task;
use crate::turn::Turn;

/// Whose an event is: a node, a packet graph, a component. Turns of one owner never interleave.
///
/// Numbers come from [`Loop::owner`](crate::Loop::owner), which also notes the kind of the
/// owner; one that was not given out there works, and is counted under the loop's own kind.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Owner(pub u32);

impl Owner {
    /// The loop itself, owner of what belongs to nobody else.
    pub const LOOP: Owner = Owner(0);
}

/// A queue is at its limit; what was to be queued has been dropped and counted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the event queue is full")
    }
}

impl std::error::Error for Full {}

/// The start of a turn to be.
pub(crate) struct Event<W> {
    pub(crate) owner: Owner,
    /// When it was queued, for the longest delay.
    pub(crate) queued: Time,
    pub(crate) task: Task<W>,
}

/// What to run.
pub(crate) enum Next<W> {
    Start(Event<W>),
    Resume(Turn<W>),
}

impl<W> Next<W> {
    pub(crate) fn owner(&self) -> Owner {
        match self {
            Next::Start(event) => event.owner,
            Next::Resume(turn) => turn.owner(),
        }
    }
}

/// An owner that needs more than a slice.
struct Lane<W> {
    suspended: Option<Turn<W>>,
    waiting: VecDeque<Event<W>>,
}

impl<W> Lane<W> {
    fn is_empty(&self) -> bool {
        self.suspended.is_none() && self.waiting.is_empty()
    }
}

/// Whose slice it is.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Place {
    Fifo,
    Lane(Owner),
}

/// Events moved to lanes at a stretch, so that sorting a flood delays nobody for long.
const MOVES: usize = 1024;

pub(crate) struct Queue<W> {
    fifo: VecDeque<Event<W>>,
    lanes: BTreeMap<Owner, Lane<W>>,
    ring: VecDeque<Owner>,
    place: Place,
    /// What the current place has used of its slice.
    spent: u64,
    events: usize,
    suspended: usize,
    limit: usize,
}

impl<W> Queue<W> {
    pub(crate) fn new(limit: usize) -> Queue<W> {
        Queue {
            fifo: VecDeque::new(),
            lanes: BTreeMap::new(),
            ring: VecDeque::new(),
            place: Place::Fifo,
            spent: 0,
            events: 0,
            suspended: 0,
            limit,
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

    pub(crate) fn push(&mut self, event: Event<W>) -> Result<(), Full> {
        if self.events >= self.limit {
            return Err(Full);
        }
        self.events += 1;
        self.fifo.push_back(event);
        Ok(())
    }

    /// Takes what runs next. `slice` is the limit for [`Queue::charge`].
    pub(crate) fn next(&mut self, slice: u64) -> Option<Next<W>> {
        if self.lanes.is_empty() {
            let event = self.fifo.pop_front()?;
            self.events -= 1;
            return Some(Next::Start(event));
        }
        if self.spent >= slice {
            self.rotate();
        }
        // The FIFO may give all it has to lanes, and a lane may have run empty: then the next.
        for _ in 0..2 * self.ring.len() + 3 {
            let next = match self.place {
                Place::Fifo => self.next_of_fifo(),
                Place::Lane(owner) => self.next_of_lane(owner),
            };
            if next.is_some() {
                return next;
            }
            self.rotate();
        }
        None
    }

    /// Notes what the turn just run has cost.
    pub(crate) fn charge(&mut self, cost: u64) {
        self.spent = self.spent.saturating_add(cost);
    }

    /// Keeps a turn for its next slice; its owner's events wait behind it. A lane's slice is over
    /// then; the FIFO keeps its own, for what stands behind the turn there is of other owners.
    pub(crate) fn suspend(&mut self, turn: Turn<W>) {
        if let Place::Lane(_) = self.place {
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
            // The empty lane goes when its slice comes.
            self.suspended -= usize::from(lane.suspended.take().is_some());
            dropped += lane.waiting.len();
            lane.waiting.clear();
        }
        self.events -= dropped;
        dropped
    }

    fn next_of_fifo(&mut self) -> Option<Next<W>> {
        for _ in 0..MOVES {
            let event = self.fifo.pop_front()?;
            match self.lanes.get_mut(&event.owner) {
                Some(lane) => lane.waiting.push_back(event),
                None => {
                    self.events -= 1;
                    return Some(Next::Start(event));
                }
            }
        }
        None
    }

    fn next_of_lane(&mut self, owner: Owner) -> Option<Next<W>> {
        let lane = self.lanes.get_mut(&owner)?;
        if let Some(turn) = lane.suspended.take() {
            self.suspended -= 1;
            return Some(Next::Resume(turn));
        }
        let event = lane.waiting.pop_front()?;
        self.events -= 1;
        Some(Next::Start(event))
    }

    /// Ends the slice of the current place: after each lane the FIFO, after the FIFO a lane.
    fn rotate(&mut self) {
        self.spent = 0;
        self.place = match self.place {
            Place::Lane(owner) => {
                match self.lanes.get(&owner) {
                    Some(lane) if !lane.is_empty() => self.ring.push_back(owner),
                    _ => drop(self.lanes.remove(&owner)),
                }
                Place::Fifo
            }
            Place::Fifo => self.ring.pop_front().map_or(Place::Fifo, Place::Lane),
        };
    }
}
