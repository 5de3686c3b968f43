//! Automation of the workspace: `cargo xtask tidy`, `circles`, `conformance`, `mutate` and `soak`.
//!
//! `tidy` checks what neither the compiler nor clippy does: that dependencies only go down the
//! floors, that `unsafe` is confined to its crates, that sources keep their form, and that the
//! number of files that need each other does not grow. It prints all findings as `FILE:LINE:
//! message` and ends with status 1 if there are any. `circles` shows which files need each other,
//! and by which names. `conformance` runs the public suite for Protocol Buffers, `mutate` measures
//! which mutations the tests of examples detect, `soak` runs checks that take hours: Miri,
//! sanitizers, valgrind, comparisons with plain evaluators, attacks on nodes and the fuzz targets.
#![forbid(unsafe_code)]

mod circles;
mod conformance;
mod mutate;
mod soak;
mod tidy;
mod tree;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy
       cargo xtask circles [CRATE]
       cargo xtask conformance [--engine native|table] [--direct|--fast] [--or-skip]
       cargo xtask mutate [EXAMPLE]... [--wall SECONDS]
       cargo xtask soak [miri|sanitizer|packages|compare|flood|fleet|fuzz]...
                        [--target NAME]... [--for SECONDS]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["tidy"] => run_tidy(),
        ["circles"] => run_circles(None),
        ["circles", name] => run_circles(Some(name)),
        ["conformance", ref options @ ..] => run_conformance(options),
        ["mutate", ref options @ ..] => run_mutate(options),
        ["soak", ref options @ ..] => run_soak(options),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

fn run_mutate(mut arguments: &[&str]) -> ExitCode {
    let mut options = mutate::Options { examples: Vec::new(), wall: 60 };
    while let [first, rest @ ..] = arguments {
        arguments = match (*first, rest) {
            ("--wall", [seconds, rest @ ..]) => match seconds.parse() {
                Ok(seconds) => {
                    options.wall = seconds;
                    rest
                }
                Err(_) => return usage(),
            },
            (option, _) if option.starts_with('-') => return usage(),
            (example, rest) => {
                options.examples.push(example);
                rest
            }
        };
    }
    match mutate::run(root(), &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mutate: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run_soak(mut arguments: &[&str]) -> ExitCode {
    let mut options = soak::Options { parts: Vec::new(), targets: Vec::new(), seconds: 600 };
    loop {
        arguments = match arguments {
            [] => return soak::run(root(), &options),
            ["--for", seconds, rest @ ..] => match seconds.parse() {
                Ok(seconds) => {
                    options.seconds = seconds;
                    rest
                }
                Err(_) => return usage(),
            },
            ["--target", target, rest @ ..] => {
                options.targets.push(*target);
                rest
            }
            [part, rest @ ..] if soak::is_part(part) => {
                options.parts.push(*part);
                rest
            }
            _ => return usage(),
        }
    }
}

fn run_conformance(mut arguments: &[&str]) -> ExitCode {
    let mut options =
        conformance::Options { engine: "table", way: None, absent: conformance::Absent::Fails };
    loop {
        arguments = match arguments {
            [] => return conformance::run(root(), options),
            ["--engine", engine @ ("native" | "table"), rest @ ..] => {
                options.engine = engine;
                rest
            }
            [way @ ("--direct" | "--fast"), rest @ ..] => {
                options.way = Some(way);
                rest
            }
            ["--or-skip", rest @ ..] => {
                options.absent = conformance::Absent::IsSkipped;
                rest
            }
            _ => return usage(),
        }
    }
}

fn read_tree() -> Result<tree::Tree, ExitCode> {
    let root = root();
    tree::Tree::read(root).map_err(|error| {
        eprintln!("{}: {error}", root.display());
        ExitCode::FAILURE
    })
}

/// Prints the circles of one crate, or of all.
fn run_circles(name: Option<&str>) -> ExitCode {
    let tree = match read_tree() {
        Ok(tree) => tree,
        Err(status) => return status,
    };
    for (folder, files) in circles::crates(&tree) {
        if name.is_some_and(|name| folder.trim_start_matches("crates/") != name) {
            continue;
        }
        for circle in circles::find(&files) {
            println!("{folder}: {} of {} files: {}", circle.size(), files.len(), circle.ring());
            print!("{circle}");
        }
    }
    ExitCode::SUCCESS
}

fn run_tidy() -> ExitCode {
    let tree = match read_tree() {
        Ok(tree) => tree,
        Err(status) => return status,
    };
    let findings = tidy::check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    eprintln!("{} files, {} findings", tree.len(), findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
