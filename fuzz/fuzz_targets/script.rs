//! Scripts of simulations: read, and joined with a program and its nodes.
#![no_main]

#[path = "../../crates/tidemill/tests/noise/script.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
