//! Measures the tests of examples: `tidemill test --mutants` on each example of rules.
//!
//! ```text
//! examples/NAME/faults.sim, or test.sim if there is none
//!                          its first lines are commands of `sim` and, perhaps, of `test`:
//!                          files, -D, --nodes and the like
//! ──> tidemill test FILES -D .. --nodes .. --script examples/NAME/faults.sim --mutants
//!     --equivalent examples/NAME/equivalent.txt, if there is one
//!     --explore OPTIONS, if one of the first lines is `# tidemill explore FILES OPTIONS`
//! ```
//! Faults are those of `test` without options; if the script fails under these on the original
//! program, those of datagrams alone, or none. Survivors are printed, and counted by
//! example, with the faults that were used; those that are judged equivalent are counted apart, and
//! those that searches show to be. It fails if less than [`LEAST_PERCENT`] of an example's mutants
//! are found, or if its script fails on the original program whatever the faults.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The least share of mutants that the test of an example has to find.
const LEAST_PERCENT: usize = 90;

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
    equivalent: usize,
    proved: usize,
}

impl Tally {
    /// The number of mutants that are to be found.
    fn wrong(self) -> usize {
        self.all - self.equivalent - self.proved
    }

    /// Whether enough of these are found.
    fn is_enough(self) -> bool {
        100 * self.found >= LEAST_PERCENT * self.wrong()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} mutants found", self.found, self.wrong())?;
        match self.equivalent {
            0 => {}
            count => write!(f, ", {count} more judged equivalent")?,
        }
        match self.proved {
            0 => Ok(()),
            count => write!(f, ", {count} more equivalent within the bounds"),
        }
    }
}

/// Tests the mutants of examples; prints the survivors.
///
/// # Errors
/// An example cannot run, or its test finds too few mutants.
pub fn run(root: &Path, options: &Options<'_>) -> Result<(), String> {
    let mut build = Command::new("cargo");
    build.current_dir(root).args(["build", "--release", "-p", "tidemill-cli"]);
    match build.status() {
        Ok(status) if status.success() => {}
        _ => return Err(format!("{build:?} fails")),
    }
    let (mut sum, mut wrong) = (Tally::default(), Vec::new());
    for example in examples(root, &options.examples)? {
        let Some((tally, faults)) = test(root, &example, options.wall)? else {
            wrong.push(example);
            continue;
        };
        println!("{example}: {tally}, with faults {faults}");
        if !tally.is_enough() {
            wrong.push(example);
        }
        sum = Tally {
            all: sum.all + tally.all,
            found: sum.found + tally.found,
            equivalent: sum.equivalent + tally.equivalent,
            proved: sum.proved + tally.proved,
        };
    }
    println!("mutate: {sum}, {}%", 100 * sum.found / sum.wrong().max(1));
    match &wrong[..] {
        [] => Ok(()),
        names => Err(format!("less than {LEAST_PERCENT}% found: {}", names.join(", "))),
    }
}

/// The script of an example for tests with faults, below the root.
fn script(root: &Path, example: &str) -> String {
    let [faults, test] = ["faults", "test"].map(|it| format!("examples/{example}/{it}.sim"));
    if root.join(&faults).exists() { faults } else { test }
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
    let script = fs::read_to_string(root.join(script(root, example))).ok()?;
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

/// The options of `explore` for an example, if its script has them.
///
/// # Errors
/// The command explores other files, or with other macros, than the test has.
fn bounds(root: &Path, example: &str, tested: &[String]) -> Result<Option<String>, String> {
    let script = fs::read_to_string(root.join(script(root, example)));
    let script = script.map_err(|error| format!("{example}: {error}"))?;
    let mut lines = script.lines().take(3);
    let Some(command) = lines.find_map(|line| line.strip_prefix("# tidemill explore ")) else {
        return Ok(None);
    };
    let explored: Vec<&str> = command.split_whitespace().collect();
    let (program, options) = of_program(&explored);
    let tested: Vec<&str> = tested.iter().map(String::as_str).collect();
    let (same, _) = of_program(&tested);
    if program != same {
        return Err(format!("{example}: its script explores another program than it tests"));
    }
    Ok(Some(options.join(" ")))
}

/// The words that name a program, which are files and macros, and the others.
fn of_program<'w>(words: &[&'w str]) -> (Vec<&'w str>, Vec<&'w str>) {
    let is_macro = |at: usize| words.get(at) == Some(&"-D");
    let is_of_it = |at: usize| {
        words[at].ends_with(".olg") || is_macro(at) || at.checked_sub(1).is_some_and(is_macro)
    };
    let (program, others): (Vec<usize>, Vec<usize>) =
        (0..words.len()).partition(|at| is_of_it(*at));
    let of = |places: Vec<usize>| places.into_iter().map(|at| words[at]).collect();
    (of(program), of(others))
}

/// Tests the mutants of one example; returns their number with the faults that were used, `None` if
/// its script fails under all faults.
fn test(root: &Path, example: &str, wall: u64) -> Result<Option<(Tally, String)>, String> {
    let Some(arguments) = arguments(root, example) else { return Ok(None) };
    let bounds = bounds(root, example, &arguments)?;
    let said = arguments.iter().position(|it| it == "--faults");
    let said = said.and_then(|at| arguments.get(at + 1)).cloned();
    let weaker = [Some("latency,loss,duplicate,reorder"), Some("none")];
    for faults in [None].into_iter().chain(weaker.into_iter().filter(|_| said.is_none())) {
        let mut command = Command::new(root.join("target/release/tidemill"));
        command.current_dir(root).arg("test").args(&arguments);
        command.args(["--script", &script(root, example), "--mutants"]);
        command.args(["--wall", &wall.to_string(), "--quiet"]);
        let equivalent = format!("examples/{example}/equivalent.txt");
        if root.join(&equivalent).exists() {
            command.args(["--equivalent", &equivalent]);
        }
        command.args(bounds.iter().flat_map(|it| ["--explore", it.as_str()]));
        command.args(faults.iter().flat_map(|it| ["--faults", it]));
        let ran = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        if let Some(tally) = tally(example, &ran) {
            let used = faults.or(said.as_deref()).unwrap_or("swarm");
            return Ok(Some((tally, used.to_owned())));
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
    let numbered = |what: &str| {
        let mut parts = last.split([',', ';']);
        parts.find_map(|part| part.trim().strip_suffix(what)?.trim().parse().ok())
    };
    let tally = Tally {
        all: numbered("")?,
        found: numbered("found")?,
        equivalent: numbered("judged equivalent").unwrap_or(0),
        proved: numbered("equivalent within the bounds").unwrap_or(0),
    };
    let verdicts = ["survived", "equivalent within", "judged equivalent, found"];
    let survivors = text.lines().filter(|line| verdicts.iter().any(|it| line.starts_with(it)));
    survivors.for_each(|line| println!("{example}: {line}"));
    Some(tally)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn nine_of_ten_are_enough() {
        let of = |all, found, equivalent| Tally { all, found, equivalent, proved: 0 };
        assert!(of(10, 9, 0).is_enough() && of(12, 9, 2).is_enough() && of(0, 0, 0).is_enough());
        assert!(!of(100, 89, 0).is_enough());
    }

    /// An example with two scripts is tested with that for faults.
    #[test]
    fn the_script_with_faults_is_taken() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        assert_eq!(script(root, "leader"), "examples/leader/faults.sim");
        assert_eq!(script(root, "paxos"), "examples/paxos/test.sim");
        let arguments = arguments(root, "leader").expect("the command");
        assert_eq!(arguments[0], "examples/leader/leader.olg");
        assert!(!arguments.contains(&"none".to_owned()), "{arguments:?}");
    }

    #[test]
    fn the_last_line_is_read() {
        let ran = |text: &str| Output {
            status: ExitStatus::from_raw(0),
            stdout: text.as_bytes().to_vec(),
            stderr: Vec::new(),
        };
        let shown = |text| tally("it", &ran(text)).map(|it| it.to_string());
        let text = "mutants: 64, 52 found, 12 survived; 15 are no programs\n";
        assert_eq!(shown(text).as_deref(), Some("52 of 64 mutants found"));
        let text = "mutants: 64, 52 found, 5 survived, 7 judged equivalent; 15 are no programs\n";
        let expected = "52 of 57 mutants found, 7 more judged equivalent";
        assert_eq!(shown(text).as_deref(), Some(expected));
        let text =
            "mutants: 9, 5 found, 1 survived, 3 equivalent within the bounds; 0 are no programs\n";
        let expected = "5 of 6 mutants found, 3 more equivalent within the bounds";
        assert_eq!(shown(text).as_deref(), Some(expected));
        assert_eq!(shown("found by seed 1: r1\n"), None);
    }
}
