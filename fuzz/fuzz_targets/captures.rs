//! Captures of packets.
#![no_main]

#[path = "../../apps/tests/common/mod.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod common;
#[path = "../../apps/tests/noise/captures.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
