//! Source text, from the preprocessor to a running node.
#![no_main]

#[path = "../../crates/overlog/tests/noise/front.rs"]
mod front;
#[path = "../../crates/overlog/tests/noise/program.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    target::check(input);
});
