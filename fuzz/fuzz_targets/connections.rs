//! Attacks on nodes with connections: cut, delayed, changed, repeated, made by strangers.
#![no_main]

#[path = "../../crates/overlog/tests/noise/connections.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
