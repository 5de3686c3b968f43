//! The load: the number of crossings, and payloads that differ between them.

/// The size of a load.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Crossings per round.
    pub batch: u64,
    /// The number of rounds.
    pub rounds: u64,
    /// What payloads are made from.
    pub seed: u64,
}

impl Size {
    /// The payload of a place in a round: an integer that changes with both.
    pub fn payload(self, round: u64, place: u64) -> u64 {
        (round * A + place * B + self.seed % MODULUS) % MODULUS
    }

    /// The same in rules, for round S and place K.
    pub fn of_rules(self) -> String {
        format!("(S * {A} + K * {B} + {}) % {MODULUS}", self.seed % MODULUS)
    }

    /// The payloads of all places in all rounds.
    pub fn payloads(self) -> impl Iterator<Item = u64> {
        let places = move |round| (1..=self.batch).map(move |place| self.payload(round, place));
        (0..self.rounds).flat_map(places)
    }
}

/// The seed of payloads, if none is given.
pub const SEED: u64 = 2026;

pub const A: u64 = 48_271;
pub const B: u64 = 16_807;
pub const MODULUS: u64 = 65_521;

/// Rules that answer `finish` with the sum of all payloads, which `seen` has for each place.
pub fn sums(size: Size) -> String {
    let mut rules = "
        materialize(seen, infinity, infinity, keys(2)).
        f final(@N, a_SUM<A>) :- finish(@N), seen(@N, K, A).\n"
        .to_owned();
    (1..=size.batch).for_each(|place| rules += &format!("seen(@NODE, {place}, 0).\n"));
    rules
}

/// The schema of messages.
pub const SCHEMA: &str = "syntax = \"proto3\";
package p;
message Reading { fixed32 device = 1; float celsius = 2; string room = 3; }";
