//! The worker as its embedder sees it: made from a program, started, looked at.
//!
//! [`Machine`] is what the run-time keeps beside the fields that generated code uses.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex};

use tidemill_stdx::rng::Rng;

use crate::clock::Clock;
use crate::component;
use crate::component::{Callers, ComponentId, Table};
use crate::console::Console;
use crate::crew::{self, Desk};
use crate::fault::{Ended, Reports};
use crate::handle::{ComponentRef, ProcessRef, SlotRef};
use crate::interpret::Interpreter;
use crate::layout::{Frame, Process, Worker};
use crate::lines::LineMap;
use crate::memory::Memory;
use crate::monitor::Looker;
use crate::outside::{self, Outside};
use crate::pieces::{self, Pieces};
use crate::process;
use crate::program::{Executable, Program};
use crate::system::{self, Systems};
use crate::tear::{self, Stopping};

/// Bytes of stack that a process may have, unless its embedder says otherwise.
pub const STACK_MAX: u64 = 64 << 20;

/// How a worker runs.
pub struct Options {
    /// Bytes that blocks may take.
    pub memory_max: u64,
    /// Bytes that the frames of one process may take.
    pub stack_max: u64,
    /// With a seed the next process is drawn from all that are ready; else first in, first out.
    pub schedule_seed: Option<u64>,
    /// Seed of RANDOM.
    pub random_seed: u64,
    /// What collections hash keys with that strangers choose. No order follows it.
    pub hash_seed: u64,
    /// Told of faults.
    pub reports: Box<dyn Reports>,
    /// Gets what the program writes.
    pub console: Console,
}

impl Options {
    /// No limit, in order, seeds 1, nobody told, nothing written.
    pub fn quiet() -> Options {
        Options {
            memory_max: u64::MAX,
            stack_max: STACK_MAX,
            schedule_seed: None,
            random_seed: 1,
            hash_seed: 1,
            reports: Box::new(()),
            console: Console::new(Box::new(()), crate::console::Lines::Together),
        }
    }
}

/// How many of a kind there were.
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
        // One of several workers may have seen more of them go than come.
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
    pub(crate) fn add(&mut self, other: &Counts) {
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
    /// When so many bytes are in use, the stack of the process that takes a frame is measured.
    pub(crate) stack_mark: u64,
    /// How it was when that was done last.
    pub(crate) stack_measured: process::StackMeasured,
    /// Something is to be done between two processes: see [`Worker::attend`].
    pub(crate) attention: bool,
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
    pub(crate) interpreter: Option<Rc<dyn Interpreter>>,
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
    /// Components that may have come further towards their end.
    pub(crate) ending: Vec<ComponentId>,
    /// Some components may have been told to end, and not have ended.
    pub(crate) has_told: bool,
    /// Components some of whose conditions may hold now.
    pub(crate) pokes: Vec<ComponentId>,
    /// Whose conditions are looked at later.
    pub(crate) looker: Looker,
    /// Processes that wait for a connection, by the component where it is missing.
    pub(crate) parked: BTreeMap<u64, Vec<ProcessRef>>,
    /// Components whose conditions ask for messages of a connection that is missing, by the
    /// component where it is.
    pub(crate) watchers: BTreeMap<u64, BTreeSet<ComponentId>>,
    /// Lines of processes that have many.
    pub(crate) lines: LineMap,
    /// Virtual times, by the number of their component.
    pub(crate) clocks: BTreeMap<u32, Clock>,
    /// How many processes went before others since all had their turn.
    pub(crate) favours: u32,
    /// Counts sleepers, for their order.
    pub(crate) sleeps: u64,
    /// Components that others may call which end, too; of all loops.
    pub(crate) callers: Arc<Mutex<Callers>>,
    /// What is done piece by piece.
    pub(crate) pieces: Pieces,
    /// What outside may still wake a process.
    pub(crate) holds: u64,
    /// Its place among several workers; none if there is one only.
    pub(crate) desk: Option<Desk>,
}

impl Machine {
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

impl Worker {
    /// A worker for a program. Nothing runs yet.
    pub fn new(program: Executable, options: Options) -> Box<Worker> {
        let Executable { program, interpreter } = program;
        let (ready, ready_mask) = Worker::first_ready();
        Box::new(Worker {
            flag: AtomicU8::new(0),
            depth: 0,
            budget: i64::MAX,
            current: std::ptr::null_mut(),
            ready,
            ready_mask,
            ready_head: 0,
            ready_tail: 0,
            memory: Memory::new(options.memory_max),
            program,
            machine: Machine {
                stack_max: options.stack_max,
                stack_mark: 0,
                stack_measured: process::StackMeasured::default(),
                attention: false,
                left_over: false,
                counts: Counts::default(),
                table: Table::default(),
                schedule: options.schedule_seed.map(Rng::new),
                random: Rng::new(options.random_seed),
                conditions: 0,
                hash_seed: options.hash_seed,
                interpreter,
                reports: options.reports,
                console: options.console,
                systems: Systems::default(),
                outside: Outside::default(),
                entry: ComponentId::NONE,
                ended: None,
                outcome: None,
                halted: false,
                doomed: Vec::new(),
                stopping: None,
                ending: Vec::new(),
                has_told: false,
                pokes: Vec::new(),
                looker: Looker::default(),
                parked: BTreeMap::new(),
                watchers: BTreeMap::new(),
                lines: LineMap::default(),
                clocks: BTreeMap::new(),
                favours: 0,
                sleeps: 0,
                callers: Arc::default(),
                pieces: Pieces::default(),
                holds: 0,
                desk: None,
            },
        })
    }

    /// A worker for a program of a test.
    #[cfg(test)]
    pub(crate) fn for_test(program: Program, options: Options) -> Box<Worker> {
        // SAFETY: tests make programs whose code and descriptors agree.
        Worker::new(unsafe { Executable::new(program, None) }, options)
    }

    /// Another worker for the same program and components.
    pub(crate) fn beside(first: &Worker, index: u64) -> Box<Worker> {
        let mut options = Options::quiet();
        options.stack_max = first.machine.stack_max;
        options.random_seed = first.machine.random.clone().next_u64() ^ index;
        let program = Executable { program: first.program.clone(), interpreter: None };
        let mut worker = Worker::new(program, options);
        worker.machine.table = first.machine.table.beside();
        worker.machine.callers = first.machine.callers.clone();
        worker
    }

    /// The program, for an operation that changes the worker meanwhile.
    #[inline]
    pub(crate) fn program<'a>(&self) -> &'a Program {
        // SAFETY: the worker holds a share of the program, which nothing changes, and no operation
        // replaces it; references to it stay within the operation.
        unsafe { &*Arc::as_ptr(&self.program) }
    }

    /// Makes the entry component. Once.
    ///
    /// # Errors
    /// There is not even memory for it; the report has been made.
    pub fn start(&mut self) -> Result<(), Ended> {
        let entry = self.program().entry;
        match component::create(self, entry, ComponentRef::NULL, false) {
            Ok(component) => {
                self.machine.entry = component.id();
                system::connect(self, component);
                if component.process_count() == 0 {
                    component::tell_end(self, component, ProcessRef::NULL);
                }
                Ok(())
            }
            Err(_) => {
                let ended = Ended::Failed { code: None };
                self.machine.ended = Some(ended.clone());
                Err(ended)
            }
        }
    }

    /// The process that runs, or ran last; null before the first.
    pub fn current(&self) -> *mut Process {
        self.current
    }

    /// Counts so far.
    pub fn counts(&self) -> Counts {
        self.machine.counts
    }

    /// How often conditions of AWAIT have been evaluated by others than those that wait, or where
    /// these begin to.
    pub fn conditions_evaluated(&self) -> u64 {
        self.machine.conditions
    }

    /// The most bytes that were in use.
    pub fn peak_bytes(&self) -> u64 {
        self.memory.most()
    }

    /// Bytes in use.
    pub fn used_bytes(&self) -> u64 {
        self.memory.now()
    }

    /// How the run ended, once it has.
    pub fn ended(&self) -> Option<&Ended> {
        self.machine.ended.as_ref()
    }

    /// The console, to write through or flush.
    pub fn console(&mut self) -> &mut Console {
        &mut self.machine.console
    }

    /// Ends everything at once: processes where they stand, components without FINALLY.
    pub fn clear(&mut self) {
        crew::clear_alone(self, Worker::clear_all);
    }

    fn clear_all(&mut self) {
        crew::pass_on(self);
        let entry = self.machine.table.get(self.machine.entry);
        for root in entry.into_iter().chain(outside::components(self)) {
            tear::tear_down(self, root);
            component::release(self, root);
        }
        outside::clear(self);
        self.machine.ending.clear();
        self.machine.pokes.clear();
        self.machine.doomed.clear();
        self.machine.stopping = None;
        while let Some(process) = self.pop_ready() {
            process::bury(self, process);
        }
        pieces::sweep_all(self);
        self.machine.looker = Looker::default();
        self.machine.console.flush();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.clear();
        while self.take_request().is_some() {}
        self.free_ready();
    }
}
