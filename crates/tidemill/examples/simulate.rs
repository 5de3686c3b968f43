//! Simulates the program in the given files: five nodes, twenty seconds, some loss.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use tidemill::console::{Console, Form};
use tidemill::program::{LoadOptions, Program};
use tidemill::sim::{SimOptions, Simulation};

fn main() -> ExitCode {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();

    // Whatever is wrong with the files is a diagnostic; without errors there is a program.
    let program = Program::load(&files, &LoadOptions::default());
    for diagnostic in &program.diagnostics {
        eprint!("{}", program.sources.render(diagnostic));
    }
    let Some(rules) = program.rules.program else { return ExitCode::FAILURE };

    let options =
        SimOptions { nodes: 5, end_ns: Some(20_000_000_000), loss: 0.05, ..SimOptions::default() };
    let console = Console::new(Form::Json, Box::new(io::stdout()), Box::new(io::stderr()));
    let ended = Simulation::new(rules, options)
        .and_then(|simulation| simulation.run(console).map_err(|error| error.to_string()));
    match ended {
        Ok(ended) => {
            eprintln!("{} messages", ended.summary.messages);
            if ended.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
