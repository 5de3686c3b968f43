//! `sim`.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Instant;

use tidemill::console::Form;
use tidemill::program::{FileKind, Kinds, Program};
use tidemill::run::{Clock, ComponentOptions, Report, RunOptions};
use tidemill::script;
use tidemill::sim::{SimOptions, Simulation};
use tidemill_diag::{Sources, has_errors};

use super::Relations;
use super::components::{self, most_of_memory};
use super::interrupt::{Interrupt, OnTerminate};
use super::outside::{self, console};
use crate::Status;
use crate::args::{Keys, SimArgs, unused};
use crate::output::explain_failure;
use crate::report::Reporter;

/// Simulates a program.
pub fn sim(args: SimArgs, report: Reporter) -> Status {
    match start(args, report) {
        Ok(status) | Err(status) => status,
    }
}

fn start(args: SimArgs, report: Reporter) -> Result<Status, Status> {
    let kinds = Kinds::of(&args.sources.files);
    outside::refuse(&unused(&args, kinds), report)?;
    let no_signals = |error: io::Error| outside::failed(report, &format!("no signals: {error}"));
    let injected = outside::injected(&args.tuples, args.script.as_deref());
    let relations = Relations { injected: Some(injected), ..Relations::default() };
    let program = super::load(&args.sources, relations, report);
    if program.has_errors() {
        return Err(Status::Failed);
    }
    outside::refuse_root(args.root.as_deref(), &program, report)?;
    let interrupt = Interrupt::new(OnTerminate::End).map_err(no_signals)?;
    let others = [FileKind::Components, FileKind::Packets].into_iter().collect();
    match (kinds.has(FileKind::Rules), kinds.meets(others)) {
        (true, false) => {
            interrupt.insist(report).map_err(no_signals)?;
            simulate(program, args, interrupt, report)
        }
        (false, true) if kinds.has(FileKind::Components) => {
            run_virtually(program, &args, &interrupt, report)
        }
        _ => Err(outside::failed(
            report,
            &format!("{} cannot be simulated together in this version", kinds.names()),
        )),
    }
}

/// Runs components in virtual time: it stands still while processes run, and jumps when all wait.
/// Nothing can be read from outside, so that the run repeats.
fn run_virtually(
    program: Program,
    args: &SimArgs,
    interrupt: &Interrupt,
    report: Reporter,
) -> Result<Status, Status> {
    let stop = interrupt.stream.try_clone();
    let stop = stop.map_err(|error| outside::failed(report, &format!("no signals: {error}")))?;
    let options = RunOptions {
        seed: Some(args.seed),
        clock: Clock::Virtual,
        end_ns: args.end,
        stop: Some(OwnedFd::from(stop)),
        components: ComponentOptions {
            engine: components::engine(args.engine.engine),
            memory_max: most_of_memory(),
            root: args.root.clone(),
            ..ComponentOptions::default()
        },
        ..RunOptions::default()
    };
    let ran = program.run(options, console(Form::Text, report));
    let ended = ran.map_err(|message| outside::failed(report, &message))?;
    Ok(super::run::finish(ended, args.engine.stats, report))
}

/// Simulates nodes of rules.
fn simulate(
    program: Program,
    args: SimArgs,
    interrupt: Interrupt,
    report: Reporter,
) -> Result<Status, Status> {
    let operators = program.rules.operators;
    let rules = program.rules.program.ok_or(Status::Failed)?;
    let extra = outside::tuples(&args.tuples, &rules.plan, report)?;
    let keys = Keys { key: args.key.clone(), identity: None, peers: None };
    let seal = outside::seal(&keys, report)?;
    let default = SimOptions::default();
    let options = SimOptions {
        nodes: args.nodes,
        seed: args.seed,
        end_ns: args.end,
        latency: args.latency.unwrap_or(default.latency),
        loss: args.loss,
        duplicate: args.duplicate,
        reorder: args.reorder,
        churn_ns: args.churn,
        seal,
        trace: args.trace,
        landmark: outside::landmark(&args.sources.defines),
        extra,
        operators,
        turn_tuples_max: args.engine.turn_limit,
        root: args.root,
        stop: Some(interrupt.asked.clone()),
    };
    let simulation = Simulation::new(rules, options);
    let mut simulation = simulation.map_err(|message| outside::failed(report, &message))?;
    if let Some(path) = &args.script {
        add_script(&mut simulation, path, report)?;
    }
    let form = if args.engine.json { Form::Json } else { Form::Text };
    let began = Instant::now();
    let ran = simulation.run(console(form, report));
    interrupt.over();
    let ended = ran
        .map_err(|error| outside::failed(report, &format!("the simulation cannot run: {error}")))?;
    if ended.failure.is_none() {
        report.note(&format!("simulated in {:.3} s", began.elapsed().as_secs_f64()));
    }
    let (is_well, interrupted) = (ended.is_well(), ended.summary.interrupted);
    if args.engine.stats {
        let nodes = Some(ended.summary);
        outside::print_stats(&Report { nodes, ..Report::default() }, report);
    }
    if interrupted {
        return Ok(interrupt.status());
    }
    if !is_well {
        report.error(&format!("failed; --seed {} repeats it", args.seed));
        return Err(Status::Failed);
    }
    Ok(ended.failure.map_or(Status::Fine, |failure| explain_failure(&failure)))
}

fn add_script(simulation: &mut Simulation, path: &Path, report: Reporter) -> Result<(), Status> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| {
        outside::failed(report, &format!("{name}: cannot read the script: {error}"))
    })?;
    let mut sources = Sources::new();
    let file = sources.add(name, text.clone());
    let (script, mut found) = script::parse(file, &text);
    if !has_errors(&found) {
        found.extend(simulation.script(&script, &sources));
    }
    report.diagnostics(&sources, &found);
    if has_errors(&found) { Err(Status::Failed) } else { Ok(()) }
}
