//! `soak`: the checks that take hours, each of which ends with a line of its own.
//!
//! | part | what it runs |
//! |---|---|
//! | `miri` | the tests of the crates that generate no code, under Miri (nightly toolchain) |
//! | `sanitizer` | all tests with AddressSanitizer |
//! | `packages` | the C library and the Python package under valgrind |
//! | `compare` | random programs of rules against plain evaluators, for a given time |
//! | `flood` | nodes under 100,000 datagrams a second of strangers, with and without key |
//! | `fleet` | five nodes with a key that are killed, stopped and started again under attack |
//! | `fuzz` | each fuzz target for a given time, with AddressSanitizer |
//!
//! A part whose tool is missing fails and names the command that installs it: a check that did not
//! run has not passed.

mod attack;
mod command;
mod compare;
mod fuzz;
mod miri;
mod packages;
mod sanitizer;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

pub use command::Options;

type Part = fn(&Path, &Options<'_>) -> Result<(), String>;

const PARTS: [(&str, Part); 7] = [
    ("miri", miri::run),
    ("sanitizer", sanitizer::run),
    ("packages", packages::run),
    ("compare", compare::run),
    ("flood", attack::flood),
    ("fleet", attack::fleet),
    ("fuzz", fuzz::run),
];

/// Whether `name` is a part.
pub fn is_part(name: &str) -> bool {
    PARTS.iter().any(|(part, _)| *part == name)
}

/// Runs the parts one after the other, whatever the earlier ones found.
pub fn run(root: &Path, options: &Options<'_>) -> ExitCode {
    let mut failed = false;
    for (name, part) in PARTS {
        if !options.parts.is_empty() && !options.parts.contains(&name) {
            continue;
        }
        let start = Instant::now();
        let outcome = part(root, options);
        let seconds = start.elapsed().as_secs();
        match outcome {
            Ok(()) => println!("soak {name}: passed in {seconds} s"),
            Err(reason) => {
                println!("soak {name}: FAILED after {seconds} s: {reason}");
                failed = true;
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
