//! One program, both engines: what they write, which faults they report, how they end and what is
//! left must be the same.

use std::cell::RefCell;
use std::rc::Rc;

use tidemill_cl::check::check;
use tidemill_cl::compile::{Checkpoints, Choices, compile, compile_next};
use tidemill_cl::interpret::{interpret, interpret_next};
use tidemill_cl::ir::succession::merge;
use tidemill_cl::ir::{self, Storage, Type, Variable};
use tidemill_cl::lower::lower;
use tidemill_cl::optimise::optimise;
use tidemill_cl::parse::parse_files;
use tidemill_diag::{FileId, Sources, has_errors};
use tidemill_proc::Worker;
use tidemill_proc::console::{Console, Lines, Sink};
use tidemill_proc::fault::{Fault, Reports};
use tidemill_proc::program::Executable;
use tidemill_proc::{Counts, Options};

/// How long a program may run.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Steps and checkpoints of a slice.
    pub slice: i64,
    /// After this many slices it is cleared, in whatever state it is.
    pub slices: u32,
    /// Bytes for its components.
    pub memory_max: u64,
}

impl Limits {
    /// Enough for programs that are meant to end.
    pub const SMALL: Limits = Limits { slice: 100, slices: 5000, memory_max: 1 << 26 };
    /// For programs of which nothing is known.
    pub const SHORT: Limits = Limits { slice: 50, slices: 200, memory_max: 1 << 22 };
}

/// A program that is ready to run.
pub struct Program {
    pub sources: Sources,
    pub ir: ir::Program,
}

/// What is seen of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// What was written, with the reports in between.
    pub log: String,
    /// How it ended; none if it was cleared away.
    pub ended: Option<String>,
    /// Of processes, components, channels and texts.
    pub counts: Counts,
    slices: u32,
}

/// Gathers output and reports in the order in which they come.
#[derive(Clone, Default)]
pub struct Log(Rc<RefCell<Vec<u8>>>);

impl Log {
    /// What has come.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.borrow()).into_owned()
    }
}

impl Sink for Log {
    fn write(&mut self, bytes: &[u8]) {
        self.0.borrow_mut().extend_from_slice(bytes);
    }
}

impl Reports for Log {
    fn fault(&mut self, fault: &Fault) {
        self.write(format!("\n{fault:?}\n").as_bytes());
    }

    fn deadlock(&mut self, waiting: u64, some: &[String]) {
        self.write(format!("\n{waiting} wait: {some:?}\n").as_bytes());
    }
}

/// Reads, checks and lowers a source; else returns its errors.
///
/// # Panics
/// If what is made of a source without errors breaks the rules of the IR.
pub fn load(source: &str) -> Result<Program, String> {
    let mut sources = Sources::new();
    sources.add("program.com", source);
    let (tree, mut found) = parse_files(&[FileId(0)], &sources);
    if !has_errors(&found) {
        let (checked, more) = check(&tree);
        found.extend(more);
        if !has_errors(&found) {
            let ir = lower(&checked);
            assert_eq!(ir::verify::verify(&ir), Ok(()), "{source}");
            return Ok(Program { sources, ir });
        }
    }
    Err(found.iter().map(|one| sources.render(one)).collect())
}

/// Runs the program as machine code.
pub fn compiled(program: &Program, seed: Option<u64>, limits: Limits) -> Seen {
    let checkpoints = Checkpoints::Count;
    let choices = Choices { checkpoints, several: false, listing: false, observed: false };
    let made = compile(&program.ir, &program.sources, 1, &choices).expect("code can be made");
    run(made.program, Options { schedule_seed: seed, ..Options::quiet() }, limits)
}

/// Runs the program by the interpreter.
pub fn interpreted(program: &Program, seed: Option<u64>, limits: Limits) -> Seen {
    interpreted_ir(&program.ir, program, seed, limits)
}

/// Runs what the passes make of the program by the interpreter, which knows nothing of machines.
fn optimised(program: &Program, seed: Option<u64>, limits: Limits) -> Seen {
    let ir = optimise(&program.ir);
    assert_eq!(ir::verify::verify(&ir), Ok(()));
    interpreted_ir(&ir, program, seed, limits)
}

fn interpreted_ir(ir: &ir::Program, program: &Program, seed: Option<u64>, limits: Limits) -> Seen {
    let made = interpret(ir, &program.sources, 1, true);
    run(made, Options { schedule_seed: seed, ..Options::quiet() }, limits)
}

/// How many conditions are evaluated by others than those that wait: compiled, and interpreted.
pub fn conditions(program: &Program, limits: Limits) -> (u64, u64) {
    let choices = Choices {
        checkpoints: Checkpoints::Count,
        several: false,
        listing: false,
        observed: false,
    };
    let made = compile(&program.ir, &program.sources, 1, &choices).expect("code can be made");
    let count = |program| {
        let mut worker = Worker::new(program, Options::quiet());
        let mut slices = 0;
        worker.start().expect("there is memory");
        while slices < limits.slices && worker.ended().is_none() {
            worker.run(limits.slice);
            slices += 1;
        }
        assert!(worker.ended().is_some(), "it ends");
        worker.conditions_evaluated()
    };
    let plain = interpret(&program.ir, &program.sources, 1, true);
    (count(made.program), count(plain))
}

fn run(program: Executable, options: Options, limits: Limits) -> Seen {
    run_through(program, options, limits, |_, _| ())
}

/// The result of a run that switches to equivalent versions again and again: their components have
/// another layout, but for the entry component.
fn through_versions(program: &Program, seed: Option<u64>, limits: Limits, native: bool) -> Seen {
    let choices = Choices {
        checkpoints: Checkpoints::Count,
        several: false,
        listing: false,
        observed: false,
    };
    let sources = (&program.sources, 1);
    let mut made = if native {
        let made = compile(&program.ir, &program.sources, 1, &choices);
        made.expect("code can be made").program
    } else {
        interpret(&program.ir, &program.sources, 1, true)
    };
    let (mut ir, first) = (program.ir.clone(), made.clone());
    let options = Options { schedule_seed: seed, ..Options::quiet() };
    run_through(first, options, limits, |worker, slice| {
        if !(slice + 1).is_multiple_of(7) || slice > 100 {
            return;
        }
        let mut next = program.ir.clone();
        for (id, component) in next.components.iter_mut_enumerated() {
            if Some(id) != next.entry {
                let (name, storage) = (format!("in slice {slice}"), Storage::One(Type::Integer));
                component.variables.push(Variable { name, storage, synchronous: false });
            }
        }
        let succession = merge(&ir, &next);
        assert!(!succession.begins_otherwise, "the entry component is the same");
        made = if native {
            compile_next(&made, &succession, sources, &choices).expect("code can be made")
        } else {
            interpret_next(&made, &succession, sources, true)
        };
        worker.go_on(&made).expect("it goes on from what runs");
        ir = succession.program;
    })
}

/// The difference between a program and runs that switch to equivalent versions of it.
pub fn difference_of_versions(
    program: &Program,
    seed: Option<u64>,
    limits: Limits,
) -> Option<String> {
    let plain = interpreted(program, seed, limits);
    for native in [true, false] {
        let seen = through_versions(program, seed, limits, native);
        if seen != plain && !plain.log.contains("out of memory") {
            let engine = if native { "compiled" } else { "interpreted" };
            return Some(format!("seed {seed:?}: {engine} {seen:#?}\nwithout versions {plain:#?}"));
        }
    }
    None
}

/// Runs a program; between two slices something is done with its worker.
fn run_through(
    program: Executable,
    options: Options,
    limits: Limits,
    mut between: impl FnMut(&mut Worker, u32),
) -> Seen {
    let log = Log::default();
    let console = Console::new(Box::new(log.clone()), Lines::Together);
    let reports = Box::new(log.clone());
    let memory_max = limits.memory_max;
    let mut worker = Worker::new(program, Options { console, reports, memory_max, ..options });
    let mut slices = 0;
    if worker.start().is_ok() {
        while slices < limits.slices && worker.ended().is_none() {
            worker.run(limits.slice);
            // There is no system here: requests are not answered.
            while worker.take_request().is_some() {}
            between(&mut worker, slices);
            slices += 1;
        }
    }
    let ended = worker.ended().map(|ended| format!("{ended:?}"));
    worker.clear();
    let log = log.text();
    Seen { log, ended, counts: worker.counts(), slices }
}

/// What the engines disagree about, or what a run has left behind.
pub fn difference(program: &Program, seed: Option<u64>, limits: Limits) -> Option<String> {
    let native = compiled(program, seed, limits);
    let plain = interpreted(program, seed, limits);
    let better = optimised(program, seed, limits);
    // Frames differ in size, so memory ends at different places.
    if [&native, &plain, &better].iter().any(|seen| seen.log.contains("out of memory")) {
        return None;
    }
    if native != plain {
        return Some(format!("seed {seed:?}: compiled {native:#?}\ninterpreted {plain:#?}"));
    }
    if better != plain {
        return Some(format!("seed {seed:?}: optimised {better:#?}\ninterpreted {plain:#?}"));
    }
    let Counts { processes, components, channels, texts } = native.counts;
    let alive = [processes, components, channels, texts].map(|count| count.alive);
    (alive != [0; 4]).then(|| format!("seed {seed:?}: left {:#?}", native.counts))
}

/// Whatever the bytes are: a program or diagnostics; a program runs the same on both engines.
///
/// # Panics
/// If it does not.
pub fn check_bytes(bytes: &[u8]) {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let Ok(program) = load(source) else { return };
    for seed in [None, Some(1)] {
        if let Some(difference) = difference(&program, seed, Limits::SHORT) {
            panic!("{difference}");
        }
    }
}
