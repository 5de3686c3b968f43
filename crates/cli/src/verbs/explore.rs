//! `explore`.

use tidemill::explore::{ExploreOptions, Explorer};
use tidemill_diag::Sources;

use super::common;
use super::components::most_of_memory;
use super::interrupt::{Interrupt, OnTerminate};
use super::sim;
use crate::args::ExploreArgs;
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// Explores a program.
pub fn explore(args: ExploreArgs, report: Reporter) -> Status {
    match start(args, report) {
        Ok(status) | Err(status) => status,
    }
}

fn start(args: ExploreArgs, report: Reporter) -> Result<Status, Status> {
    let script = args.script.as_deref();
    let program = sim::load(&args.sources, &args.tuples, (script, None), report)?;
    let extra = common::tuples(&args.tuples, &program, report)?;
    let mut sources = Sources::new();
    let script = script.map(|path| sim::read_script(path, &mut sources, report)).transpose()?;
    let interrupt = Interrupt::new(OnTerminate::End)
        .map_err(|error| common::failed(report, &format!("no signals: {error}")))?;
    let options = ExploreOptions {
        nodes: args.nodes,
        drops: args.drops,
        duplicates: args.duplicates,
        crashes: args.crashes,
        timers: args.timers,
        depth: args.depth,
        memory_max: args.memory.or_else(most_of_memory),
        depth_first: args.depth_first,
        reduction: !args.no_reduction,
        atomic_chains: args.atomic_chains,
        landmark: common::landmark(&args.sources.defines),
        extra,
        turn_tuples_max: args.turn_limit,
        stop: Some(interrupt.asked.clone()),
    };
    let explorer = Explorer::new(program, options);
    let mut explorer = explorer.map_err(|reason| {
        report.error(&format!("this program cannot be explored: {reason}"));
        Status::Usage
    })?;
    if let Some(script) = &script {
        sim::told(&sources, &explorer.script(script, &sources), report)?;
    }
    let found = explorer.run().map_err(|message| common::failed(report, &message))?;
    let mut out = Out::new();
    if let Some(counterexample) = &found.counterexample {
        out.write(&if args.json { counterexample.json() } else { counterexample.to_string() });
        out.write("\n");
    }
    out.write(&if args.json { found.json() } else { found.to_string() });
    out.write("\n");
    report.note(&found.cost());
    match out.finish() {
        Status::Fine if found.interrupted => Ok(interrupt.status()),
        Status::Fine if !found.is_well() => Err(Status::Failed),
        status => Ok(status),
    }
}
