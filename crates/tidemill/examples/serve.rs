//! Runs one node of the program in the given file for ten seconds, on a port of its own.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use tidemill::console::{Console, Form};
use tidemill::load::{LoadOptions, load};
use tidemill::run::{Listen, RunOptions, run};

fn main() -> ExitCode {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let loaded = load(&files, &LoadOptions::default());
    for diagnostic in &loaded.diagnostics {
        eprint!("{}", loaded.sources.render(diagnostic));
    }
    let Some(program) = loaded.program else { return ExitCode::FAILURE };

    let options = RunOptions {
        listen: Listen::Address("localhost:10000".to_owned()),
        end_ns: Some(10_000_000_000),
        ..RunOptions::default()
    };
    let console = Console::new(Form::Text, Box::new(io::stdout()), Box::new(io::stderr()));
    match run(program, options, console) {
        Ok(ended) => {
            eprintln!("{} turns", ended.summary.turns);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
