//! A pore whose other side writes anything into the shared memory.
#![no_main]

#[path = "../../crates/pore/tests/noise/ring.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
