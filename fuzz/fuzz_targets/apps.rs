//! Apps with tables as a file defines them, packets and changes of tables: interpret and compile.
#![no_main]

#[path = "../../crates/packet/tests/common/mod.rs"]
#[macro_use]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod common;
#[path = "../../crates/packet/tests/noise/apps.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| drop(target::run(input)));
