//! Strands as machine code do what the interpreter does.
#![no_main]

#[path = "../../crates/relation/tests/noise/strands.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
