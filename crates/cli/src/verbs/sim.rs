//! `sim`.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use tidemill::console::Form;
use tidemill::program::{Kinds, Program};
use tidemill::run::EngineKind as GraphEngine;
use tidemill::script::{Script, seconds_text};
use tidemill::sim::{FaultOptions, Phase, Settle, SimOptions, Simulation, can_be_unsettled};
use tidemill::summary::Summary;

use super::common::{self, console};
use super::components::{self, most_of_memory};
use super::interrupt::{Interrupt, OnTerminate};
use super::script_file::{self, ScriptFile};
use super::tuples::{self, Addresses};
use super::{Relations, packets};
use crate::args::{EngineKind, Keys, SimArgs, Sources, Tuples, unused};
use crate::output::explain_failure;
use crate::report::Reporter;
use crate::status::Status;

/// Simulates a program.
pub fn sim(args: SimArgs, report: Reporter) -> Status {
    match start(args, report) {
        Ok(status) | Err(status) => status,
    }
}

fn start(args: SimArgs, report: Reporter) -> Result<Status, Status> {
    let kinds = Kinds::of(&args.sources.files);
    common::refuse(&unused(&args, kinds), report)?;
    let no_signals = |error: io::Error| common::failed(report, format!("no signals: {error}"));
    let script = ScriptFile::read(args.script.as_deref(), report)?;
    let given = (script.as_ref(), args.root.as_deref());
    let program = load(&args.sources, &args.tuples, given, report)?;
    let interrupt = Interrupt::new(OnTerminate::End).map_err(no_signals)?;
    interrupt.insist("a turn", report).map_err(no_signals)?;
    simulate(program, (args, script), interrupt, report)
}

/// Loads a program for a simulation.
pub fn load(
    sources: &Sources,
    tuples: &Tuples,
    (script, root): (Option<&ScriptFile>, Option<&Path>),
    report: Reporter,
) -> Result<Program, Status> {
    common::refuse_idle(Kinds::of(&sources.files), report)?;
    let injected = script_file::injected(tuples, script);
    let relations = Relations { injected: Some(injected), ..Relations::default() };
    let program = super::load(sources, relations, report);
    if program.has_errors() {
        return Err(Status::Failed);
    }
    common::refuse_root(root, &program, report)?;
    Ok(program)
}

/// Simulates a program.
fn simulate(
    program: Program,
    (args, script): (SimArgs, Option<ScriptFile>),
    interrupt: Interrupt,
    report: Reporter,
) -> Result<Status, Status> {
    let (json, stats, profile) = (args.engine.json, args.engine.stats, args.engine.profile.clone());
    let svg = args.svg.clone();
    let (script, sources) = script_file::checked(script, report)?;
    let options = options(args, script.as_ref(), &program, &interrupt, report)?;
    let (seed, phases) = (options.seed, options.then.clone());
    refuse_settle(options.settle, options.end_ns, script.as_ref(), &program, report)?;
    let simulation = Simulation::new(program, options);
    let mut simulation = simulation.map_err(|message| common::failed(report, &message))?;
    if let Some(script) = &script {
        common::report_all(&sources, &simulation.script(script, &sources), report)?;
    }
    refuse_phases(&phases, simulation.faults_end_ns(), report)?;
    let form = if json { Form::Json } else { Form::Text };
    let (began, again) = (Instant::now(), simulation.clone());
    let ran = simulation.run(console(form, report));
    interrupt.over();
    let ended = ran.map_err(|message| common::failed(report, &message))?;
    if ended.failure.is_none() {
        report.note(&format!("simulated in {:.3} s", began.elapsed().as_secs_f64()));
    }
    if stats {
        common::print_stats(&ended, report);
    }
    common::write_profile(profile.as_deref(), &ended, report)?;
    if ended.nodes.as_ref().is_some_and(|summary| summary.interrupted) {
        return Ok(interrupt.status());
    }
    let has_failed = |it: &Summary| it.violations > 0 || it.expectations_failed > 0;
    let is_wrong = ended.nodes.as_ref().is_some_and(has_failed);
    if svg.is_some() || (is_wrong && !report.is_quiet()) {
        explain(&again, svg.as_deref(), report)?;
    }
    if !ended.is_well() {
        report.error(&format!("failed; --seed {} repeats it", seed));
        return Err(Status::Failed);
    }
    Ok(ended.failure.map_or(Status::Fine, |failure| explain_failure(&failure)))
}

/// Explains why a simulation found a violation, and draws the run.
pub(super) fn explain(
    simulation: &Simulation,
    svg: Option<&Path>,
    report: Reporter,
) -> Result<(), Status> {
    let explained = simulation.explain();
    let explained = explained.map_err(|message| common::failed(report, &message))?;
    let Some(explanation) = explained else {
        return match svg {
            None => Ok(()),
            Some(_) => {
                let reason = "nothing is drawn: the program writes files, and would again";
                Err(common::failed(report, reason))
            }
        };
    };
    if let Some(why) = explanation.why() {
        report.block(why);
    }
    if let Some(why_not) = explanation.why_not() {
        report.block(why_not);
    }
    let Some(path) = svg else { return Ok(()) };
    fs::write(path, explanation.diagram()).map_err(|error| {
        let name = path.display();
        common::failed(report, format!("{name}: cannot write the diagram: {error}"))
    })
}

/// The options of a simulation.
fn options(
    args: SimArgs,
    script: Option<&Script>,
    program: &Program,
    interrupt: &Interrupt,
    report: Reporter,
) -> Result<SimOptions, Status> {
    let keys = Keys { key: args.key.clone(), identity: None, peers: None };
    let seal = common::seal(&keys, report)?;
    let linearizable = common::model(args.linearizable.as_ref(), (&args.sources, program), report)?;
    let default = SimOptions::default();
    let nodes = args.nodes.or(script.and_then(|script| script.nodes)).unwrap_or(default.nodes);
    let extra = tuples::extra(&args.tuples, program, &Addresses::Simulated(nodes), report)?;
    let seed = args.seed.or(script.and_then(|script| script.seed)).unwrap_or(default.seed);
    let tolerated_ns = args.tolerate.unwrap_or(0);
    Ok(SimOptions {
        nodes,
        workers: args.workers,
        seed,
        end_ns: args.end,
        faults: faults(&args),
        then: args.then,
        settle: args.settle.map(|after_ns| Settle { after_ns, tolerated_ns }),
        seal,
        linearizable,
        observes_order: false,
        sample_ns: None,
        trace: args.trace,
        landmark: common::landmark(&args.sources.defines),
        extra,
        components: components::engine(args.engine.engine),
        memory_max: most_of_memory(),
        packets: engine_of_graphs(args.engine.engine, nodes),
        turn_tuples_max: args.engine.turn_limit,
        profile: args.engine.profile.is_some(),
        devices: args.devices.all(),
        root: args.root,
        stop: Some(interrupt.requested.clone()),
        ends_process: true,
    })
}

/// Refuses phases that are out of order, or begin after the end of faults.
fn refuse_phases(
    phases: &[Phase],
    faults_end_ns: Option<u64>,
    report: Reporter,
) -> Result<(), Status> {
    let mut wrong = Vec::new();
    for (phase, next) in phases.iter().zip(phases.iter().skip(1)) {
        if phase.from_ns >= next.from_ns {
            let [from, next] = [phase, next].map(|phase| seconds_text(phase.from_ns));
            wrong.push(format!("--then {next} must come before --then {from}: in order of time"));
        }
    }
    let end_ns = faults_end_ns.unwrap_or(u64::MAX);
    for phase in phases.iter().filter(|phase| phase.from_ns >= end_ns) {
        let [from, end] = [phase.from_ns, end_ns].map(seconds_text);
        wrong.push(format!("--then {from} has no effect here: faults end at {end} s"));
    }
    common::refuse(&wrong, report)
}

/// The faults from the start on.
fn faults(args: &SimArgs) -> FaultOptions {
    let default = FaultOptions::default();
    let (least, most, latency_shape) =
        args.latency.unwrap_or((default.latency.0, default.latency.1, default.latency_shape));
    FaultOptions {
        latency: (least, most),
        latency_shape,
        loss: args.loss,
        duplicate: args.duplicate,
        reorder: args.reorder,
        churn_ns: args.churn,
        kill_ns: args.kill,
        partition_ns: args.partition,
        pause_ns: args.pause,
        slow_ns: args.slow,
        skew_ns: args.skew,
    }
}

/// The engine for the graphs of `nodes` nodes. Compiling for each of several nodes takes longer
/// than it saves, and the results are the same.
pub fn engine_of_graphs(chosen: Option<EngineKind>, nodes: u32) -> GraphEngine {
    match (chosen, nodes) {
        (None, 2..) => GraphEngine::Dispatch,
        (chosen, _) => packets::kind(chosen),
    }
}

/// Refuses `--settle` if nothing can be unsettled, or the run is too short for it.
pub fn refuse_settle(
    settle: Option<Settle>,
    end_ns: Option<u64>,
    script: Option<&Script>,
    program: &Program,
    report: Reporter,
) -> Result<(), Status> {
    let Some(settle) = settle else { return Ok(()) };
    let end_ns = end_ns.into_iter().chain(script.and_then(Script::end_ns)).min();
    let wrong = match end_ns {
        _ if !can_be_unsettled(program) => {
            "--settle has no effect here: the program has no table `unsettled`"
        }
        None => "--settle needs an end of the run: --for S, or `at T end` in a script",
        Some(end_ns) if end_ns <= settle.over_ns() => {
            "--settle S takes 1.5 S at the end of a run, and this run is shorter"
        }
        Some(_) => return Ok(()),
    };
    common::refuse(&[wrong.to_owned()], report)
}
