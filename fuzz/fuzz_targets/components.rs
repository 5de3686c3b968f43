//! Source text of components, run by both engines.
#![no_main]

#[path = "../../crates/cl/tests/engines/compare.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod compare;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    compare::check_bytes(input);
});
