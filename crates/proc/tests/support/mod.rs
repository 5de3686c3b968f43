//! Programs written by hand as a code generator would emit them: helpers for their descriptors
//! and for their state machines.
#![allow(dead_code)]

pub mod ring;

use std::cell::RefCell;
use std::rc::Rc;

use tidemill_proc::Options;
use tidemill_proc::Worker;
use tidemill_proc::console::{Console, Lines, Sink};
use tidemill_proc::fault::{Fault, Reports};
use tidemill_proc::layout::{
    COMPONENT_HEADER, Code, Component, FRAME_HEADER, Frame, Process, SLOT_SIZE, Slot,
};
use tidemill_proc::program::{
    ComponentType, Direction, Executable, Function, FunctionCode, Interface, Message, Port,
    Program, Variable, WordKind,
};

/// Runs an operation; returns from the state machine unless it is done, to resume at `$at`.
#[macro_export]
macro_rules! wait {
    ($frame:expr, $at:expr, $operation:expr) => {
        match $operation {
            0 => {}
            1 => {
                (*$frame).resume = $at;
                return 1;
            }
            status => return status,
        }
    };
}

/// A state machine: `code!(name(frame, process, worker) { ... })`.
#[macro_export]
macro_rules! code {
    ($name:ident($frame:ident, $process:ident, $worker:ident) $body:block) => {
        #[allow(unused_variables, unused_unsafe, clippy::macro_metavars_in_unsafe)]
        unsafe extern "C" fn $name(
            $frame: *mut Frame,
            $process: *mut Process,
            $worker: *mut tidemill_proc::layout::WorkerHead,
        ) -> u32 {
            let $worker: *mut Worker = $worker.cast();
            // SAFETY: the scheduler calls it as code of a live frame with these locals.
            unsafe { $body }
        }
    };
}

/// The address of a local of a frame.
pub fn local(frame: *mut Frame, index: usize) -> *mut u64 {
    frame.cast::<u64>().wrapping_byte_add(FRAME_HEADER as usize).wrapping_add(index)
}

/// The component of a process.
pub fn own(process: *mut Process) -> *mut Component {
    // SAFETY: called by running code of the process.
    unsafe { (*process).component }
}

/// The address of a word of a component, after its slots, by byte offset.
pub fn variable(process: *mut Process, offset: u32) -> *mut u64 {
    own(process).cast::<u64>().wrapping_byte_add(offset as usize)
}

/// The address of a slot.
pub fn slot(process: *mut Process, offset: u32) -> *mut Slot {
    variable(process, offset).cast()
}

/// A component's address out of a word.
pub fn component(word: *mut u64) -> *mut Component {
    // SAFETY: the word is one of running code.
    std::ptr::with_exposed_provenance_mut(unsafe { *word } as usize)
}

/// Where the n-th slot of a component is.
pub const fn slot_at(n: u32) -> u32 {
    COMPONENT_HEADER as u32 + n * SLOT_SIZE as u32
}

/// Code of these tests.
pub fn code_of(code: Code) -> FunctionCode {
    // SAFETY: the functions of these tests keep to the rules of generated code.
    unsafe { FunctionCode::native(code) }
}

/// A worker for a program of these tests.
pub fn worker_for(program: Program, options: Options) -> Box<Worker> {
    // SAFETY: the programs of these tests keep to the rules of generated code.
    Worker::new(unsafe { Executable::new(program, None) }, options)
}

/// Makes a program piece by piece.
#[derive(Default)]
pub struct Builder {
    pub program: Program,
}

impl Builder {
    pub fn new() -> Builder {
        Builder::default()
    }

    /// An interface of messages: name, direction, parameters, initial, after, must end, may end.
    pub fn interface(&mut self, name: &str, messages: Vec<Message>) -> u32 {
        let words = messages.iter().map(|message| message.parameters.len()).max().unwrap_or(0);
        let entry_size = 8 * words as u32;
        self.program.interfaces.push(Interface { name: name.into(), messages, entry_size });
        self.program.interfaces.len() as u32 - 1
    }

    /// A function with `locals` locals, some of which own something.
    pub fn function(
        &mut self,
        name: &str,
        code: Code,
        locals: u32,
        owned: &[(u32, WordKind)],
    ) -> u32 {
        let owned = owned.iter().map(|&(index, kind)| Variable {
            name: format!("local{index}"),
            offset: FRAME_HEADER as u32 + 8 * index,
            kind,
            ..Variable::default()
        });
        self.program.functions.push(Function {
            name: name.into(),
            frame_size: FRAME_HEADER as u32 + 8 * locals,
            owned: owned.collect(),
            code: code_of(code),
            ignored: 0,
        });
        self.program.functions.len() as u32 - 1
    }

    pub fn component(&mut self, component: ComponentType) -> u32 {
        self.program.components.push(component);
        self.program.components.len() as u32 - 1
    }
}

/// A message.
pub fn message(
    name: &str,
    direction: Direction,
    parameters: &[WordKind],
    initial: bool,
    after: &[u32],
    must_end: bool,
) -> Message {
    let bits = after.iter().fold(0u64, |bits, message| bits | 1 << message);
    Message {
        name: name.into(),
        direction,
        parameters: parameters.to_vec(),
        initial,
        after: vec![bits],
        must_end,
        may_end: true,
    }
}

/// A single interface at the n-th slot.
pub fn port(interface: u32, n: u32, implementation: Option<u32>) -> Port {
    Port { interface, low: 1, high: Some(1), slot: slot_at(n), implementation }
}

/// An offered interface that is never redirected.
pub fn offered(interface: u32, implementation: u32) -> Port {
    Port { interface, low: 1, high: Some(1), slot: 0, implementation: Some(implementation) }
}

/// A variable.
pub fn owned(name: &str, offset: u32, kind: WordKind, shape: u32) -> Variable {
    Variable { name: name.into(), offset, kind, shape, synchronous: false }
}

/// Reports and output of a run.
#[derive(Default)]
pub struct Recorded {
    pub faults: Vec<Fault>,
    pub deadlocks: Vec<String>,
    pub output: Vec<u8>,
}

struct Recorder(Rc<RefCell<Recorded>>);

impl Reports for Recorder {
    fn fault(&mut self, fault: &Fault) {
        self.0.borrow_mut().faults.push(fault.clone());
    }

    fn deadlock(&mut self, _: u64, some: &[String]) {
        self.0.borrow_mut().deadlocks.extend_from_slice(some);
    }
}

impl Sink for Recorder {
    fn write(&mut self, bytes: &[u8]) {
        self.0.borrow_mut().output.extend_from_slice(bytes);
    }
}

/// Options that record reports and output.
pub fn recording() -> (Options, Rc<RefCell<Recorded>>) {
    let recorded = Rc::new(RefCell::new(Recorded::default()));
    let options = Options {
        reports: Box::new(Recorder(recorded.clone())),
        console: Console::new(Box::new(Recorder(recorded.clone())), Lines::Together),
        ..Options::quiet()
    };
    (options, recorded)
}

/// Runs a program to its end without a loop; it uses no system component.
pub fn run(worker: &mut Worker) -> tidemill_proc::fault::Ended {
    worker.start().expect("memory for the entry component");
    for _ in 0..1_000_000 {
        if worker.run(10_000) == tidemill_proc::Paused::Ended {
            return worker.ended().expect("an ended run says how").clone();
        }
    }
    panic!("the run does not end");
}

/// Bytes of a part of the table of components: 12 for each of 1024.
const TABLE_CHUNK: u64 = 12 * 1024;

/// Checks that nothing is left of a run.
pub fn assert_empty(worker: &Worker) {
    let counts = worker.counts();
    for (name, count) in [
        ("processes", counts.processes),
        ("components", counts.components),
        ("channels", counts.channels),
        ("texts", counts.texts),
    ] {
        assert_eq!(count.alive, 0, "{name} alive of {} created", count.created);
    }
    // The table of components keeps its chunks.
    assert!(
        worker.used_bytes().is_multiple_of(TABLE_CHUNK),
        "{} bytes in use",
        worker.used_bytes()
    );
}

/// Breaks a run off after every number of steps: nothing may be left.
pub fn break_off_everywhere(program: impl Fn() -> Program, steps: i64) {
    for budget in 1..steps {
        for seed in [None, Some(budget as u64)] {
            let (mut options, _) = recording();
            options.schedule_seed = seed;
            let mut worker = worker_for(program(), options);
            worker.start().expect("memory for the entry component");
            worker.run(budget);
            worker.clear();
            assert_empty(&worker);
        }
    }
}

/// Runs with too little memory, for many limits: a component fails, and nothing is left.
pub fn starve(program: impl Fn() -> Program) {
    let (options, _) = recording();
    let mut worker = worker_for(program(), options);
    run(&mut worker);
    let peak = worker.peak_bytes();
    let first = TABLE_CHUNK;
    for memory_max in (0..peak - first).step_by(16).map(|bytes| first + bytes) {
        let (mut options, recorded) = recording();
        options.memory_max = memory_max;
        let mut worker = worker_for(program(), options);
        if worker.start().is_err() {
            continue;
        }
        // A failed component may leave others waiting while the entry waits too: that is no end.
        worker.run(10_000);
        worker.clear();
        let faults = &recorded.borrow().faults;
        let reason = faults.first().map(|fault| fault.reason);
        assert_eq!(reason, Some(tidemill_proc::fault::Reason::OutOfMemory), "{memory_max} bytes");
        assert_empty(&worker);
    }
}
