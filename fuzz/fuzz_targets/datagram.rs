//! Datagrams from strangers: envelopes, fragments, acknowledgements.
#![no_main]

#[path = "../../crates/overlog/tests/noise/datagram.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
