//! Messages through the library for C.
#![no_main]

#[path = "../../crates/wire-c/tests/glue/mod.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    target::check(input);
});
