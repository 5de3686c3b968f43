//! Builds the benchmarks fully optimised and starts them.
//!
//! `cargo run --release -p tidemill-bench -- NAME [--peers]` is the command to remember; `release`
//! builds quickly instead of optimising, so the measuring program is `tidemill-bench-worker` in the
//! profile `dist`. Arguments and exit status are passed through. The cost of border crossings is
//! measured by marks in the engines, with which only the benchmark of that name is built, as they
//! cost time.
#![forbid(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["run", "--quiet", "--locked", "--profile", "dist"]);
    build.args(["--package", "tidemill-bench-worker", "--manifest-path"]).arg(workspace);
    if std::env::args().any(|word| word == "borders") {
        build.args(["--features", "marks"]);
    }
    // Returns only if cargo cannot be executed.
    let error = build.arg("--").args(std::env::args_os().skip(1)).exec();
    eprintln!("tidemill-bench: cargo: {error}");
    ExitCode::from(2)
}
