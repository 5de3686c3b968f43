//! Miri interprets the tests of crates that generate no code and map no memory.

use std::path::Path;
use std::process::Command;

use super::command::{Options, succeed};

/// Packages with what is passed to their tests: Miri is some hundred times slower than code, so
/// tests of sheer size are left to the other parts.
const RUNS: [&[&str]; 3] = [
    &["-p", "tidemill-stdx", "--lib"],
    &["-p", "tidemill-relation", "--lib"],
    &["-p", "tidemill-wire", "--no-default-features", "--lib"],
];

pub fn run(root: &Path, _: &Options<'_>) -> Result<(), String> {
    for arguments in RUNS {
        let mut command = Command::new("cargo");
        command.current_dir(root).args(["+nightly", "miri", "test"]).args(arguments);
        command.arg("--target-dir").arg(root.join("target/soak/miri"));
        // Files of corpora are read; few random cases, each of which is slow.
        command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "4");
        succeed(&mut command, "needs `rustup toolchain install nightly -c miri,rust-src`")?;
    }
    Ok(())
}
