//! `sim`.

use std::fs;
use std::path::Path;
use std::time::Instant;

use tidemill::console::Form;
use tidemill::script;
use tidemill::sim::{SimOptions, Simulation};
use tidemill_stdx::diag::{Sources, has_errors};

use super::Relations;
use super::components;
use super::interrupt::OnTerminate;
use super::outside::{self, Prelude, console};
use crate::Status;
use crate::args::{Keys, SimArgs, unused};
use crate::output::explain_failure;
use crate::report::Reporter;

/// Simulates a program.
pub fn sim(args: SimArgs, report: Reporter) -> Status {
    if components::are_meant(&args.sources) {
        return components::sim(&args, report);
    }
    let unused = unused(&args);
    let injected = outside::injected(&args.tuples, args.script.as_deref());
    let relations = Relations { injected: Some(injected), ..Relations::default() };
    let prelude =
        outside::prelude(&unused, &args.sources, &args.tuples, relations, OnTerminate::End, report);
    let prelude = match prelude {
        Ok(prelude) => prelude,
        Err(status) => return status,
    };
    let Prelude { program, operators, extra, interrupt } = prelude;
    let keys = Keys { key: args.key.clone(), identity: None, peers: None };
    let seal = match outside::seal(&keys, report) {
        Ok(seal) => seal,
        Err(status) => return status,
    };
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
        stop: Some(interrupt.asked.clone()),
    };
    let mut simulation = match Simulation::new(program, options) {
        Ok(simulation) => simulation,
        Err(message) => return outside::failed(report, &message),
    };
    if let Some(path) = &args.script
        && let Err(status) = add_script(&mut simulation, path, report)
    {
        return status;
    }
    let form = if args.engine.json { Form::Json } else { Form::Text };
    let began = Instant::now();
    let ran = simulation.run(console(form, report));
    interrupt.over();
    match ran {
        Err(error) => outside::failed(report, &format!("the simulation cannot run: {error}")),
        Ok(ended) => {
            if ended.failure.is_none() {
                report.note(&format!("simulated in {:.3} s", began.elapsed().as_secs_f64()));
            }
            if args.engine.stats {
                outside::print_stats(&ended.summary, report);
            }
            if ended.summary.interrupted {
                return interrupt.status();
            }
            if !ended.is_well() {
                report.error(&format!("failed; --seed {} repeats it", args.seed));
                return Status::Failed;
            }
            ended.failure.map_or(Status::Fine, |failure| explain_failure(&failure))
        }
    }
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
