//! Packet graphs as text: read, print; dispatch and compile.
#![no_main]

#[path = "../../crates/packet/tests/common/mod.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod common;
#[path = "../../crates/packet/tests/noise/graph.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
