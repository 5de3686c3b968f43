//! Messages through every printer and encoder of `wire`.
#![no_main]

use libfuzzer_sys::Corpus;

#[path = "../../crates/wire/tests/common/random.rs"]
mod random;
#[path = "../../crates/wire/tests/noise/printers.rs"]
mod target;
#[path = "../../crates/wire/tests/noise/texts.rs"]
#[allow(dead_code, reason = "parts of it serve other targets")]
mod texts;

libfuzzer_sys::fuzz_target!(|input: &[u8]| -> Corpus {
    match target::check(input) {
        true => Corpus::Keep,
        false => Corpus::Reject,
    }
});
