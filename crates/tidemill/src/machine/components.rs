//! The components of a run: compiled, put on the loop, and what they amount to.

use tidemill_cl::compile::{Checkpoints, Choices, Compiled, compile};
use tidemill_cl::interpret::interpret;
use tidemill_event::{Host, Loop};
use tidemill_proc::console::Console;
use tidemill_proc::fault::Reports;
use tidemill_proc::layout::Worker;
use tidemill_proc::program::Executable;
use tidemill_proc::{Options, Runner, STACK_MAX};
use tidemill_stdx::rng::Rng;

use super::Machine;
use crate::components::system::{self, Systems};
use crate::journal::SharedJournal;
use crate::program::Program;
use crate::run::{Clock, ComponentOptions, ComponentsEnded, Engine, RunOptions};

/// Makes code of the components of a program; nothing, if it has none.
///
/// # Errors
/// No code can be made for this machine.
pub(crate) fn compiled(
    program: &Program,
    options: &mut RunOptions,
) -> Result<Option<Executable>, String> {
    let Some(ir) = &program.components.program else { return Ok(None) };
    let (sources, files) = (&program.sources, program.components.files);
    let counted = options.seed.is_some() || options.clock == Clock::Virtual;
    let chosen = &mut options.components;
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
    if is_interpreted {
        let has_checkpoints = checkpoints != Checkpoints::None;
        return Ok(Some(interpret(ir, sources, files, has_checkpoints)));
    }
    let choices = Choices { checkpoints, several, listing: false };
    let Compiled { program, .. } = compile(ir, sources, files, &choices)
        .map_err(|error| format!("no code can be made: {error}"))?;
    Ok(Some(program))
}

/// What the processes of a program write to, and where their faults are reported.
pub(crate) struct Outputs {
    pub(crate) console: Console,
    pub(crate) reports: Box<dyn Reports>,
}

/// A machine with the components of a program, which have not begun, and other engines idle.
///
/// # Errors
/// No folder to confine them to, or no random numbers.
pub(crate) fn machine(
    program: Option<Executable>,
    options: &mut RunOptions,
    host: &mut dyn Host,
    outputs: Outputs,
    journal: SharedJournal,
) -> Result<Machine, String> {
    let has_components = program.is_some();
    let program = program.unwrap_or_else(Executable::empty);
    let random_seed = options.seed.unwrap_or_else(|| host.random());
    let hash_seed = hash_seed(options.seed, host)?;
    let chosen = &mut options.components;
    let systems = Systems::new(&program, chosen)?;
    let ComponentOptions { memory_max, stack_max, workers, spread_eagerly, .. } = chosen;
    let Outputs { console, reports } = outputs;
    let mut worker = Worker::new(
        program,
        Options {
            memory_max: memory_max.unwrap_or(u64::MAX),
            stack_max: stack_max.unwrap_or(STACK_MAX),
            schedule_seed: options.seed,
            random_seed,
            hash_seed,
            reports,
            console,
        },
    );
    systems.offer(&mut worker);
    let mut runner = Runner::with_workers(worker, workers.map_or(1, |count| count as usize));
    if *spread_eagerly {
        runner.spread_eagerly();
    }
    let mut machine = Machine::new(runner, systems, journal, options.registry.clone())?;
    machine.has.components = has_components;
    Ok(machine)
}

/// What collections hash with: of a run with a seed it follows from that.
fn hash_seed(seed: Option<u64>, host: &mut dyn Host) -> Result<u64, String> {
    if let Some(seed) = seed {
        return Ok(Rng::new(seed ^ 0x6861_7368).next_u64());
    }
    let mut bytes = [0; 8];
    host.fill_entropy(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Ends what processes are left, and what the system has open for them.
pub(crate) fn clear(machine: &mut Machine, events: &mut Loop<Machine>) {
    let worker = machine.node.runner.worker();
    worker.clear();
    // What they still wanted of the system goes, as they are gone.
    while let Some(request) = worker.take_request() {
        worker.reuse(request.values);
    }
    let communications: Vec<_> = machine.node.systems.communications().collect();
    for communication in communications {
        system::finished(machine, events, communication);
    }
}

/// Ends the threads, and says how the components ended, if there are any.
pub(crate) fn stop(
    machine: &mut Machine,
    how: Option<tidemill_proc::fault::Ended>,
) -> Option<ComponentsEnded> {
    machine.node.runner.stop();
    machine.has.components.then(|| ComponentsEnded {
        how,
        counts: machine.node.runner.counts(),
        peak_bytes: machine.node.runner.worker().peak_bytes(),
        pore_drops: machine.node.systems.pore_drops(),
        given: machine.node.runner.components_given(),
    })
}
