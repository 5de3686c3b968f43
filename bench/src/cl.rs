//! Programs in the component language, run in this process.
//!
//! No other file of the benchmarks uses the library's API for that.

use tidemill::program::{LoadOptions, Program};
use tidemill::run::{ComponentOptions, Prepared, RunOptions};
use tidemill::tape::taped;

use crate::measure::{Measured, measured};

/// Why components cannot be measured, if so.
pub const ABSENT: Option<&str> = None;

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Generated code can be preempted.
    pub checkpoints: bool,
    /// The number of loops.
    pub workers: u32,
}

/// Compiles a program, then runs it with these arguments and measures the run: the result in
/// `Measured` is the number that the program printed.
///
/// # Errors
/// Diagnostics, faults, or other output.
pub fn run(source: &str, arguments: &[u64], options: Options) -> Result<Measured, String> {
    let program = Program::of_text("bench.com", source, &LoadOptions::default());
    if program.has_errors() {
        return Err(program.diagnostics.iter().map(|one| program.sources.render(one)).collect());
    }
    let components = ComponentOptions {
        no_checkpoints: !options.checkpoints,
        workers: Some(options.workers),
        arguments: arguments.iter().map(u64::to_string).collect(),
        ..ComponentOptions::default()
    };
    let options = RunOptions { components, ..RunOptions::default() };
    let prepared = Prepared::new(program, options).map_err(|error| error.to_string())?;
    let (console, data, notes) = taped();
    measured(|| {
        prepared.run(console).map_err(|error| error.to_string())?;
        let printed = data.text();
        let number = printed.trim().parse();
        number.map_err(|_| format!("printed {:?} and {:?}", printed.trim(), notes.text().trim()))
    })
}
