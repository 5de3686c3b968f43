//! Miri interprets tests of crates whose unsafe code needs no machine code, mapped memory or
//! system calls.
//!
//! It is some hundred times slower than code. So tests of sheer size take smaller ones under
//! `cfg!(miri)`, and those that are about size, time or statistics are ignored there, each with its
//! reason: `sanitizer` runs them unchanged, and all tests not listed here. Crates without unsafe
//! code (`diag`, `history`, `overlog`, `fabric`) are left out, as Miri could find nothing there.

use std::path::Path;
use std::process::Command;

use super::command::{Options, succeed};

/// Some tests of a package.
struct Run {
    package: &'static str,
    target: &'static [&'static str],
    /// Parts of the names of tests; none means all.
    tests: &'static [&'static str],
}

const LIBRARY: &[&str] = &["--lib"];

const RUNS: [Run; 4] = [
    Run { package: "tidemill-stdx", target: LIBRARY, tests: &[] },
    // Values and rows are bytes and words that are reinterpreted. All other modules compute with
    // them, and Miri cannot run strands as machine code.
    Run { package: "tidemill-relation", target: LIBRARY, tests: &["flat::", "table::"] },
    Run { package: "tidemill-wire", target: &["--no-default-features", "--lib"], tests: &[] },
    // Messages are in memory of their own, behind pointers; the other tests compare native
    // decoders.
    Run {
        package: "tidemill-wire",
        target: &["--test", "it"],
        tests: &["messages::", "corners::"],
    },
];

pub fn run(root: &Path, _: &Options<'_>) -> Result<(), String> {
    for Run { package, target, tests } in RUNS {
        let mut command = Command::new("cargo");
        command.current_dir(root).args(["+nightly", "miri", "test", "-p", package]).args(target);
        command.arg("--target-dir").arg(root.join("target/soak/miri")).arg("--").args(tests);
        // Corpora are read from files; few random cases, as each is slow.
        command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "4");
        succeed(&mut command, "needs `rustup toolchain install nightly -c miri,rust-src`")?;
    }
    Ok(())
}
