//! What clients of the store may say.
#![no_main]

#[path = "../../crates/pore/tests/noise/xenstore.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
