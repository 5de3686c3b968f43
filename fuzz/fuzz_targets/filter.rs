//! Expressions of the filter language: read, optimise; interpret and compile.
#![no_main]

#[path = "../../crates/filter/tests/common/mod.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod common;
#[path = "../../crates/filter/tests/noise/expression.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::check(input));
