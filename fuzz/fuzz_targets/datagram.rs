//! Datagrams from strangers: envelopes, fragments, acknowledgements.
#![no_main]

#[path = "../../crates/overlog/tests/noise/datagram.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
