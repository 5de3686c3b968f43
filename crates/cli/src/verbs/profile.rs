//! `explain --profile`.

use std::io;

use tidemill::console::Console;
use tidemill::graph;
use tidemill::profile::{Profile, annotate, flame_graph, table};
use tidemill::program::Program;
use tidemill::sim::{SimOptions, Simulation};

use super::interrupt::{Interrupt, OnTerminate};
use super::script_file::{self, ScriptFile};
use super::tuples::{self, Addresses};
use super::{Relations, common, components, sim};
use crate::args::{ExplainArgs, Form, Simulated, Tuples};
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// The default end of the simulation: most programs never become idle.
const END_NS: u64 = 10_000_000_000;

/// Simulates a program, and prints the cost of its rules.
pub fn explain(args: &ExplainArgs, report: Reporter) -> Status {
    match profiled(args, report) {
        Ok(status) | Err(status) => status,
    }
}

fn profiled(args: &ExplainArgs, report: Reporter) -> Result<Status, Status> {
    let Simulated { nodes, seed, end, script, fact, inject, devices } = &args.simulated;
    let given = Tuples { fact: fact.clone(), inject: inject.clone() };
    let script = ScriptFile::read(script.as_deref(), report)?;
    let injected = script_file::injected(&given, script.as_ref());
    let relations = Relations { injected: Some(injected), ..Relations::default() };
    let program = super::load(&args.sources, relations, report);
    if program.has_errors() {
        return Err(Status::Failed);
    }
    let drawing = graph::drawing(&program);
    let no_signals = |error: io::Error| common::failed(report, format!("no signals: {error}"));
    let interrupt = Interrupt::new(OnTerminate::End).map_err(no_signals)?;
    interrupt.insist("a turn", report).map_err(no_signals)?;
    let (script, texts) = script_file::checked(script, report)?;
    let of_script = script.as_ref().map_or((None, None), |script| (script.nodes, script.seed));
    let nodes = nodes.or(of_script.0).unwrap_or(1);
    let options = SimOptions {
        nodes,
        seed: seed.or(of_script.1).unwrap_or(1),
        end_ns: Some(end.unwrap_or(END_NS)),
        landmark: common::landmark(&args.sources.defines),
        extra: tuples::extra(&given, &program, &Addresses::Simulated(nodes), report)?,
        memory_max: components::most_of_memory(),
        packets: sim::engine_of_graphs(None, nodes),
        profile: true,
        devices: devices.clone(),
        stop: Some(interrupt.requested.clone()),
        ..SimOptions::default()
    };
    let mut simulation = simulation(program, options, report)?;
    if let Some(script) = &script {
        common::report_all(&texts, &simulation.script(script, &texts), report)?;
    }
    let ran = simulation.run(Console::silent());
    interrupt.over();
    let ended = ran.map_err(|message| common::failed(report, &message))?;
    let profile = ended.profile.as_ref().ok_or(Status::Failed)?;
    let mut out = Out::new();
    out.write(&shown(args.form, profile, drawing));
    if ended.nodes.as_ref().is_some_and(|summary| summary.interrupted) {
        return Ok(interrupt.status());
    }
    if !ended.is_well() {
        report.error("the simulation failed: `tidemill sim` with the same options shows why");
        return Err(Status::Failed);
    }
    Ok(out.finish())
}

/// The profile in the form that is asked for.
fn shown(form: Form, profile: &Profile, mut drawing: graph::Graph) -> String {
    match form {
        Form::Text => table(profile),
        Form::Svg => flame_graph(profile),
        Form::Dot => {
            annotate(&mut drawing, profile);
            graph::dot(&drawing)
        }
        Form::Mermaid => {
            annotate(&mut drawing, profile);
            graph::mermaid(&drawing)
        }
    }
}

fn simulation(
    program: Program,
    options: SimOptions,
    report: Reporter,
) -> Result<Simulation, Status> {
    Simulation::new(program, options).map_err(|message| common::failed(report, &message))
}
