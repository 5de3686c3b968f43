//! Attacks on two nodes that seal their datagrams: forged, repeated, changed, lost.
#![no_main]

#[path = "../../crates/overlog/tests/noise/seal.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
