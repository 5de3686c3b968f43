//! Instructions counted by callgrind: a figure that no other program on the machine changes.
//!
//! A contender is a process that does its work a number of times. It is run twice under valgrind,
//! with few times and with more: the difference is the cost of these, without the start of the
//! process and the compiler of our code. Only instructions outside the kernel are counted.

use std::process::Command;

use crate::tool;

/// Whether instructions can be counted.
///
/// # Errors
/// Valgrind is not installed, or does not run.
pub fn available() -> Result<(), String> {
    let mut command = Command::new("valgrind");
    tool::stdout_of(command.arg("--version"), "valgrind").map(drop)
}

/// Valgrind, which counts the instructions of the command that follows.
pub fn valgrind() -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command
}

/// The process of this program that is counted: `measure` and so on.
///
/// # Errors
/// The program is not found.
pub fn own(arguments: &[&str]) -> Result<Command, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = valgrind();
    command.arg(own).arg("measure").args(arguments);
    Ok(command)
}

/// The instructions of one repetition; `command` makes the process for a number of repetitions.
///
/// # Errors
/// The process fails.
pub fn each(
    (few, more): (u64, u64),
    command: impl Fn(u64) -> Result<Command, String>,
) -> Result<f64, String> {
    let [few_count, more_count] = [few, more].map(|times| collected(&mut command(times)?));
    Ok((more_count? as f64 - few_count? as f64) / (more - few) as f64)
}

fn collected(command: &mut Command) -> Result<u64, String> {
    let text = tool::all_output_of(command, "valgrind")?;
    count_in(&text).ok_or_else(|| "callgrind prints no count".to_owned())
}

/// The instructions that callgrind has seen: `==1234== Collected : 5678`.
fn count_in(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        let text = "==7== Events    : Ir\n==7== Collected : 12345\n==7== I   refs:      12,345\n";
        assert_eq!(count_in(text), Some(12345));
        assert_eq!(count_in("==7== Command: true\n"), None);
    }
}
