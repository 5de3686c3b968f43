//! Programs in the component language, run in this process.
//!
//! The only place of the benchmarks that knows the library's way to do that.

use tidemill::components::run::Prepared;
use tidemill::components::{RunOptions, Streams, load_text};
use tidemill::tape::Tape;

use crate::measure::{Measured, measured};

/// Why components cannot be measured, if so.
pub const ABSENT: Option<&str> = None;

/// How a program is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Generated code can be preempted.
    pub checkpoints: bool,
    /// Loops.
    pub workers: u32,
}

/// Compiles a program, then runs it with these arguments and measures that: `Measured` takes the
/// number that the program printed for the result.
///
/// # Errors
/// Diagnostics, faults, or a program that printed something else.
pub fn run(source: &str, arguments: &[u64], options: Options) -> Result<Measured, String> {
    let loaded = load_text("bench.com", source);
    if loaded.program.is_none() {
        return Err(loaded.diagnostics.iter().map(|one| loaded.sources.render(one)).collect());
    }
    let options = RunOptions {
        no_checkpoints: !options.checkpoints,
        workers: Some(options.workers),
        arguments: arguments.iter().map(u64::to_string).collect(),
        ..RunOptions::default()
    };
    let prepared = Prepared::new(&loaded, options)?;
    let (data, notes) = (Tape::default(), Tape::default());
    let (out, err) = (Box::new(data.clone()), Box::new(notes.clone()));
    measured(|| {
        prepared.run(Streams { data: out, notes: err, is_watched: false })?;
        let printed = data.text();
        let number = printed.trim().parse();
        number.map_err(|_| format!("printed {:?} and {:?}", printed.trim(), notes.text().trim()))
    })
}
