//! Runs one node of the program in the given file for ten seconds, on a port of its own.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use tidemill::console::{Console, Form};
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Listen, NodeOptions, RunOptions};

fn main() -> ExitCode {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let program = Program::load(&files, &LoadOptions::default());
    for diagnostic in &program.diagnostics {
        eprint!("{}", program.sources.render(diagnostic));
    }

    let listen = Listen::Address("localhost:10000".to_owned());
    let options = RunOptions {
        end_ns: Some(10_000_000_000),
        nodes: NodeOptions { listen, ..NodeOptions::default() },
        ..RunOptions::default()
    };
    let console = Console::new(Form::Text, Box::new(io::stdout()), Box::new(io::stderr()));
    match program.run(options, console) {
        Ok(report) => {
            eprintln!("{} turns", report.nodes.map_or(0, |nodes| nodes.turns));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
