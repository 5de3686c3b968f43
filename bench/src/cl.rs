//! Programs in the component language, run in this process.
//!
//! The only place of the benchmarks that knows the library's way to do that.

use crate::measure::Measured;

/// Why components cannot be measured, if so.
pub const ABSENT: Option<&str> = Some("crate cl not built yet");

/// How a program is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Generated code can be preempted.
    pub checkpoints: bool,
}

/// Compiles a program, then runs it with these arguments and measures that: `Measured` takes the
/// number that the program printed for the result.
///
/// # Errors
/// Diagnostics, faults, or a program that printed something else.
pub fn run(source: &str, arguments: &[u64], options: Options) -> Result<Measured, String> {
    let checkpoints = if options.checkpoints { "with" } else { "without" };
    let what =
        format!("{} bytes of source, {arguments:?}, {checkpoints} checkpoints", source.len());
    Err(format!("absent: {} ({what})", ABSENT.unwrap_or("no compiler")))
}
