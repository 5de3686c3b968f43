//! The workloads in Soufflé, compiled to C++, where it is installed.
//!
//! It reports no times: its program is measured from files to the fixed point.

use std::fs;
use std::process::Command;

use super::engine::Found;
use super::facts::{Files, Keys};
use super::workload::{Rules, Workload};
use crate::tool;

/// Checks whether it is installed.
///
/// # Errors
/// It is not.
pub fn installed() -> Result<(), String> {
    tool::stdout_of(Command::new("souffle").arg("--version"), "souffle").map(drop)
}

pub fn run(workload: &Workload, files: &Files) -> Result<Option<Found>, String> {
    let Some(text) = program(workload) else { return Ok(None) };
    let folder = tool::target("souffle")?;
    let (source, program) =
        (folder.join(format!("{}.dl", workload.name)), folder.join(workload.name));
    if !fs::read_to_string(&source).is_ok_and(|old| old == text) || !program.exists() {
        fs::write(&source, &text).map_err(|error| format!("{}: {error}", source.display()))?;
        tool::all_output_of(
            Command::new("souffle").arg("-o").arg(&program).arg(&source),
            "souffle",
        )?;
    }
    // The shell reports the times of its children.
    let mut command = Command::new("sh");
    command.args(["-c", "\"$0\" -F \"$1\"; times"]).arg(&program).arg(files.folder());
    let printed = tool::stdout_of(&mut command, "the program of souffle")?;
    let mut sizes = printed.lines().filter_map(|line| line.split_once('\t')?.1.parse().ok());
    let (Some(tuples), Some(door_s)) =
        (sizes.next_back(), printed.lines().next_back().and_then(seconds))
    else {
        return Err(format!("the program of souffle says `{printed}`"));
    };
    Ok(Some(Found { tuples, bytes: None, cpu_s: None, door_s }))
}

/// The sum of times in the format of a shell: `0m1.250s 0m0.031s`.
fn seconds(line: &str) -> Option<f64> {
    let one = |word: &str| {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    line.split(' ').map(one).sum()
}

fn program(workload: &Workload) -> Option<String> {
    let key = match workload.keys {
        Keys::Near => "number",
        Keys::Text => "symbol",
        // Distributions build it with integers of 32 bits.
        Keys::Far => return None,
    };
    let (result, rules) = match workload.rules {
        Rules::Closure => {
            ("path", "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).")
        }
        Rules::Closure3 => (
            "path",
            "path(c, x, y) :- edge(c, x, y). path(c, x, z) :- path(c, x, y), edge(c, y, z).",
        ),
        Rules::Closure4 => (
            "path",
            "path(c, d, x, y) :- edge(c, d, x, y).
             path(c, d, x, z) :- path(c, d, x, y), edge(c, d, y, z).",
        ),
        Rules::SameGeneration => (
            "sg",
            "sg(x, y) :- edge(p, x), edge(p, y), x != y.
             sg(x, y) :- edge(a, x), sg(a, b), edge(b, y).",
        ),
        Rules::PointsTo => (
            "pt",
            "pt(y, x) :- addressOf(y, x).
             pt(y, x) :- edge(y, z), pt(z, x).
             pt(y, w) :- load(y, x), pt(x, z), pt(z, w).
             pt(z, w) :- store(y, x), pt(y, z), pt(x, w).",
        ),
        Rules::Shortest => return None,
    };
    let columns = match workload.rules {
        Rules::Closure3 => 3,
        Rules::Closure4 => 4,
        _ => 2,
    };
    let declaration = |name: &str| {
        let columns: Vec<String> = (0..columns).map(|at| format!("c{at}:{key}")).collect();
        format!(".decl {name}({})\n", columns.join(", "))
    };
    let mut text = declaration(result);
    for name in super::ours::inputs(workload.rules) {
        text += &declaration(name);
        text += &format!(".input {name}(IO=file, filename=\"{name}.csv\", delimiter=\",\")\n");
    }
    Some(format!("{text}{rules}\n.printsize {result}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_shell_are_summed() {
        assert_eq!(seconds("0m1.250s 1m0.250s"), Some(61.5));
        assert_eq!(seconds("path\t12"), None);
    }
}
