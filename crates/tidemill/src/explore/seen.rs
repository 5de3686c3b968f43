//! The set of visited states, as hashes of 128 bits.

use super::digest::finalized;

/// A set of hashes: an open-addressing table that grows.
pub(super) struct Seen {
    slots: Vec<u128>,
    count: usize,
}

/// The number of slots of an empty table.
const SLOTS_MIN: usize = 1 << 10;

impl Seen {
    pub(super) fn new() -> Seen {
        Seen { slots: vec![0; SLOTS_MIN], count: 0 }
    }

    /// Adds a hash; returns false if it is present.
    pub(super) fn insert(&mut self, hash: u128) -> bool {
        // 0 is an empty slot.
        let hash = hash.max(1);
        if self.count * 8 >= self.slots.len() * 7 {
            self.grow();
        }
        let is_new = place(&mut self.slots, hash);
        self.count += usize::from(is_new);
        is_new
    }

    /// Whether a hash is present.
    pub(super) fn contains(&self, hash: u128) -> bool {
        let (hash, mask) = (hash.max(1), self.slots.len() - 1);
        let mut at = (hash >> 64) as usize & mask;
        while self.slots[at] != 0 {
            if self.slots[at] == hash {
                return true;
            }
            at = (at + 1) & mask;
        }
        false
    }

    /// All hashes.
    pub(super) fn into_hashes(self) -> impl Iterator<Item = u128> {
        self.slots.into_iter().filter(|hash| *hash != 0)
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![0; old.len() * 2];
        for hash in old.into_iter().filter(|hash| *hash != 0) {
            place(&mut self.slots, hash);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u128>()
    }
}

/// Puts a hash into its slot; returns false if it is present. The table is not full.
fn place(slots: &mut [u128], hash: u128) -> bool {
    let mask = slots.len() - 1;
    let mut at = (hash >> 64) as usize & mask;
    while slots[at] != 0 {
        if slots[at] == hash {
            return false;
        }
        at = (at + 1) & mask;
    }
    slots[at] = hash;
    true
}

/// The hash of one part of a state, at its place. The hash of a state is the sum of those of its
/// parts, so messages need no order.
#[inline]
pub(super) fn part(place: u32, value: u32) -> u128 {
    let word = u64::from(place) << 32 | u64::from(value);
    let high = mixed(word ^ 0x9e37_79b9_7f4a_7c15);
    let low = mixed(word.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ 0xa076_1d64_78bd_642f);
    u128::from(high) << 64 | u128::from(low)
}

/// A word mixed so that each bit depends on each (the finalizer of MurmurHash3, twice).
#[inline]
fn mixed(word: u64) -> u64 {
    finalized(finalized(word))
}

/// An upper bound on the probability that two of `states` states have the same hash.
pub(super) fn collision_probability(states: usize) -> f64 {
    let count = states as f64;
    count * count / 2f64.powi(129)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_new_once() {
        let mut seen = Seen::new();
        for round in 0..2 {
            for number in 0..100_000 {
                assert_eq!(seen.contains(part(1, number)), round == 1);
                assert_eq!(seen.insert(part(1, number)), round == 0);
            }
        }
        assert_eq!(seen.count, 100_000);
    }

    #[test]
    fn parts_differ_by_place_and_value() {
        assert_ne!(part(1, 2), part(2, 1));
        assert_ne!(part(0, 0), 0);
        assert_ne!(part(3, 5).wrapping_add(part(3, 6)), part(3, 4).wrapping_add(part(3, 7)));
    }
}
