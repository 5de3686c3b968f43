//! Compiled by `../ceiling.rs`, which reads what the compiler made of it.

use tidemill_stdx::log::Level;
use tidemill_stdx::say;

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Info;

unsafe extern "C" {
    safe fn effect(x: u64) -> u64;
}

/// A line below the ceiling: proves that the test would see one.
#[unsafe(no_mangle)]
pub extern "C" fn below(x: u64) -> u64 {
    say!(Info, "topic-below", "text-below {}", effect(x));
    x
}

/// A line above the ceiling.
#[unsafe(no_mangle)]
pub extern "C" fn above(x: u64) -> u64 {
    say!(Debug, "topic-above", "text-above {}", effect(x));
    x ^ 1001
}

/// No line at all. Its number differs, so that the compiler does not merge the two functions.
#[unsafe(no_mangle)]
pub extern "C" fn without(x: u64) -> u64 {
    x ^ 1002
}
