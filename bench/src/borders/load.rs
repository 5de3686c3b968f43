//! The load: the number of crossings, and payloads that differ between them.

/// The size of a load.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Crossings per round.
    pub batch: u64,
    /// The number of rounds.
    pub rounds: u64,
}

/// The payload of a place in a round: an integer that changes with both.
pub fn payload(round: u64, place: u64) -> u64 {
    (round * A + place * B + SEED) % MODULUS
}

pub const A: u64 = 48_271;
pub const B: u64 = 16_807;
pub const SEED: u64 = 2026;
pub const MODULUS: u64 = 65_521;

/// The schema of messages.
pub const SCHEMA: &str = "syntax = \"proto3\";
package p;
message Reading { fixed32 device = 1; float celsius = 2; string room = 3; }";
