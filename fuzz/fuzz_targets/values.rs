//! Values, tuples and patterns in text; values in bytes.
#![no_main]

#[path = "../../crates/relation/tests/noise/values.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
