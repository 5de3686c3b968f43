//! `explore`.

use std::fs;
use std::path::Path;

use tidemill::error::Error;
use tidemill::explore::{ExploreOptions, ExploreReport, Explorer, repeat};
use tidemill::program::Program;
use tidemill::script::Script;
use tidemill::sim::{SimOptions, Simulation};
use tidemill_diag::Sources;

use super::common;
use super::components::most_of_memory;
use super::interrupt::{Interrupt, OnTerminate};
use super::script_file::{self, ScriptFile};
use super::sim;
use super::tuples::{self, Addresses};
use crate::args::{Bounds, ExploreArgs};
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
    let script = ScriptFile::read(args.bounds.script.as_deref(), report)?;
    let program = sim::load(&args.sources, &args.tuples, (script.as_ref(), None), report)?;
    let addresses = Addresses::Simulated(args.bounds.nodes);
    let extra = tuples::extra(&args.tuples, &program, &addresses, report)?;
    let (script, sources) = script_file::checked(script, report)?;
    let interrupt = Interrupt::new(OnTerminate::End)
        .map_err(|error| common::failed(report, format!("no signals: {error}")))?;
    let landmark = common::landmark(&args.sources.defines);
    let options = ExploreOptions {
        landmark,
        extra,
        turn_tuples_max: args.turn_limit,
        stop: Some(interrupt.requested.clone()),
        fingerprint: args.json,
        ..within(&args.bounds)
    };
    let script = script.as_ref().map(|script| (script, &sources));
    let found = search(program, options, script, report)?;
    let mut out = Out::new();
    if let Some(counterexample) = &found.counterexample {
        out.write(&if args.json { counterexample.json() } else { counterexample.to_string() });
        out.write("\n");
    }
    out.write(&if args.json { found.json() } else { found.to_string() });
    out.write("\n");
    report.note(&found.cost());
    let printed = out.finish();
    // The counterexample is printed, whether a file can be written or not.
    let is_wanted = args.save.is_some() || args.svg.is_some() || !report.is_quiet();
    if let (true, Some(counterexample)) = (is_wanted, &found.counterexample) {
        repeated(&counterexample.script, &args, report)?;
    }
    match printed {
        Status::Fine if found.interrupted => Ok(interrupt.status()),
        Status::Fine if !found.is_well() => Err(Status::Failed),
        status => Ok(status),
    }
}

/// The options of a search within bounds.
pub(super) fn within(bounds: &Bounds) -> ExploreOptions {
    ExploreOptions {
        nodes: bounds.nodes,
        drops: bounds.drops,
        duplicates: bounds.duplicates,
        crashes: bounds.crashes,
        timers: bounds.timers,
        depth: bounds.depth,
        memory_max: bounds.memory.or_else(most_of_memory),
        depth_first: bounds.depth_first,
        workers: bounds.workers,
        reduction: !bounds.no_reduction,
        symmetry: bounds.symmetry,
        atomic_chains: bounds.atomic_chains,
        ..ExploreOptions::default()
    }
}

/// Explores a program, and reports why it cannot be.
pub(super) fn search(
    program: Program,
    options: ExploreOptions,
    script: Option<(&Script, &Sources)>,
    report: Reporter,
) -> Result<ExploreReport, Status> {
    let explorer = Explorer::new(program, options);
    let mut explorer = explorer.map_err(|reason| {
        report.error(&format!("this program cannot be explored: {reason}"));
        Status::Usage
    })?;
    if let Some((script, sources)) = script {
        common::report_all(sources, &explorer.script(script, sources), report)?;
    }
    explorer.run().map_err(|error| {
        let status = common::failed(report, &error);
        if matches!(error, Error::Options(_)) { Status::Usage } else { status }
    })
}

/// Repeats a failing run in a simulation: explains it, draws it, and writes it as a script. Reports
/// why it cannot where no simulation fails in the same way.
fn repeated(script: &[String], args: &ExploreArgs, report: Reporter) -> Result<(), Status> {
    let failed = |error: Error| common::failed(report, error);
    let name = args.save.as_deref().unwrap_or(Path::new("found.sim"));
    let found = ScriptFile::of(name, script);
    // The search has printed the warnings.
    let again = report.only_errors();
    let program = sim::load(&args.sources, &args.tuples, (Some(&found), None), again)?;
    let addresses = Addresses::Simulated(args.bounds.nodes);
    let options = SimOptions {
        nodes: args.bounds.nodes,
        landmark: common::landmark(&args.sources.defines),
        extra: tuples::extra(&args.tuples, &program, &addresses, again)?,
        turn_tuples_max: args.turn_limit,
        ..SimOptions::default()
    };
    let simulation = Simulation::new(program, options).map_err(failed)?;
    let repetition = repeat(&simulation, script).map_err(failed)?;
    if let Some(path) = &args.save {
        save(path, script, repetition.as_ref().map(|it| it.seed), report)?;
    }
    match &repetition {
        Some(it) => sim::explain(&it.simulation, args.svg.as_deref(), report)?,
        None => report.note(&format!("{NOT_REPEATED}; so the violation is not explained here")),
    }
    match (&repetition, &args.svg) {
        (None, Some(_)) => Err(common::failed(report, format!("nothing is drawn: {NOT_REPEATED}"))),
        _ => Ok(()),
    }
}

/// Why a run has no derivation and no diagram.
const NOT_REPEATED: &str = "a simulation with this script does not fail: in the run a node waits \
                            before a turn, gets tuples of one message one by one, or coins fall \
                            as they seldom do";

/// Writes a failing run as a script; with `seed` it fails in a simulation, too.
fn save(path: &Path, script: &[String], seed: Option<u64>, report: Reporter) -> Result<(), Status> {
    let seeded = seed.filter(|seed| *seed > 1).map(|seed| format!("seed {seed}"));
    let lines = seeded.iter().chain(script);
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let name = path.display();
    fs::write(path, text).map_err(|error| {
        common::failed(report, format!("{name}: cannot write the script: {error}"))
    })?;
    if seed.is_some() {
        report.note(&format!("{name}: sim --script {name} repeats this run"));
    }
    Ok(())
}
