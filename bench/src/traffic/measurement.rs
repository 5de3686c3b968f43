//! A program on a capture, in a process of its own.

use std::process::Command;

use tidemill::program::Program;
use tidemill::run::{Prepared, RunOptions};
use tidemill::tape::taped;

use super::capture::Capture;
use crate::measure::measured;
use crate::tool;

/// A measured run.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    pub cpu_s: f64,
    pub peak_bytes: f64,
}

/// The process that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    /// In this process.
    Inside,
    /// A process of its own, with fresh memory.
    Process,
}

impl Isolation {
    /// Runs something on a capture; its figures, and the rest of what it says. `inside` says CPU
    /// seconds, bytes, and a rest; `measure BENCH VARIANT FOLDER` says the same.
    ///
    /// # Errors
    /// It does not run.
    pub fn measure(
        self,
        (bench, variant): (&str, &str),
        capture: &Capture,
        inside: impl FnOnce() -> Result<String, String>,
    ) -> Result<(Measurement, String), String> {
        let printed = match self {
            Isolation::Inside => inside()?,
            Isolation::Process => {
                let own = std::env::current_exe().map_err(|error| error.to_string())?;
                let mut command = Command::new(own);
                command.args(["measure", bench, variant]).arg(capture.folder());
                tool::stdout_of(&mut command, "the program")?
            }
        };
        let mut words = printed.trim().splitn(3, ' ');
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok());
        let (Some(cpu_s), Some(peak_bytes)) = (number(), number()) else {
            return Err(format!("it says `{printed}`"));
        };
        let rest = words.next().unwrap_or_default().to_owned();
        Ok((Measurement { cpu_s, peak_bytes }, rest))
    }
}

/// Runs a program as `tidemill run` does; says CPU seconds, bytes, and what the program prints.
///
/// # Errors
/// It does not run, or does not end well.
pub fn run(program: Program, options: RunOptions) -> Result<String, String> {
    if let Some(first) = program.diagnostics.first().filter(|_| program.has_errors()) {
        return Err(program.sources.render(first));
    }
    let prepared = Prepared::new(program, options).map_err(|error| error.to_string())?;
    let (console, tape, notes) = taped();
    let measured = measured(|| {
        let report = prepared.run(console).map_err(|error| error.to_string())?;
        if report.is_well() {
            Ok(0)
        } else {
            Err(format!("it does not end well: {}", notes.text()))
        }
    })?;
    Ok(format!("{} {} {}", measured.cpu_s, measured.peak_bytes, tape.text()))
}
