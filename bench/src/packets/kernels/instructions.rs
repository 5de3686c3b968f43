//! Instructions per packet, counted by callgrind.
//!
//! A contender is a process that runs the trace a number of times. It is run twice under valgrind,
//! with a few passes and with some more: the difference is the cost of these, without the start of
//! the process and the compiler of our code.

use std::process::Command;

use super::graphs::{Way, carried};
use super::peers::C;
use crate::tool;

/// Passes of the two runs.
const PASSES: (u64, u64) = (1, 4);

/// Whether instructions can be counted.
///
/// # Errors
/// Valgrind is not installed, or does not run.
pub fn available() -> Result<(), String> {
    let mut command = Command::new("valgrind");
    tool::stdout_of(command.arg("--version"), "valgrind").map(drop)
}

/// Instructions per packet of a graph, from source to sink.
///
/// # Errors
/// The process fails.
pub fn of_graph(way: Way<'_>, packets: u32) -> Result<f64, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let (kind, name) = match way {
        Way::Link => ("link", ""),
        Way::Kernel(name) => ("kernel", name),
        Way::Component(file) => ("component", file),
    };
    per_packet(packets, |passes| {
        let mut command = valgrind();
        command.arg(&own).args(["measure", "kernels", kind, name]);
        command.args([packets.to_string(), passes.to_string()]);
        command
    })
}

/// Instructions per packet of a kernel in C, from the trace to the reader.
///
/// # Errors
/// The process fails.
pub fn of_c(c: &C, kernel: u32, packets: u32) -> Result<f64, String> {
    per_packet(packets, |passes| {
        let mut command = valgrind();
        c.command(&mut command, kernel, passes);
        command
    })
}

/// The process that is counted: `kernel NAME PACKETS PASSES` and so on.
///
/// # Errors
/// Other arguments, or the graph does not run.
pub fn measure(arguments: &[String]) -> Result<(), String> {
    let wrong = || format!("kernels is not measured with {arguments:?}");
    let [kind, name, packets, passes] = arguments else { return Err(wrong()) };
    let way = match kind.as_str() {
        "link" => Way::Link,
        "kernel" => Way::Kernel(name),
        "component" => Way::Component(name),
        _ => return Err(wrong()),
    };
    let packets = packets.parse().map_err(|_| wrong())?;
    carried(way, packets, passes.parse().map_err(|_| wrong())?)
}

fn valgrind() -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command
}

fn per_packet(packets: u32, command: impl Fn(u64) -> Command) -> Result<f64, String> {
    let (few, more) = PASSES;
    let counts = [few, more].map(|passes| collected(&mut command(passes)));
    let [few_count, more_count] = counts;
    let count = more_count? as f64 - few_count? as f64;
    Ok(count / (f64::from(packets) * (more - few) as f64))
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
    fn the_count_is_found_and_other_processes_are_refused() {
        let text = "==7== Events    : Ir\n==7== Collected : 12345\n==7== I   refs:      12,345\n";
        assert_eq!(count_in(text), Some(12345));
        assert_eq!(count_in("==7== Command: true\n"), None);
        let refused = ["kernel", "Nothing", "300", "x"].map(str::to_owned);
        assert!(measure(&refused).is_err_and(|text| text.contains("\"x\"")));
        let carried = ["kernel", "Nothing", "300", "1"].map(str::to_owned);
        assert_eq!(measure(&carried), Ok(()));
    }
}
