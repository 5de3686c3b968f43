//! Simulates the program in the given files: five nodes, twenty seconds, some loss.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use tidemill::console::{Console, Form};
use tidemill::program::{LoadOptions, Program};
use tidemill::sim::{FaultOptions, SimOptions};

fn main() -> ExitCode {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();

    // Errors in the files are diagnostics; without errors there is a program.
    let program = Program::load(&files, &LoadOptions::default());
    for diagnostic in &program.diagnostics {
        eprint!("{}", program.sources.render(diagnostic));
    }
    if program.has_errors() {
        return ExitCode::FAILURE;
    }

    let faults = FaultOptions { loss: 0.05, ..FaultOptions::default() };
    let options =
        SimOptions { nodes: 5, end_ns: Some(20_000_000_000), faults, ..SimOptions::default() };
    let console = Console::new(Form::Json, Box::new(io::stdout()), Box::new(io::stderr()));
    match program.sim(options, console) {
        Ok(report) => {
            eprintln!("{} messages", report.nodes.as_ref().map_or(0, |nodes| nodes.messages));
            if report.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
