//! Automation of the workspace: `cargo xtask tidy`, `cargo xtask conformance`.
//!
//! `tidy` checks what neither the compiler nor clippy does: that dependencies go down the floors
//! of the house only, that `unsafe` stays where it may be, that sources keep their form. It prints
//! all findings as `FILE:LINE: message` and ends with status 1 if there are any. `conformance`
//! runs the public suite for Protocol Buffers.
#![forbid(unsafe_code)]

mod conformance;
mod tidy;
mod tree;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy
       cargo xtask conformance [--engine native|table] [--direct] [--or-skip]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["tidy"] => run_tidy(),
        ["conformance", ref options @ ..] => run_conformance(options),
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

fn run_conformance(mut arguments: &[&str]) -> ExitCode {
    let mut options =
        conformance::Options { engine: "table", direct: false, absent: conformance::Absent::Fails };
    loop {
        arguments = match arguments {
            [] => return conformance::run(root(), options),
            ["--engine", engine @ ("native" | "table"), rest @ ..] => {
                options.engine = engine;
                rest
            }
            ["--direct", rest @ ..] => {
                options.direct = true;
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

fn run_tidy() -> ExitCode {
    let root = root();
    let tree = match tree::Tree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("{}: {error}", root.display());
            return ExitCode::FAILURE;
        }
    };
    let findings = tidy::check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    eprintln!("{} files, {} findings", tree.len(), findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
