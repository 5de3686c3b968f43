//! Cases of the decoders of `wire`: a schema, and bytes that all decoders must tell alike.
#![no_main]

use libfuzzer_sys::Corpus;

#[path = "../../crates/wire/tests/decoders/case.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod case;
#[path = "../../crates/wire/tests/decoders/check.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod check;
#[path = "../../crates/wire/tests/decoders/log.rs"]
mod log;
#[path = "../../crates/wire/tests/decoders/noise.rs"]
#[allow(dead_code, reason = "parts of it serve the tests alone")]
mod noise;
#[path = "../../crates/wire/tests/decoders/schemas.rs"]
mod schemas;

libfuzzer_sys::fuzz_target!(|input: &[u8]| -> Corpus {
    match noise::check(input) {
        true => Corpus::Keep,
        false => Corpus::Reject,
    }
});
