//! Shared by all parts: their options, and running commands.

use std::path::Path;
use std::process::Command;

/// What to check, and for how long.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Names of parts; none means all.
    pub parts: Vec<&'a str>,
    /// Fuzz targets; none means all.
    pub targets: Vec<&'a str>,
    /// The duration of the comparison, the attacks and each fuzz target.
    pub seconds: u64,
}

/// Runs a command to its end.
///
/// # Errors
/// It does not start, or exits with another status than 0; `hint` is a possible remedy.
pub fn succeed(command: &mut Command, hint: &str) -> Result<(), String> {
    let line = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status} of {line}; {hint}")),
        Err(error) => Err(format!("{error} at {line}; {hint}")),
    }
}

/// A cargo that also takes the unstable flags that sanitizers need.
pub fn unstable_cargo(root: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root).env("RUSTC_BOOTSTRAP", "1");
    command
}
