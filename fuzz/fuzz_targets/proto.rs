//! Schemas as `.proto` texts.
#![no_main]

#[path = "../../crates/wire/tests/noise/schemas.rs"]
#[allow(dead_code, reason = "parts of it serve other targets")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    target::check_proto(input);
});
