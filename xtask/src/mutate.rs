//! Measures the tests of examples: `tidemill test --mutants` on each example of rules.
//!
//! ```text
//! examples/NAME/test.sim   its first lines are commands of `sim` and, perhaps, of `test`:
//!                          files, -D, --nodes and the like
//! ──> tidemill test FILES -D .. --nodes .. --script examples/NAME/test.sim --mutants
//! ```
//! Faults are those of `test` without options; if the script fails under these on the original
//! program, those of datagrams alone, or none. Survivors are printed, and counted by example.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The options.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Names of examples; none means all of rules.
    pub examples: Vec<&'a str>,
    /// The time per mutant, in seconds.
    pub wall: u64,
}

/// The number of mutants of an example.
#[derive(Clone, Copy, Default)]
struct Tally {
    all: usize,
    found: usize,
}

/// Tests the mutants of examples; prints the survivors.
///
/// # Errors
/// An example cannot run.
pub fn run(root: &Path, options: &Options<'_>) -> Result<(), String> {
    let mut build = Command::new("cargo");
    build.current_dir(root).args(["build", "--release", "-p", "tidemill-cli"]);
    match build.status() {
        Ok(status) if status.success() => {}
        _ => return Err(format!("{build:?} fails")),
    }
    let mut sum = Tally::default();
    for example in examples(root, &options.examples)? {
        let Some(Tally { all, found }) = test(root, &example, options.wall)? else { continue };
        println!("{example}: {found} of {all} mutants found");
        sum = Tally { all: sum.all + all, found: sum.found + found };
    }
    let share = 100 * sum.found / sum.all.max(1);
    println!("mutate: {} of {} mutants found, {share}%", sum.found, sum.all);
    Ok(())
}

/// The examples that consist of rules and have a script.
fn examples(root: &Path, chosen: &[&str]) -> Result<Vec<String>, String> {
    let folder = root.join("examples");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.filter_map(|it| it.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|it| chosen.is_empty() || chosen.contains(&it.as_str()))
        .filter(|it| arguments(root, it).is_some())
        .collect();
    names.sort();
    match chosen.iter().find(|it| !names.iter().any(|name| name == *it)) {
        Some(unknown) => Err(format!("{unknown} is no example of rules with a script")),
        None => Ok(names),
    }
}

/// The arguments of the command of an example's script that `test` accepts, too.
fn arguments(root: &Path, example: &str) -> Option<Vec<String>> {
    let script = fs::read_to_string(root.join(format!("examples/{example}/test.sim"))).ok()?;
    let command = |line: &'static str| script.lines().take(2).find_map(|it| it.strip_prefix(line));
    let command = command("# tidemill test ").or_else(|| command("# tidemill sim "))?;
    let mut words = command.split_whitespace();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-D" | "--nodes" | "--for" | "--linearizable" | "--settle" | "--tolerate"
            | "--faults" => {
                kept.extend([word.to_owned(), words.next()?.to_owned()]);
            }
            // Output files of the program go to the target folder.
            "--root" => {
                words.next()?;
                let folder = root.join("target/mutate");
                fs::create_dir_all(&folder).ok()?;
                kept.extend([word.to_owned(), folder.display().to_string()]);
            }
            _ if word.starts_with('-') => drop(words.next()?),
            _ if word.ends_with(".olg") => kept.push(word.to_owned()),
            // Other kinds of files, and folders: the example is not of rules alone.
            _ => return None,
        }
    }
    Some(kept)
}

/// Tests the mutants of one example; `None` if its script fails under all faults.
fn test(root: &Path, example: &str, wall: u64) -> Result<Option<Tally>, String> {
    let Some(arguments) = arguments(root, example) else { return Ok(None) };
    let is_said = arguments.iter().any(|it| it == "--faults");
    let weaker = [Some("latency,loss,duplicate,reorder"), Some("none")];
    for faults in [None].into_iter().chain(weaker.into_iter().filter(|_| !is_said)) {
        let mut command = Command::new(root.join("target/release/tidemill"));
        command.current_dir(root).arg("test").args(&arguments);
        command.args(["--script", &format!("examples/{example}/test.sim"), "--mutants"]);
        command.args(["--wall", &wall.to_string(), "--quiet"]);
        command.args(faults.iter().flat_map(|it| ["--faults", it]));
        let ran = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        if let Some(tally) = tally(example, &ran) {
            return Ok(Some(tally));
        }
        let reason = String::from_utf8_lossy(&ran.stderr);
        if !reason.contains("the program itself fails") {
            return Err(format!("{example}: {reason}"));
        }
    }
    println!("{example}: its script fails under other seeds");
    Ok(None)
}

/// Prints the survivors in the output; `None` if the output is incomplete.
fn tally(example: &str, ran: &Output) -> Option<Tally> {
    let text = String::from_utf8_lossy(&ran.stdout);
    let last = text.lines().last()?.strip_prefix("mutants: ")?;
    let mut numbers = last.split(|it: char| !it.is_ascii_digit()).filter_map(|it| it.parse().ok());
    let tally = Tally { all: numbers.next()?, found: numbers.next()? };
    let survivors = text.lines().filter(|line| line.starts_with("survived"));
    survivors.for_each(|line| println!("{example}: {line}"));
    Some(tally)
}
