//! Miri interprets tests of crates whose unsafe code needs no machine code, mapped memory or
//! system calls.
//!
//! It is some hundred times slower than code. So tests of sheer size take smaller ones under
//! `cfg!(miri)`, and those that are about size, time or statistics are ignored there, each with its
//! reason: `sanitizer` runs them as they are. So it does what is not listed here. Crates without
//! unsafe code (`diag`, `history`, `overlog`, `fabric`) have nothing that Miri could find.

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
    // Values and rows are bytes and words that are read as what they hold. All else computes with
    // them, and strands as machine code are not Miri's.
    Run { package: "tidemill-relation", target: LIBRARY, tests: &["flat::", "table::"] },
    Run { package: "tidemill-wire", target: &["--no-default-features", "--lib"], tests: &[] },
    // Messages lie in memory of their own, behind pointers; the rest of the tests compares native
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
        // Files of corpora are read; few random cases, each of which is slow.
        command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "4");
        succeed(&mut command, "needs `rustup toolchain install nightly -c miri,rust-src`")?;
    }
    Ok(())
}
