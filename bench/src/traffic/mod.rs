//! What benchmarks of flows share.
//!
//! | part | holds |
//! |---|---|
//! | `capture` | captures that are made for a run |
//! | `collectors` | collectors of flows, as distributions have them |
//! | `measurement` | a program on a capture, in a process of its own |

mod capture;
mod collectors;
mod measurement;

pub use capture::{CAPTURE, Capture};
pub use collectors::{Collector, there};
pub use measurement::{Isolation, Measurement};

/// The measured captures: name, flows, maximum size of a packet.
pub const CASES: [(&str, u32, u32); 4] = [
    ("100 flows", 100, 1500),
    ("10000 flows", 10_000, 1500),
    ("100000 flows", 100_000, 1500),
    ("100000 short", 100_000, 100),
];
