//! A program on a capture, in a process of its own.

use std::process::Command;

use super::capture::Capture;
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
