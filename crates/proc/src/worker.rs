//! The worker as its embedder sees it: made from a program, started, inspected.
//!
//! [`Machine`] is what the run-time keeps beside the fields that generated code uses.

use crate::Counts;
use crate::layout::WorkerHead;
use crate::machine::Machine;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use tidemill_stdx::ordered::OrderedMap;
use tidemill_stdx::rng::Rng;

use crate::component;
use crate::component::{ComponentId, Table, TerminatingSet};
use crate::console::Console;
use crate::crew::{self};
use crate::fault::{self, Ended, Reports};
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::Process;
use crate::machine::Worker;
use crate::memory::Memory;
use crate::monitor::Looker;
use crate::observed::Observed;
use crate::outside::note as outside;
use crate::outside::state::Outside;
use crate::pieces::{self, Pieces};
use crate::process;
use crate::program::{Executable, Program};
use crate::sessions::SessionMap;
use crate::system::{self, Systems};
use crate::tear::{self};

/// Bytes of stack that a process may have by default.
pub const STACK_MAX: u64 = 64 << 20;

/// A program does not succeed the one that a worker runs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NotTheNext;

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
    /// The seed of collections whose keys come from outside. No order depends on it.
    pub hash_seed: u64,
    /// Receives faults.
    pub reports: Box<dyn Reports>,
    /// Gets what the program writes.
    pub console: Console,
}

impl Options {
    /// No limit, in order, seeds 1; reports and output are discarded.
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

/// What generated code uses, before anything runs.
fn head(memory_max: u64) -> WorkerHead {
    let (ready, ready_mask) = Worker::first_ready();
    WorkerHead {
        flag: AtomicU8::new(0),
        depth: 0,
        stack_end: 0,
        base: std::ptr::null_mut(),
        budget: i64::MAX,
        current: std::ptr::null_mut(),
        ready,
        ready_mask,
        ready_head: 0,
        ready_tail: 0,
        memory: Memory::new(memory_max),
    }
}

impl Worker {
    /// A worker for a program. Nothing runs yet.
    pub fn new(program: Executable, options: Options) -> Box<Worker> {
        let Executable { program, interpreter, is_observed, .. } = program;
        Box::new(Worker {
            head: head(options.memory_max),
            program,
            machine: Machine {
                stack_max: options.stack_max,
                stack_mark: 0,
                stack_measured: process::StackMeasured::default(),
                lazy: process::LazyFrames::default(),
                attention: false,
                has_due_work: false,
                left_over: false,
                counts: Counts::default(),
                table: Table::default(),
                schedule: options.schedule_seed.map(Rng::new),
                random: Rng::new(options.random_seed),
                conditions: 0,
                hash_seed: options.hash_seed,
                observed: is_observed.then(Observed::default),
                interpreter,
                earlier: Vec::new(),
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
                terminating: TerminatingSet::default(),
                pokes: Vec::new(),
                looker: Looker::default(),
                parked: OrderedMap::new(),
                watchers: OrderedMap::new(),
                husks: OrderedMap::new(),
                sessions: SessionMap::default(),
                clocks: OrderedMap::new(),
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
        let program = Executable::shared(&first.program);
        let mut worker = Worker::new(program, options);
        worker.machine.table = first.machine.table.beside();
        worker.machine.callers = first.machine.callers.clone();
        worker.machine.observed.clone_from(&first.machine.observed);
        worker
    }

    /// The program, for an operation that changes the worker meanwhile.
    #[inline]
    pub(crate) fn program<'a>(&self) -> &'a Program {
        // SAFETY: the worker holds a share of the program, which nothing changes, and keeps it when
        // another takes its place.
        unsafe { &*Arc::as_ptr(&self.program) }
    }

    /// Switches to a program that was made [after](Executable::after) the running one: existing
    /// components finish on the code they have, new ones are of the latest types.
    ///
    /// # Errors
    /// It does not succeed the running program, or several workers run it; nothing has changed.
    pub fn go_on(&mut self, next: &Executable) -> Result<(), NotTheNext> {
        if self.machine.desk.is_some() || !next.goes_on_from(&self.program) {
            return Err(NotTheNext);
        }
        self.machine.interpreter.clone_from(&next.interpreter);
        // Components point into it.
        self.machine.earlier.push(std::mem::replace(&mut self.program, next.program.clone()));
        Ok(())
    }

    /// What the program consists of.
    pub fn types(&self) -> &Program {
        &self.program
    }

    /// The entry component, once it has been made.
    pub fn entry(&self) -> ComponentId {
        self.machine.entry
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
                    component::terminate(self, component, ProcessRef::NULL);
                }
                Ok(())
            }
            Err(_) => {
                fault::report_no_entry(self, entry);
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

    /// How often conditions of AWAIT have been evaluated by other processes than their waiters, or
    /// where these begin to wait.
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

    /// Ends everything at once: kills processes, and releases components without FINALLY.
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
