//! The data of a worker. Its operations are in the files above.

use crate::clock::Clock;
use crate::component::{ComponentId, SharedCallers, Table, TerminatingSet};
use crate::console::Console;
use crate::crew::Desk;
use crate::fault::{Ended, Reports};
use crate::handle::{ComponentRef, ProcessRef, SlotRef};
use crate::interpret::Interpreter;
use crate::layout::WorkerHead;
use crate::layout::{Frame, Process};
use crate::monitor::Looker;
use crate::observed::Observed;
use crate::outside::state::Outside;
use crate::pieces::Pieces;
use crate::process;
use crate::program::Program;
use crate::sessions::SessionMap;
use crate::system::Systems;
use crate::tear::Stopping;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tidemill_stdx::ordered::{OrderedMap, OrderedSet};
use tidemill_stdx::rng::Rng;

/// What runs the processes of one loop.
#[repr(C)]
pub struct Worker {
    /// What generated code uses.
    pub(crate) head: WorkerHead,
    /// The program, shared by the workers of all loops.
    pub(crate) program: Arc<Program>,
    /// Everything else, for the run-time only.
    pub(crate) machine: Machine,
}

impl Worker {
    /// What code gets as its worker; all of the worker can be reached from it.
    #[inline(always)]
    pub(crate) fn address(&mut self) -> *mut WorkerHead {
        (&raw mut *self).cast()
    }
}

impl Deref for Worker {
    type Target = WorkerHead;

    #[inline(always)]
    fn deref(&self) -> &WorkerHead {
        &self.head
    }
}

impl DerefMut for Worker {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut WorkerHead {
        &mut self.head
    }
}

/// Counts of components, processes or communications.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// So far.
    pub created: u64,
    /// Now.
    pub alive: u64,
}

impl Count {
    #[inline(always)]
    pub(crate) fn add(&mut self) {
        self.created += 1;
        // With several workers, one may count more releases than creations.
        self.alive = self.alive.wrapping_add(1);
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self) {
        self.alive = self.alive.wrapping_sub(1);
    }

    fn plus(&mut self, other: Count) {
        self.created += other.created;
        self.alive = self.alive.wrapping_add(other.alive);
    }
}

/// What `--stats` shows.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Processes.
    pub processes: Count,
    /// Components.
    pub components: Count,
    /// Channels.
    pub channels: Count,
    /// Texts.
    pub texts: Count,
}

impl Counts {
    /// Adds those of another worker.
    pub fn add(&mut self, other: &Counts) {
        self.processes.plus(other.processes);
        self.components.plus(other.components);
        self.channels.plus(other.channels);
        self.texts.plus(other.texts);
    }
}

/// The part of a worker that only the run-time uses.
pub struct Machine {
    /// Bytes that the frames of one process may take.
    pub(crate) stack_max: u64,
    /// Bytes in use at which the stack of the process that takes a frame is measured next.
    pub(crate) stack_mark: u64,
    /// How it was when that was done last.
    pub(crate) stack_measured: process::StackMeasured,
    /// The frames that functions of the running process are getting.
    pub(crate) lazy: process::LazyFrames,
    /// Something is to be done between two processes: due work, or a request waits.
    pub(crate) attention: bool,
    /// There is due work: see [`Worker::do_due_work`].
    pub(crate) has_due_work: bool,
    /// With several loops: the process that ran left something to be done, see `crew`.
    pub(crate) left_over: bool,
    pub(crate) counts: Counts,
    pub(crate) table: Table,
    /// Draws the next process in seeded schedules.
    pub(crate) schedule: Option<Rng>,
    pub(crate) random: Rng,
    /// Conditions of AWAIT that have been evaluated by the run-time.
    pub(crate) conditions: u64,
    /// Seed of the hashes of new collections: keys from outside cannot be chosen to collide.
    pub(crate) hash_seed: u64,
    /// Notes of what processes do, if the program asks for them.
    pub(crate) observed: Option<Observed>,
    pub(crate) interpreter: Option<Arc<dyn Interpreter>>,
    /// Predecessors of the program, whose types components may still be of.
    pub(crate) earlier: Vec<Arc<Program>>,
    pub(crate) reports: Box<dyn Reports>,
    pub(crate) console: Console,
    pub(crate) systems: Systems,
    pub(crate) outside: Outside,
    pub(crate) entry: ComponentId,
    pub(crate) ended: Option<Ended>,
    /// How it will end, once the entry component, which has failed, is torn down.
    pub(crate) outcome: Option<Ended>,
    /// HALT(0): the rest is taken down in order.
    pub(crate) halted: bool,
    /// Components to be torn down, after the running process has returned.
    pub(crate) doomed: Vec<ComponentId>,
    /// A tree below one of them whose processes are being killed.
    pub(crate) stopping: Option<Stopping>,
    /// Components to advance towards their end.
    pub(crate) ending: Vec<ComponentId>,
    /// Terminating components that may serve others.
    pub(crate) terminating: TerminatingSet,
    /// Components some of whose conditions may hold now.
    pub(crate) pokes: Vec<ComponentId>,
    /// Components whose conditions are evaluated later.
    pub(crate) looker: Looker,
    /// Processes that wait for a connection, by the component where it is missing.
    pub(crate) parked: OrderedMap<u64, Vec<ProcessRef>>,
    /// Components whose conditions test for messages of a missing connection, by the component that
    /// lacks it.
    pub(crate) watchers: OrderedMap<u64, OrderedSet<ComponentId>>,
    /// Released components whose memory stays until their owner, by its id, is released.
    pub(crate) husks: OrderedMap<u64, Vec<ComponentRef>>,
    /// Sessions of processes that have many.
    pub(crate) sessions: SessionMap,
    /// Virtual times, by the number of their component.
    pub(crate) clocks: OrderedMap<u32, Clock>,
    /// How many processes were put before others since all had their turn.
    pub(crate) favours: u32,
    /// Counts sleepers, for their order.
    pub(crate) sleeps: u64,
    /// Components that others may call which end, too; of all loops.
    pub(crate) callers: Arc<SharedCallers>,
    /// Incremental work.
    pub(crate) pieces: Pieces,
    /// What outside may still wake a process.
    pub(crate) holds: u64,
    /// Its place among several workers; none if there is one only.
    pub(crate) desk: Option<Desk>,
}

impl Machine {
    /// There is due work.
    pub(crate) fn attend(&mut self) {
        (self.attention, self.has_due_work) = (true, true);
    }

    /// Whether something may wait for the embedder.
    pub(crate) fn is_noted(&self) -> bool {
        self.systems.is_noted() || self.outside.is_noted()
    }
}

/// What an operation runs in: the frame, the process, the worker.
pub(crate) struct Context<'a> {
    pub(crate) frame: crate::handle::FrameRef,
    pub(crate) process: ProcessRef,
    pub(crate) worker: &'a mut Worker,
}

impl<'a> Context<'a> {
    /// # Safety
    /// All are live, and no other reference to the worker is in use.
    #[inline]
    pub(crate) unsafe fn new(
        frame: *mut Frame,
        process: *mut Process,
        worker: *mut Worker,
    ) -> Context<'a> {
        // SAFETY: promised by the caller.
        let worker = unsafe { &mut *worker };
        Context { frame: frame.into(), process: process.into(), worker }
    }

    pub(crate) fn component(&self) -> ComponentRef {
        self.process.component()
    }

    pub(crate) fn slot(&self, slot: *mut crate::layout::Slot) -> SlotRef {
        SlotRef(slot)
    }
}
