//! The components of a node: compiles them, and puts them on the loop.

use tidemill_cl::compile::{Checkpoints, Choices, compile, compile_next};
use tidemill_cl::interpret::{interpret, interpret_next};
use tidemill_cl::ir::succession::Succession;
use tidemill_diag::Sources;
use tidemill_event::Host;
use tidemill_overlog::program::Compiled as Rules;
use tidemill_proc::console::{Console, Lines, Sink};
use tidemill_proc::fault::{Fault, Reports};
use tidemill_proc::program::Executable;
use tidemill_proc::{Options, Runner, STACK_MAX, Worker};
use tidemill_stdx::rng::Rng;

use crate::components::report::Reporter;
use crate::components::system::Systems;
use crate::components::system::disk::Disk;
use crate::error::Error;
use crate::journal::SharedJournal;
use crate::program::Program;
use crate::run::{ComponentOptions, Engine};

/// How the components of a program are compiled.
#[derive(Clone, Debug)]
pub(crate) struct Making {
    is_interpreted: bool,
    choices: Choices,
}

impl Making {
    /// As chosen for a program. With `counted` a slice ends after a number of checkpoints, else by
    /// time.
    pub(crate) fn new(program: &Program, chosen: &mut ComponentOptions, counted: bool) -> Making {
        let checkpoints = match (chosen.no_checkpoints, counted) {
            (true, _) => Checkpoints::None,
            (false, true) => Checkpoints::Count,
            (false, false) => Checkpoints::Flag,
        };
        let is_interpreted = chosen.engine == Engine::Interpreter;
        let several = !counted && !is_interpreted && chosen.workers.is_some_and(|count| count > 1);
        if !several {
            chosen.workers = None;
        }
        let observed = program.rules.program.as_ref().is_some_and(shows_activity);
        let choices = Choices { checkpoints, several, listing: false, observed };
        Making { is_interpreted, choices }
    }

    /// Compiles a program; `None`, if it has no components.
    ///
    /// # Errors
    /// The code generator does not support this machine.
    pub(crate) fn first(&self, program: &Program) -> Result<Option<Executable>, Error> {
        let Some(ir) = &program.components.program else { return Ok(None) };
        let (sources, files) = (&program.sources, program.components.files);
        let program = if self.is_interpreted {
            interpret(ir, sources, files, self.has_checkpoints())
        } else {
            let made = compile(ir, sources, files, &self.choices);
            made.map_err(impossible)?.program
        };
        Ok(Some(if self.choices.observed { program.observed() } else { program }))
    }

    /// Compiles the next version; see [`succession`](tidemill_cl::ir::succession).
    ///
    /// # Errors
    /// The code generator does not support this machine.
    pub(super) fn next(
        &self,
        before: &Executable,
        succession: &Succession,
        sources: (&Sources, u32),
    ) -> Result<Executable, Error> {
        if self.is_interpreted {
            Ok(interpret_next(before, succession, sources, self.has_checkpoints()))
        } else {
            compile_next(before, succession, sources, &self.choices).map_err(impossible)
        }
    }

    /// Whether components run on several loops.
    pub(super) fn spreads(&self) -> bool {
        self.choices.several
    }

    fn has_checkpoints(&self) -> bool {
        self.choices.checkpoints != Checkpoints::None
    }
}

/// Whether rules use what is only known of processes that are observed.
fn shows_activity(rules: &Rules) -> bool {
    let columns = [("sys::process", 4), ("sys::process", 5), ("sys::channel", 5)];
    columns.into_iter().any(|(table, column)| rules.uses_column(table, column))
}

fn impossible(error: tidemill_jit::Error) -> Error {
    Error::Program(format!("no code can be made: {error}"))
}

/// The output, input and fault reports of a program's processes.
pub(crate) struct Outputs {
    pub(crate) console: Console,
    pub(crate) reports: Box<dyn Reports>,
    /// The storage of its files.
    pub(crate) disk: Disk,
}

impl Outputs {
    /// Output to `sink` and reports to a journal, with the name of the node, unless that is empty.
    pub(crate) fn of(sink: Box<dyn Sink>, journal: &SharedJournal, node: String) -> Outputs {
        let lines = if journal.get().console.is_eager() { Lines::Each } else { Lines::Together };
        let journal = journal.clone();
        Outputs {
            console: Console::new(sink, lines),
            reports: Box::new(Reporter { journal, node }),
            disk: Disk::System,
        }
    }
}

/// Seeds of random numbers in the processes of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds {
    /// The seed of the schedule, if it has to be repeatable.
    schedule: Option<u64>,
    random: u64,
    hash: u64,
}

impl Seeds {
    /// Derived from one seed, or random.
    ///
    /// # Errors
    /// The host provides no random numbers.
    pub(crate) fn of(seed: Option<u64>, host: &mut dyn Host) -> Result<Seeds, Error> {
        let random = seed.unwrap_or_else(|| host.random());
        Ok(Seeds { schedule: seed, random, hash: hash_seed(seed, host)? })
    }
}

/// The processes of a program, which have not started, and the system components for them.
///
/// # Errors
/// The folder that confines them cannot be opened.
pub(crate) fn engine(
    program: Executable,
    chosen: &mut ComponentOptions,
    seeds: Seeds,
    outputs: Outputs,
) -> Result<(Runner, Systems), Error> {
    let Outputs { console, reports, disk } = outputs;
    let systems = Systems::new(&program, chosen, disk)?;
    let ComponentOptions { memory_max, stack_max, workers, spread_eagerly, .. } = chosen;
    let mut worker = Worker::new(
        program,
        Options {
            memory_max: memory_max.unwrap_or(u64::MAX),
            stack_max: stack_max.unwrap_or(STACK_MAX),
            schedule_seed: seeds.schedule,
            random_seed: seeds.random,
            hash_seed: seeds.hash,
            reports,
            console,
        },
    );
    systems.offer(&mut worker);
    let mut runner = Runner::with_workers(worker, workers.map_or(1, |count| count as usize));
    if *spread_eagerly {
        runner.spread_eagerly();
    }
    Ok((runner, systems))
}

/// A runner without a program.
///
/// # Errors
/// The host provides no random numbers.
pub(crate) fn idle(host: &mut dyn Host) -> Result<(Runner, Systems), Error> {
    let (program, reports) = (Executable::empty(), Box::new(Silent));
    let console = Console::new(Box::new(Silent), Lines::Together);
    let outputs = Outputs { console, reports, disk: Disk::System };
    engine(program, &mut ComponentOptions::default(), Seeds::of(Some(0), host)?, outputs)
}

/// The sink of a runner without processes.
struct Silent;

impl Sink for Silent {
    fn write(&mut self, _: &[u8]) {}
}

impl Reports for Silent {
    fn fault(&mut self, _: &Fault) {}

    fn deadlock(&mut self, _: u64, _: &[String]) {}
}

/// The hash seed of collections: with a seed it is derived from that.
fn hash_seed(seed: Option<u64>, host: &mut dyn Host) -> Result<u64, Error> {
    if let Some(seed) = seed {
        return Ok(Rng::new(seed ^ 0x6861_7368).next_u64());
    }
    let mut bytes = [0; 8];
    host.fill_entropy(&mut bytes).map_err(Error::no_random)?;
    Ok(u64::from_le_bytes(bytes))
}
