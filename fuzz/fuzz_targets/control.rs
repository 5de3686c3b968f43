//! Control frames from strangers, plain and sealed.
#![no_main]

#[path = "../../crates/overlog/tests/noise/control.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    target::check(input);
});
