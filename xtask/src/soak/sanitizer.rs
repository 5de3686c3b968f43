//! All tests with AddressSanitizer; generated code is not instrumented, the functions that it calls
//! are.

use std::path::Path;

use super::command::{Options, succeed, unstable_cargo};

/// Their tests link programs in C, which have no sanitizer: valgrind runs those.
const LEFT_OUT: [&str; 1] = ["tidemill-wire-c"];

pub fn run(root: &Path, _: &Options<'_>) -> Result<(), String> {
    let mut command = unstable_cargo(root);
    command.args(["test", "--workspace", "--no-fail-fast"]);
    // With a target of its own, build scripts and procedural macros stay without the sanitizer.
    command.args(["--target", "x86_64-unknown-linux-gnu"]);
    command.arg("--target-dir").arg(root.join("target/soak/sanitizer"));
    for package in LEFT_OUT {
        command.args(["--exclude", package]);
    }
    command.env("RUSTFLAGS", "-Zsanitizer=address");
    command.env("RUSTDOCFLAGS", "-Zsanitizer=address");
    // Tests bound the memory of processes; freed memory is kept for a while, to find uses of it.
    command.env("ASAN_OPTIONS", "quarantine_size_mb=32");
    // Of programs at the limits of nesting: all that a thread has, as frames are larger.
    command.env("STACK", (2 << 20).to_string());
    // Tests that bound times allow this many times of them.
    command.env("SLOWNESS", "4");
    succeed(&mut command, "the report is above")
}
